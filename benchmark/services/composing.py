"""Draw composites from a project's verified single tasks. They are imported and reviewed like other candidates."""

import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass

from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from annotator.core.schema import content_hash, read_document
from annotator.core.schema.exact_json import dumps
from annotator.errors import Conflict, Invalid
from annotator.models import CompositeMember, Dialogue, Project, User
from annotator.models.content import DialogueQuerySet, DialogueStatus
from annotator.models.jobs import JOB_ENDED
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.composites import COMPOSITE, UNREAD, is_used, member_of_row, single_tasks
from annotator.services.history.events import append_event
from benchmark.core.composing.drawing import (
    CannotCompose,
    Composite,
    Coverage,
    Kind,
    Single,
    Stratum,
    compose,
    coverage,
    strata,
)
from benchmark.models import ImportBatch
from benchmark.services.imports.requests import start_import

#: Single tasks that one draw reads, and composites that it makes.
MAX_SINGLES = 20_000
MAX_DRAWN = 2_000
#: The beginning of the names of the files that draws import.
_FILE = "Composites: "
_NUMBER = re.compile(r"_(\d{3,9})\Z")


@dataclass(frozen=True)
class Request:
    """What to draw: ``size`` tasks for each composite, ``per_stratum`` composites for each stratum."""

    kind: Kind
    size: int
    per_stratum: int
    seed: int

    @property
    def prefix(self) -> str:
        """The beginning of the ids."""
        return f"{self.kind}{self.size}_{self.seed}_"


@dataclass(frozen=True)
class Draw:
    """A draw before it is imported: the strata, the composites, and the use of tasks with them."""

    singles: list[Single]
    strata: list[Stratum]
    composites: list[Composite]
    coverage: Coverage

    @property
    def short(self) -> list[Stratum]:
        """The strata with fewer combinations than were asked for."""
        return [stratum for stratum in self.strata if stratum.short]


def read_singles(project: Project) -> list[Single]:
    """Return the single tasks that may be drawn: verified, without errors, with a category, and no gold answers.

    Raises Invalid if there are too many.
    """
    rows = _drawable(project).order_by("external_id")
    if rows.count() > MAX_SINGLES:
        raise Invalid(_("Composites can be drawn from at most %(most)s single tasks.") % {"most": f"{MAX_SINGLES:,}"})
    found = []
    for single in rows.select_related("head").defer("search_text").iterator(chunk_size=200):
        category = single.head.document()["category"] if single.head else None
        if category is not None:
            found.append(Single(single.external_id, category, single.call_count))
    return found


def _drawable(project: Project) -> DialogueQuerySet:
    return single_tasks(project).filter(status=DialogueStatus.VERIFIED, error_count=0, gold_role="")


def _composites(project: Project) -> DialogueQuerySet:
    rows = Dialogue.objects.filter(project=project, kind=COMPOSITE, published=True, archived_at=None)
    return rows.exclude(status=DialogueStatus.REJECTED).counted()


def read_composites(project: Project) -> list[tuple[str, ...]]:
    """Return the single tasks of each composite of the project, by id."""
    found: dict[int, list[str]] = {}
    rows = CompositeMember.objects.filter(composite__in=_composites(project)).order_by("composite", "single")
    for composite, single in rows.values_list("composite", "single"):
        found.setdefault(composite, []).append(single)
    return [tuple(singles) for singles in found.values()]


def read_coverage(project: Project) -> tuple[list[Single], Coverage]:
    """Return the single tasks that may be drawn, and how often composites use each, its category and its pairs."""
    singles = read_singles(project)
    return singles, coverage(singles, read_composites(project))


def count_composites(project: Project) -> int:
    """Return how many composites the project has, as ``read_composites`` lists them."""
    return _composites(project).count()


def where_composed(dialogue: Dialogue) -> str:
    """Return that reviewers of composites know a dialogue's answer, as a sentence; blank if they do not."""
    if not is_used(dialogue):
        return ""
    return f"Composites refer to {dialogue.external_id}, so their reviewers know the answer."


