"""The job that makes constrained cases and starts their import, and what it leaves in the history."""

import io
from dataclasses import dataclass, field
from typing import Any

from annotator.core.case_construction import CannotConstruct
from annotator.core.schema.native_notes import native_notes
from annotator.core.text import gettext_noop, message
from annotator.errors import Invalid
from annotator.models import Dialogue, Event, Job, Project, User
from annotator.models.content import GoldRole
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind
from benchmark.core.constructing import FIELD, Made, Options
from benchmark.models import ImportBatch
from benchmark.services.constructing.requests import KIND
from benchmark.services.constructing.sources import Request, chosen_sources, existing_cases, list_sources, make_from
from benchmark.services.imports.requests import start_import
from reviews.services.gold.settings import retire_with

#: Sources read between two heartbeats, and refused ones that are kept with their reasons.
_SLICE = 25
KEPT_REASONS = 100
_NOT_LISTED = "It is no longer in the list of sources."
_FILE = "Constrained cases, seed "
#: The event of a project that names the import of constructed cases, and that of each case.
EVENT, EVENT_OF_CASE = "cases.constructed", "dialogue.constructed"


@dataclass
class Construction:
    """The cases so far. ``there``: how many exist already; ``refused``: source and reason of those not made."""

    options: Options
    made: list[Made] = field(default_factory=list)
    there: int = 0
    refused: list[tuple[str, str]] = field(default_factory=list)

    def counts(self) -> dict[str, Any]:
        return {"made": len(self.made), "there": self.there, "refused": len(self.refused)}


@job_kind(KIND, gettext_noop("Constrained cases"), untrusted=True)
def run_constructing(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``constrained_cases``. If it is killed before the import has started, it starts again."""
    if running.checkpoint:
        return running.checkpoint
    job = running.job
    asked = job.parameters
    request = Request(Options.from_json(asked), tuple(asked["names"]), asked["only_verified"])
    names = list(chosen_sources(job.project, request).values_list("external_id", flat=True))
    found = Construction(request.options)
    for start in range(0, len(names), _SLICE):
        with running.chunk() as chunk:
            _make(job.project, request, names[start : start + _SLICE], found)
            chunk.advance(done=min(start + _SLICE, len(names)), total=len(names))
    if not found.made:
        raise Invalid(_nothing_made(found))
    with running.chunk() as chunk:
        batch = store_cases(actor=job.requester, project=job.project, found=found, wake_worker=asked["wake_worker"])
        reasons = [list(one) for one in found.refused[:KEPT_REASONS]]
        result = {**found.counts(), "reasons": reasons, "import": batch.public_id}
        chunk.advance(checkpoint=result)
    return result


def _nothing_made(found: Construction) -> Any:
    if not found.refused:
        return message("The cases of these sources with this seed exist already. Use another seed.")
    source, reason = found.refused[0]
    return message("No case can be made. %(source)s: %(reason)s", source=source, reason=reason)


def _make(project: Project, request: Request, names: list[str], found: Construction) -> None:
    there = existing_cases(project, map(found.options.name_of, names))
    wanted = [name for name in names if found.options.name_of(name) not in there]
    found.there += len(names) - len(wanted)
    # Some may have become known answers, or been rejected or archived, since the job has listed them.
    rows = list_sources(project, only_verified=request.only_verified).filter(external_id__in=wanted)
    sources = list(rows.select_related("head__toolset_revision").defer("search_text"))
    listed = {source.external_id for source in sources}
    found.refused += [(name, _NOT_LISTED) for name in wanted if name not in listed]
    for source in sources:
        try:
            found.made.append(make_from(source, found.options))
        except CannotConstruct as problem:
            found.refused.append((source.external_id, str(problem)))


def store_cases(*, actor: User | None, project: Project, found: Construction, wake_worker: bool = True) -> ImportBatch:
    """Start the import of the cases, in the caller's transaction."""
    batch = start_import(
        actor=actor,
        project=project,
        filename=f"{_FILE}{found.options.seed}.jsonl",
        native_format="neutral",
        upload=io.BytesIO(b"".join(one.line for one in found.made)),
        wake_worker=wake_worker,
    )
    after = {**found.options.as_json(), **found.counts(), "import": batch.public_id}
    append_event(actor=actor, project=project, kind=EVENT, after=after)
    return batch


def record_construction(batch: ImportBatch, job: Job) -> None:
    """Write into the history of each new case how it was made, if this import is one of constructed cases.

    Retires gold items whose answer is a source, because reviewers of the cases will know it.
    """
    # An upload may have the same name, so only the event counts.
    events = Event.objects.filter(project=batch.project, kind=EVENT, after__import=batch.public_id)
    if not batch.filename.startswith(_FILE) or not events.exists():
        return
    rows = Dialogue.objects.filter(batch=job, published=True).order_by("pk").select_related("head", "project")
    sources: set[str] = set()
    for dialogue in rows.defer("search_text"):
        notes = native_notes(dialogue.head.document()) if dialogue.head else {}
        how = notes.get("envelope", {}).get(FIELD)
        if how:
            append_event(actor=batch.requester, project=batch.project, dialogue=dialogue, kind=EVENT_OF_CASE, after=how)
            sources.add(str(how.get("source", "")))
    answers = Dialogue.objects.filter(project=batch.project, external_id__in=sources, gold_role=GoldRole.ANSWER)
    keys = list(answers.values_list("pk", flat=True))
    if keys:
        retire_with(actor=batch.requester, dialogue_ids=keys, reason="Cases were made from the known answer.")
