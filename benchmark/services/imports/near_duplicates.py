"""The job after an import: find its dialogues that nearly repeat another one of the project.

Each dialogue's bands are stored in the database; a new dialogue is compared exactly with those that share a band.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import F, QuerySet
from django.db.models.functions import Length

from annotator.core.checks import Finding as CheckFinding
from annotator.core.checks import near_duplicate_finding
from annotator.core.checks.similarity import THRESHOLD, bands, dialogue_text, jaccard, shingles
from annotator.core.text import gettext_noop
from annotator.models import Dialogue, Finding, Revision
from annotator.models.content import GoldRole
from annotator.services.database import bulk_insert
from annotator.services.dialogues.revisions import check_settings
from annotator.services.jobs.jobs import Running, job_kind
from benchmark.models import ImportBatch, SimilarityBand

#: Dialogues and characters processed in one transaction, unless a single dialogue has more.
SLICE, SLICE_CHARACTERS = 200, 8 << 20
#: Characters of a dialogue that are compared: the shingles of each take a hundred times their size, and those of
#: seventeen times a slice are in memory.
MAX_COMPARED = 20_000
#: The number of dialogues that one is compared with: those that share the most bands. If a template was used a thousand
#: times, a few are enough.
MAX_CANDIDATES = 16
#: Rows of one band that are read.
_MAX_IN_BAND = 64


@job_kind("near_duplicates", gettext_noop("Search for near-duplicates"), quiet=True, untrusted=True)
def run_near_duplicates(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``near_duplicates``."""
    batch = ImportBatch.objects.select_related("project", "job").get(public_id=running.job.parameters["import"])
    project = batch.project
    settings = check_settings(project)
    done, found = running.checkpoint.get("done", 0), running.checkpoint.get("found", 0)
    total = _imported(batch).count()
    for revisions in _slices(batch, after=running.checkpoint.get("after", 0)):
        with running.chunk() as chunk:
            pairs = _compare(project.pk, revisions)
            for revision, other, similarity in pairs:
                finding = near_duplicate_finding(
                    revision.document(), other, similarity, stage="import", settings=settings
                )
                if finding is not None and _attach(revision, finding):
                    found += 1
            done += len(revisions)
            chunk.advance(done=done, total=total, checkpoint={"after": revisions[-1].pk, "done": done, "found": found})
    return {"compared": done, "near_duplicates": found}


def found_on_import(revision: Revision) -> CheckFinding | None:
    """Return what the search would have found for a gold item, had it been imported with its source dialogue."""
    if revision.batch_id is None:
        return None
    dialogue = revision.dialogue
    own = shingles(_text(revision))
    neighbours = _neighbours(dialogue.project_id, set(bands(own)))
    shared = Counter(pk for found in neighbours.values() for pk in found)
    earlier = Dialogue.objects.filter(pk__in=shared, created_at__lt=dialogue.created_at).exclude(
        gold_role=GoldRole.GOLD
    )
    known = set(earlier.values_list("pk", flat=True))
    names, texts = _load(set([pk for pk, _ in shared.most_common() if pk in known][:MAX_CANDIDATES]))
    best = max(((jaccard(own, shingles(text)), -pk) for pk, text in texts.items()), default=(0.0, 0))
    if best[0] < THRESHOLD:
        return None
    settings = check_settings(dialogue.project)
    return near_duplicate_finding(revision.document(), names[-best[1]], best[0], stage="import", settings=settings)


def _imported(batch: ImportBatch) -> QuerySet[Revision]:
    """Return the dialogues of the import, without gold items that were made from them since."""
    return Revision.objects.filter(batch=batch.job, sealed=False).exclude(dialogue__gold_role=GoldRole.GOLD)


