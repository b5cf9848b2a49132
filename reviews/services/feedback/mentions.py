"""Mentions: ``@name`` in a comment, a member's username or pseudonym."""

import re
from collections.abc import Mapping, Sequence

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from annotator.models import Membership, Project, User

#: Names in code, and after a letter or a dot (as in a mail address), are not mentions.
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.S)
_MENTION = re.compile(r"(?<![\w@./+-])@([\w][\w.@+-]*)")
_CODE_OR_MENTION = re.compile(f"{_CODE.pattern}|{_MENTION.pattern}", re.S)
#: Most people that are suggested.
MAX_SUGGESTED = 200


def find_mentions(text: str) -> list[str]:
    """Return the names that a text mentions, once each, in order, without the full stop at the end of a sentence."""
    found = (name.rstrip(".@+-") for name in _MENTION.findall(_CODE.sub(" ", text)))
    return list(dict.fromkeys(name for name in found if name))


def rename_mentions(text: str, names: Mapping[str, str]) -> str:
    """Return the text with other names after each @. ``names``: {name in lower case: new name}."""

    def renamed(found: re.Match[str]) -> str:
        name = (found[1] or "").rstrip(".@+-")
        new = names.get(name.casefold()) if name else None
        return found[0] if new is None else f"@{new}{found[1][len(name) :]}"

    return _CODE_OR_MENTION.sub(renamed, text)


def known_mentions(project: Project, names: Sequence[str]) -> list[User]:
    """Return the members among these names, regardless of case."""
    wanted = [name.casefold() for name in names]
    if not wanted:
        return []
    people = _members(project).annotate(low_name=Lower("username"), low_pseudonym=Lower("pseudonym"))
    return list(people.filter(Q(low_name__in=wanted) | Q(low_pseudonym__in=wanted)).order_by("pk"))


def suggested_names(project: Project) -> list[User]:
    """Return the members who can be mentioned, by name."""
    return list(_members(project).order_by("display_name", "username")[:MAX_SUGGESTED])


def _members(project: Project) -> QuerySet[User]:
    return Membership.objects.active().filter(project=project).people()