def preview(*, actor: User, project: Project, request: Request) -> Draw:
    """Return what a draw would make. Raises Invalid, and Denied for anyone but administrators."""
    require_administrator(actor=actor, project=project)
    return _draw(project, request)


def _draw(project: Project, request: Request) -> Draw:
    singles, earlier = read_singles(project), read_composites(project)
    try:
        offered = strata(singles, request.kind, request.size, request.per_stratum)
        if len(offered) * request.per_stratum > MAX_DRAWN:
            raise Invalid(
                _("That would be %(count)s composites. One draw makes at most %(most)s: ask for fewer per stratum.")
                % {"count": f"{len(offered) * request.per_stratum:,}", "most": f"{MAX_DRAWN:,}"}
            )
        drawn = compose(singles, request.kind, request.size, request.per_stratum, request.seed, earlier)
    except CannotCompose as problem:
        raise Invalid(str(problem)) from None
    return Draw(singles, offered, drawn, coverage(singles, [*earlier, *(composite.tasks for composite in drawn)]))


def start_composing(
    *, actor: User, project: Project, request: Request, wake_worker: bool = True
) -> tuple[ImportBatch, Draw]:
    """Draw composites and start importing them. Raises Invalid, Conflict and Denied."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        # One draw at a time: the next one must know its combinations.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        unfinished = ImportBatch.objects.filter(project=project, filename__startswith=_FILE, dry_run=False)
        if unfinished.exclude(job__state__in=JOB_ENDED).exists():
            raise Conflict(_("Another draw is being imported. Wait until it has ended."))
        draw = _draw(project, request)
        if not draw.composites:
            raise Invalid(_("All combinations exist already. There is nothing left to draw."))
        content = b"".join(_lines(project, request, draw.composites))
        batch = start_import(
            actor=actor,
            project=project,
            filename=f"{_FILE}{request.prefix.rstrip('_').replace('_', ', seed ')}.jsonl",
            native_format="neutral",
            upload=io.BytesIO(content),
            wake_worker=wake_worker,
        )
        append_event(
            actor=actor,
            project=project,
            kind="composites.drawn",
            after={
                **asdict(request),
                "composites": len(draw.composites),
                "strata": len(draw.strata),
                "sha256": content_hash(content.decode()),
                "import": batch.public_id,
            },
        )
    return batch, draw


def _lines(project: Project, request: Request, drawn: Iterable[Composite]) -> Iterator[bytes]:
    drawn = list(drawn)
    wanted = {name for composite in drawn for name in composite.tasks}
    rows = _drawable(project).filter(external_id__in=wanted).select_related("head__toolset_revision")
    singles = {row.external_id: row for row in rows.defer(*UNREAD)}
    members = {name: member_of_row(row, number=1) for name, row in singles.items()}
    for number, composite in enumerate(drawn, _first_number(project, request)):
        tasks = []
        for position, name in enumerate(composite.tasks, 1):
            member = members[name]
            tasks.append(member if member["id"] == name else {**member, "id": f"t{position}"})
        languages = {singles[name].language for name in composite.tasks}
        document = read_document(
            {
                "kind": COMPOSITE,
                "language": (languages.pop() or None) if len(languages) == 1 else None,
                "composition": composite.kind.value,
                "tasks": tasks,
                "max_rounds": composite.max_rounds,
                "seed": composite.seed,
            }
        )
        yield dumps({"assay": 1, "id": f"{request.prefix}{number:03d}", "document": document, "tools": []}) + b"\n"


def _first_number(project: Project, request: Request) -> int:
    """Return the number after the highest of an earlier draw with the same kind, size and seed."""
    alike = Dialogue.objects.filter(Q(published=True) | Q(batch__isnull=False), project=project)
    alike = alike.filter(external_id__startswith=request.prefix)
    found = (_NUMBER.search(name) for name in alike.values_list("external_id", flat=True))
    return max((int(match[1]) for match in found if match), default=-1) + 1
