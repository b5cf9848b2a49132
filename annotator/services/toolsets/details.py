"""What a toolset is called, what it is about, and where it comes from. None of it is part of the tools."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core.tags import MAX_TAGS
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Project, Toolset, ToolsetRevision, ToolsetTag, User
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.tags import parse_tags
from annotator.services.history.events import append_event
from annotator.services.toolsets.categories import find_category
from annotator.services.toolsets.storing import MAX_NAME, lock_toolsets

MAX_LICENCE, MAX_SOURCE = 120, 500


@dataclass(frozen=True, slots=True)
class Details:
    """The details of a toolset. ``category``: its name, blank for none."""

    name: str
    category: str = ""
    tags: Iterable[str] = field(default_factory=list)
    licence: str = ""
    source: str = ""


def load_toolset(*, project: Project, public_id: str) -> Toolset:
    """Return a toolset of the project. Raises Hidden."""
    rows = Toolset.objects.select_related("project", "head", "category")
    toolset = rows.filter(project=project, public_id=public_id).first()
    if toolset is None:
        raise Hidden(_("This toolset doesn’t exist, or you can’t see it."))
    return toolset


def newest(toolset: Toolset) -> ToolsetRevision:
    """Return the newest revision of a toolset."""
    assert toolset.head is not None  # noqa: S101 - a toolset has at least one
    return toolset.head


def tags_of(toolset: Toolset) -> list[str]:
    """Return the tags of a toolset, by name."""
    return sorted(toolset.tags.values_list("name", flat=True))


def details_of(toolset: Toolset) -> Details:
    """Return the details as they are stored."""
    category = toolset.category.name if toolset.category else ""
    return Details(toolset.name, category, tags_of(toolset), toolset.licence, toolset.source)


def checked_fields(project: Project, details: Details) -> dict[str, Any]:
    """Return the fields of a toolset with these details. Raises Invalid with the field."""
    texts = {
        "name": (details.name, MAX_NAME),
        "licence": (details.licence, MAX_LICENCE),
        "source": (details.source, MAX_SOURCE),
    }
    fields: dict[str, Any] = {}
    for key, (given, limit) in texts.items():
        text = " ".join(given.replace("\x00", "").split())
        if len(text) > limit:
            raise Invalid(_("Use at most %(limit)s characters.") % {"limit": limit}, field=key)
        fields[key] = text
    if not fields["name"]:
        raise Invalid(_("Give the toolset a name."), field="name")
    return fields | {"category": find_category(project, details.category)}


def checked_tags(details: Details) -> list[str]:
    """Return the tags of a toolset with these details. Raises Invalid with the field."""
    try:
        tags = parse_tags(details.tags)
    except Invalid as refused:
        raise Invalid(refused.sentence, field="tags") from None
    if len(tags) > MAX_TAGS:
        raise Invalid(_("A toolset has at most %(limit)s tags.") % {"limit": MAX_TAGS}, field="tags")
    return sorted(tags)


def set_tags(toolset: Toolset, tags: list[str]) -> None:
    """Replace the tags of a toolset. The caller holds the lock."""
    toolset.tags.exclude(name__in=tags).delete()
    known = set(toolset.tags.values_list("name", flat=True))
    ToolsetTag.objects.bulk_create(ToolsetTag(toolset=toolset, name=name) for name in tags if name not in known)


def change_details(*, actor: User, toolset: Toolset, details: Details) -> bool:
    """Change the details, and return whether any differed.

    Raises Denied, Invalid with the field, and Conflict if another toolset has the name.
    """
    require_administrator(actor=actor, project=toolset.project)
    with transaction.atomic():
        lock_toolsets(toolset.project)
        toolset = load_toolset(project=toolset.project, public_id=toolset.public_id)
        fields, tags = checked_fields(toolset.project, details), checked_tags(details)
        before = details_of(toolset)
        named = Toolset.objects.filter(project=toolset.project, name=fields["name"]).exclude(pk=toolset.pk)
        if named.exists():
            raise Conflict(_("Another toolset is named “%(name)s”.") % {"name": fields["name"]}, field="name")
        for key, value in fields.items():
            setattr(toolset, key, value)
        toolset.save(update_fields=list(fields))
        set_tags(toolset, tags)
        after = details_of(toolset)
        if _as_json(after) == _as_json(before):
            return False
        append_event(
            actor=actor,
            project=toolset.project,
            kind="toolset.details_changed",
            before=_as_json(before),
            after=_as_json(after) | {"toolset": toolset.name},
        )
    return True


def _as_json(details: Details) -> dict[str, Any]:
    return {
        "name": details.name, "category": details.category, "tags": list(details.tags), "licence": details.licence,
        "source": details.source,
    }  # fmt: skip
