"""How much of each kind a project wants: reading and changing its targets."""

from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.coverage import (
    CELLS,
    DIFFICULTY,
    LEVELS,
    MAX_CALLS,
    MAX_TASKS,
    MAX_TASKS_COUNTED,
    MAX_VALUE,
    level_of,
)
from annotator.core.fields.definitions import Scope
from annotator.core.schema.documents import Information
from annotator.errors import Invalid
from annotator.models import Project, ToolsetCategory, User
from annotator.services.access.permissions import require_administrator
from annotator.services.custom_fields import fields_of
from annotator.services.dialogues.listing import LANGUAGES, TOPOLOGIES
from annotator.services.history.events import append_event
from benchmark.models import CoverageTarget, TargetDimension

#: The largest target.
MAX_WANTED = 1_000_000
_FIXED: dict[str, list[str]] = {
    TargetDimension.LEVEL: [str(level) for level in LEVELS],
    TargetDimension.CELL: list(CELLS),
    TargetDimension.SWITCHES: [str(number) for number in range(MAX_TASKS)],
    TargetDimension.INFORMATION: [one.value for one in Information],
    TargetDimension.TOPOLOGY: list(TOPOLOGIES),
    TargetDimension.CALLS: [*map(str, range(MAX_CALLS)), f"{MAX_CALLS}+"],
    TargetDimension.TASKS: [*map(str, range(1, MAX_TASKS_COUNTED)), f"{MAX_TASKS_COUNTED}+"],
    TargetDimension.LANGUAGE: list(LANGUAGES),
}


def values_of(project: Project, dimension: str) -> list[str]:
    """Return the values of a dimension that can have a target, in their order."""
    if dimension == TargetDimension.CATEGORY:
        names = ToolsetCategory.objects.filter(project=project).order_by("name")
        return list(names.values_list("name", flat=True))
    if dimension == TargetDimension.DIFFICULTY:
        scopes = (Scope.DIALOGUE, Scope.TASK)
        asked = [field for field in fields_of(project) if field.key == DIFFICULTY and field.scope in scopes]
        return [value for field in asked for value, _title in field.choices if len(value) <= MAX_VALUE]
    return _FIXED[dimension]


@dataclass(frozen=True)
class Targets:
    """The targets of a project, by dimension and value."""

    wanted: dict[tuple[str, str], int]

    def of(self, dimension: str) -> dict[str, int]:
        """Return {value: number wanted} of a dimension."""
        return {value: wanted for (one, value), wanted in self.wanted.items() if one == dimension}

    def of_cells(self) -> dict[str, int]:
        """Return {cell: number wanted}: its own target, else that of its level."""
        own, levels = self.of(TargetDimension.CELL), self.of(TargetDimension.LEVEL)
        found = {cell: own.get(cell, levels.get(str(level_of(cell)), 0)) for cell in CELLS}
        return {cell: wanted for cell, wanted in found.items() if wanted}


def read_targets(project: Project) -> Targets:
    """Return the targets of a project."""
    rows = CoverageTarget.objects.filter(project=project).values_list("dimension", "value", "wanted")
    return Targets({(dimension, value): wanted for dimension, value, wanted in rows})


def change_target(*, actor: User | None, project: Project, dimension: str, value: str, wanted: int | None) -> bool:
    """Set the target of a value, or remove it (None); return whether anything changed.

    ``actor`` None is the command line. Raises Denied for anyone but administrators, and Invalid.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    if dimension not in TargetDimension.values:
        names = ", ".join(TargetDimension.values)
        raise Invalid(_("Choose one of these dimensions: %(names)s.") % {"names": names}, field="dimension")
    if wanted is not None and not 1 <= wanted <= MAX_WANTED:
        sentence = _("A target is between 1 and %(most)s. Leave it empty to remove it.")
        raise Invalid(sentence % {"most": f"{MAX_WANTED:,}"}, field="wanted")
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        rows = CoverageTarget.objects.filter(project=project, dimension=dimension, value=value)
        earlier = rows.values_list("wanted", flat=True).first()
        # What cannot be chosen any more, such as a deleted category, can still be removed.
        if value not in values_of(project, dimension) and (earlier is None or wanted is not None):
            sentence = _("“%(value)s” isn’t a value of this dimension. Choose one from the list.")
            raise Invalid(sentence % {"value": value[:60]}, field="value")
        if earlier == wanted:
            return False
        if wanted is None:
            rows.delete()
        else:
            CoverageTarget.objects.update_or_create(
                project=project,
                dimension=dimension,
                value=value,
                defaults={"wanted": wanted, "changed_by": actor, "changed_at": timezone.now()},
            )
        append_event(
            actor=actor,
            project=project,
            kind="coverage.target_removed" if wanted is None else "coverage.target_set",
            before={"wanted": earlier} if earlier else {},
            after={"dimension": dimension, "value": value} | ({"wanted": wanted} if wanted else {}),
        )
    return True
