"""The job that makes constrained cases and starts their import, and what it leaves in the history."""

import io
from dataclasses import dataclass, field
from typing import Any

from django.db.models import QuerySet

from annotator.core.schema.native_notes import native_notes
from annotator.core.text import gettext_noop, message
from annotator.errors import Invalid
from annotator.models import Dialogue, Event, Job, Project, User
from annotator.models.content import GoldRole
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind
from benchmark.core.constructing import FIELD, Made, Options
from benchmark.models import ConstructedPart, Generation, ImportBatch
from benchmark.services.constructing.requests import KIND
from benchmark.services.constructing.rewriting import start_rewriting
from benchmark.services.constructing.sources import Request, existing_cases, make_some, source_names
from benchmark.services.generation.authors import writers_of_cases
from benchmark.services.generation.reading import read_texts
from benchmark.services.imports.requests import start_import
from benchmark.services.stored_files import Readable
from reviews.services.gold.settings import retire_with
from reviews.services.queue.co_authors import store_co_authors

#: Sources read between two heartbeats, and refused ones that are kept with their reasons.
_SLICE = 25
KEPT_REASONS = 100
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


def _discard(job: Job) -> None:
    ConstructedPart.objects.filter(job=job).delete()


@job_kind(KIND, gettext_noop("Constrained cases"), discard=_discard, queue="imports", untrusted=True)
def run_constructing(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``constrained_cases``. After a kill it goes on with the next sources.

    The cases are stored part by part, so that none is kept in memory or made twice.
    """
    if {"import", "generation"} & set(running.checkpoint):
        return running.checkpoint
    job = running.job
    asked = job.parameters
    request = Request(
        Options.from_json(asked), tuple(asked["names"]), asked["only_verified"], asked.get("sampling", "")
    )
    names = source_names(job.project, request)
    if asked.get("rewriting"):
        return _rewrite(running, request, names)
    result = running.checkpoint or {"next": "", "made": 0, "there": 0, "refused": 0, "reasons": []}
    wanted = [name for name in sorted(names) if name > result["next"]]
    for start in range(0, len(wanted), _SLICE):
        some = wanted[start : start + _SLICE]
        with running.chunk() as chunk:
            found = Construction(request.options)
            make_cases(job.project, request, some, found)
            ConstructedPart.objects.create(job=job, content=b"".join(one.line for one in found.made).decode())
            result = _added(result, found, some[-1])
            chunk.advance(done=len(names) - len(wanted) + start + len(some), total=len(names), checkpoint=result)
    if not result["made"]:
        raise Invalid(nothing_made(result["reasons"]))
    with running.chunk() as chunk:
        counts = {name: result[name] for name in ("made", "there", "refused")}
        parts = ConstructedPart.objects.filter(job=job).order_by("pk")
        batch = _import(
            job.requester, job.project, request.options, counts, _Parts(parts), wake_worker=asked["wake_worker"]
        )
        parts.delete()
        result = {**counts, "reasons": result["reasons"], "import": batch.public_id}
        chunk.advance(checkpoint=result)
    return result


def _rewrite(running: Running, request: Request, names: list[str]) -> dict[str, Any]:
    """Make the cases, of which there are few, and start to rewrite their sentences, after which they are imported."""
    found = Construction(request.options)
    with running.chunk() as chunk:
        make_cases(running.job.project, request, names, found)
        reasons = [list(one) for one in found.refused[:KEPT_REASONS]]
        if not found.made:
            raise Invalid(nothing_made(reasons))
        started = start_rewriting(job=running.job, request=request, made=found.made)
        result = {**found.counts(), "reasons": reasons, "generation": started.public_id}
        chunk.advance(done=len(names), total=len(names), checkpoint=result)
    return result


def _added(result: dict[str, Any], found: Construction, last: str) -> dict[str, Any]:
    """Return the counts and reasons with those of one part, up to the source ``last``."""
    reasons = [*result["reasons"], *map(list, found.refused)][:KEPT_REASONS]
    counts = {name: result[name] + count for name, count in found.counts().items()}
    return {"next": last, **counts, "reasons": reasons}


class _Parts:
    """The stored parts as a file that is read once."""

    def __init__(self, parts: QuerySet[ConstructedPart]) -> None:
        self._contents = parts.values_list("content", flat=True).iterator(1)

    def read(self, size: int = -1) -> bytes:
        found = bytearray()
        for content in self._contents:
            found += content.encode()
            if 0 <= size <= len(found):
                break
        return bytes(found)


def nothing_made(reasons: list[list[str]]) -> Any:
    if not reasons:
        return message("The cases of these sources with this seed exist already. Use another seed.")
    source, reason = reasons[0]
    return message("No case can be made. %(source)s: %(reason)s", source=source, reason=reason)


def make_cases(project: Project, request: Request, names: list[str], found: Construction) -> None:
    there = existing_cases(project, map(found.options.name_of, names))
    wanted = [name for name in names if found.options.name_of(name) not in there]
    found.there += len(names) - len(wanted)
    for name, made in make_some(project, request, wanted):
        if isinstance(made, str):
            found.refused.append((name, made))
        else:
            found.made.append(made)


def store_cases(
    *, actor: User | None, project: Project, found: Construction, wake_worker: bool = True, **more: Any
) -> ImportBatch:
    """Start the import of the cases, in the caller's transaction. ``more``: what else the project's event says."""
    upload = io.BytesIO(b"".join(one.line for one in found.made))
    return _import(actor, project, found.options, found.counts(), upload, wake_worker=wake_worker, **more)


def _import(
    actor: User | None, project: Project, options: Options, counts: dict[str, int], upload: Readable, *,
    wake_worker: bool, **more: Any,
) -> ImportBatch:  # fmt: skip
    batch = start_import(
        actor=actor,
        project=project,
        filename=f"{_FILE}{options.seed}.jsonl",
        native_format="neutral",
        upload=upload,
        wake_worker=wake_worker,
    )
    after = {**options.as_json(), **counts, **more, "import": batch.public_id}
    append_event(actor=actor, project=project, kind=EVENT, after=after)
    return batch


def record_construction(batch: ImportBatch, job: Job) -> None:
    """Write into the history of each new case how it was made, if this import is one of constructed cases.

    Those who wrote its sentences don't review it. Retires gold items whose answer is a source, because reviewers of
    the cases will know it.
    """
    # An upload may have the same name, so only the event counts.
    events = Event.objects.filter(project=batch.project, kind=EVENT, after__import=batch.public_id)
    if not batch.filename.startswith(_FILE) or not events.exists():
        return
    writers = _writers(events)
    rows = Dialogue.objects.filter(batch=job, published=True).order_by("pk").select_related("head", "project")
    sources: set[str] = set()
    for dialogue in rows.defer("search_text"):
        store_co_authors(dialogue=dialogue, people=writers.get(dialogue.external_id, ()))
        notes = native_notes(dialogue.head.document()) if dialogue.head else {}
        how = notes.get("envelope", {}).get(FIELD)
        if how:
            append_event(actor=batch.requester, project=batch.project, dialogue=dialogue, kind=EVENT_OF_CASE, after=how)
            sources.add(str(how.get("source", "")))
    answers = Dialogue.objects.filter(project=batch.project, external_id__in=sources, gold_role=GoldRole.ANSWER)
    keys = list(answers.values_list("pk", flat=True))
    if keys:
        retire_with(actor=batch.requester, dialogue_ids=keys, reason="Cases were made from the known answer.")


def _writers(events: QuerySet[Event]) -> dict[str, frozenset[int]]:
    """Return who wrote sentences of each case, if they were rewritten."""
    ids = [event.after["generation"] for event in events if event.after and "generation" in event.after]
    found = Generation.objects.filter(public_id__in=ids).select_related("toolset_revision").first()
    return {} if found is None else writers_of_cases(read_texts(found))