def _slices(batch: ImportBatch, *, after: int) -> Iterator[list[Revision]]:
    rows = _imported(batch).order_by("pk")
    while sizes := list(rows.filter(pk__gt=after).values_list("pk", Length("content"))[:SLICE]):
        chosen: list[int] = []
        room = SLICE_CHARACTERS
        for pk, size in sizes:
            room -= size
            if chosen and room < 0:
                break
            chosen.append(pk)
        after = chosen[-1]
        yield list(rows.filter(pk__in=chosen).select_related("dialogue").defer("dialogue__search_text"))


def _compare(project_id: int, revisions: Sequence[Revision]) -> list[tuple[Revision, str, float]]:
    """Return, for each dialogue that nearly repeats an earlier one, the most similar one's id and the similarity."""
    own = {r.dialogue_id: shingles(_text(r)) for r in revisions}
    own_bands = {pk: bands(found) for pk, found in own.items()}
    SimilarityBand.objects.filter(dialogue__in=own).delete()
    neighbours = _neighbours(project_id, {band for found in own_bands.values() for band in found})
    candidates: dict[int, list[int]] = {}
    for revision in revisions:
        pk = revision.dialogue_id
        shared: Counter[int] = Counter()
        for band in own_bands[pk]:
            shared.update(neighbours[band][:_MAX_IN_BAND])
            neighbours[band].append(pk)
        candidates[pk] = [other for other, _ in shared.most_common(MAX_CANDIDATES)]
    others = {other for found in candidates.values() for other in found} - own.keys()
    names, texts = _load(others | own.keys())
    compared = own | {pk: shingles(text) for pk, text in texts.items() if pk not in own}
    bulk_insert.insert_rows(
        SimilarityBand,
        ("dialogue_id", "band"),
        [(pk, band) for pk, found in own_bands.items() for band in found],
        constants={"project_id": project_id},
    )
    out = []
    for revision in revisions:
        pk = revision.dialogue_id
        scored = [(jaccard(own[pk], compared[other]), -other) for other in candidates[pk] if other in compared]
        best = max(scored, default=(0.0, 0))
        if best[0] >= THRESHOLD:
            out.append((revision, names[-best[1]], best[0]))
    return out


def _neighbours(project_id: int, wanted: set[int]) -> dict[int, list[int]]:
    """Return band → the dialogues that have it."""
    neighbours: dict[int, list[int]] = defaultdict(list)
    rows = SimilarityBand.objects.filter(project=project_id, band__in=wanted, dialogue__archived_at=None)
    for band, dialogue_id in rows.order_by("dialogue_id").values_list("band", "dialogue_id").iterator():
        if len(neighbours[band]) < _MAX_IN_BAND:
            neighbours[band].append(dialogue_id)
    return neighbours


def _load(pks: set[int]) -> tuple[dict[int, str], dict[int, str]]:
    """Return external ids and current texts of dialogues."""
    names, texts = {}, {}
    rows = Dialogue.objects.filter(pk__in=pks).select_related("head").defer("search_text")
    # Few at a time: their contents may be large, and most of it is not kept.
    for dialogue in rows.iterator(chunk_size=20):
        names[dialogue.pk] = dialogue.external_id
        if dialogue.head is not None:
            texts[dialogue.pk] = _text(dialogue.head)
    return names, texts


def _text(revision: Revision) -> str:
    return dialogue_text(revision.document())[:MAX_COMPARED]


def _attach(revision: Revision, finding: Any) -> bool:
    """Store the finding, unless the dialogue has changed since the import."""
    counts = {"warning": "warning_count", "error": "error_count"}
    dialogue = Dialogue.objects.select_for_update().filter(pk=revision.dialogue_id, head=revision)
    if not dialogue.exists():
        return False
    Finding.objects.create(
        dialogue_id=revision.dialogue_id,
        revision=revision,
        check_id=finding.check,
        severity=finding.severity,
        anchor=finding.anchor,
        value_hash=finding.value_hash,
        message=finding.message[:1000],
    )
    column = counts.get(finding.severity)
    if column:
        Dialogue.objects.filter(pk=revision.dialogue_id).update(**{column: F(column) + 1})
    return True
