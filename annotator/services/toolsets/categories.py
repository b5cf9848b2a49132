"""The categories of a project's toolsets."""

from django.db import IntegrityError, transaction
from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.core.tools.categories import MAX_CATEGORIES, MAX_LENGTH, STARTING
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Project, ToolsetCategory, User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from annotator.services.toolsets.storing import lock_toolsets


def start_categories(project: Project) -> None:
    """Give a new project the categories to start with."""
    ToolsetCategory.objects.bulk_create(ToolsetCategory(project=project, name=name) for name in STARTING)


def categories_of(project: Project) -> QuerySet[ToolsetCategory]:
    """Return the categories by name, each with ``used``: how many toolsets have it."""
    return ToolsetCategory.objects.filter(project=project).annotate(used=Count("toolsets")).order_by("name")


def find_category(project: Project, name: str) -> ToolsetCategory | None:
    """Return the category of this name; None for a blank name. Raises Invalid if there is none."""
    if not name.strip():
        return None
    found = ToolsetCategory.objects.filter(project=project, name=name.strip()).first()
    if found is None:
        sentence = _("The project has no category “%(name)s”. Add it on the page of categories, or choose another.")
        raise Invalid(sentence % {"name": name.strip()[:MAX_LENGTH]}, field="category")
    return found


def add_category(*, actor: User, project: Project, name: str) -> ToolsetCategory:
    """Add a category. Raises Denied, Invalid, and Conflict if there is one of this name."""
    require_administrator(actor=actor, project=project)
    name = _name(name)
    with transaction.atomic():
        lock_toolsets(project)
        if ToolsetCategory.objects.filter(project=project).count() >= MAX_CATEGORIES:
            sentence = _("A project has at most %(limit)s categories. Delete one that is not used.")
            raise Conflict(sentence % {"limit": MAX_CATEGORIES})
        try:
            with transaction.atomic():
                category = ToolsetCategory.objects.create(project=project, name=name)
        except IntegrityError:
            raise _taken(name) from None
        append_event(actor=actor, project=project, kind="toolset.category_added", after={"category": name})
    return category


def rename_category(*, actor: User, project: Project, key: int, name: str) -> None:
    """Rename a category, for all toolsets that have it. Raises Denied, Hidden, Invalid and Conflict."""
    require_administrator(actor=actor, project=project)
    name = _name(name)
    with transaction.atomic():
        category = _locked(project, key)
        before = category.name
        if before == name:
            return
        category.name = name
        try:
            with transaction.atomic():
                category.save(update_fields=["name"])
        except IntegrityError:
            raise _taken(name) from None
        append_event(
            actor=actor,
            project=project,
            kind="toolset.category_renamed",
            before={"category": before},
            after={"category": name},
        )


def delete_category(*, actor: User, project: Project, key: int) -> None:
    """Delete a category that no toolset has. Raises Denied, Hidden, and Conflict if one has it."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        category = _locked(project, key)
        used = category.toolsets.count()
        if used:
            sentence = ngettext(
                "%(count)s toolset has the category %(name)s. Give it another one first.",
                "%(count)s toolsets have the category %(name)s. Give them another one first.",
                used,
            )
            raise Conflict(sentence % {"count": used, "name": _(category.name)})
        category.delete()
        append_event(actor=actor, project=project, kind="toolset.category_deleted", after={"category": category.name})


def _locked(project: Project, key: int) -> ToolsetCategory:
    lock_toolsets(project)
    category = ToolsetCategory.objects.filter(project=project, pk=key).first()
    if category is None:
        raise Hidden(_("This category doesn’t exist any more. Reload the page."))
    return category


def _name(name: str) -> str:
    name = " ".join(name.split())
    # Filters use “-” for toolsets without a category.
    if not any(char.isalnum() for char in name) or len(name) > MAX_LENGTH:
        sentence = _("A category has a name of at most %(limit)s characters, with a letter or a digit.")
        raise Invalid(sentence % {"limit": MAX_LENGTH}, field="name")
    return name


def _taken(name: str) -> Conflict:
    return Conflict(_("There is a category “%(name)s” already.") % {"name": name}, field="name")
