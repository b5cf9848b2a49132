"""Mentions: ``@name`` in a comment, a member's username or pseudonym."""

import re
from collections.abc import Mapping, Sequence

from django.db.models import Q, QuerySet
from django.db.models.functions import Lower

from annotator.models import Membership, Project, User

#: Names in code, and what follows a letter or a dot (an address of mail), mean nobody.
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]*`", re.S)
_MENTION = re.compile(r"(?<![\w@./+-])@([\w][\w.@+-]*)")
_CODE_OR_MENTION = re.compile(f"{_CODE.pattern}|{_MENTION.pattern}", re.S)
#: People who can be suggested; in larger projects the others are typed.
MAX_SUGGESTED = 200


def find_mentions(text: str) -> list[str]:
    """The names a text mentions, each once, in order. A full stop that ends a sentence is no part of a name."""
    found = (name.rstrip(".@+-") for name in _MENTION.findall(_CODE.sub(" ", text)))
    return list(dict.fromkeys(name for name in found if name))


def rename_mentions(text: str, names: Mapping[str, str]) -> str:
    """The text with other names after each @. ``names``: by what they are called there, in lower case."""

    def renamed(found: re.Match[str]) -> str:
        name = (found[1] or "").rstrip(".@+-")
        new = names.get(name.casefold()) if name else None
        return found[0] if new is None else f"@{new}{found[1][len(name) :]}"

    return _CODE_OR_MENTION.sub(renamed, text)


def known_mentions(project: Project, names: Sequence[str]) -> list[User]:
    """The members among these names, whatever their case."""
    wanted = [name.casefold() for name in names]
    if not wanted:
        return []
    people = _members(project).annotate(low_name=Lower("username"), low_pseudonym=Lower("pseudonym"))
    return list(people.filter(Q(low_name__in=wanted) | Q(low_pseudonym__in=wanted)).order_by("pk"))


def suggested_names(project: Project, typed: str = "") -> list[User]:
    """Members whose name begins like what was typed after the @, by name."""
    people = _members(project)
    if typed:
        people = people.filter(
            Q(username__istartswith=typed) | Q(pseudonym__istartswith=typed) | Q(display_name__istartswith=typed)
        )
    return list(people.order_by("display_name", "username")[:MAX_SUGGESTED])


def _members(project: Project) -> QuerySet[User]:
    return Membership.objects.active().filter(project=project).people()
