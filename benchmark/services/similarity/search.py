"""The job that searches near-duplicates: after an import among its dialogues, and on request in the whole project.

A dialogue gets the finding if its current content was imported or generated: an edited one has been read by its
reviewer. Gold items get it as if they had been imported with their source, so that they look like what came in beside
them.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.db.models.functions import Length

from annotator.core.checks import CheckSettings, near_duplicate_finding
from annotator.core.checks import Finding as CheckFinding
from annotator.core.checks.similarity import NEAR_DUPLICATE, dialogue_text
from annotator.core.text import gettext_noop
from annotator.models import Dialogue, Finding, Project, Revision
from annotator.models.content import GoldRole
from annotator.services.dialogues.revisions import check_settings, finding_rows
from annotator.services.jobs.jobs import Running, job_kind
from benchmark.models import Generation, ImportBatch
from benchmark.services.similarity.groups import regroup
from benchmark.services.similarity.pairs import Match, matches_among, store_pairs, text_of
from benchmark.services.similarity.settings import KIND, lock_searches, threshold_of

#: Dialogues and characters processed in one transaction, unless a single dialogue has more.
SLICE, SLICE_CHARACTERS = 200, 4 << 20
#: (key of the row, key of the dialogue, characters of its content)
Rows = QuerySet[Any, tuple[int, int, int | None]]


@job_kind(
    KIND, gettext_noop("Search for near-duplicates"), quiet=True, queue="imports", untrusted=True, repeatable=True
)
def run_near_duplicates(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``near_duplicates``. Without the parameter ``import``, it is about the whole project."""
    project = running.job.project
    again = "import" not in running.job.parameters
    rows = _whole(project) if again else _imported(project, running.job.parameters["import"])
    search = _Search(project)
    done, found = running.checkpoint.get("done", 0), running.checkpoint.get("found", 0)
    total = rows.count()
    for after, dialogues in _slices(rows, after=running.checkpoint.get("after", 0)):
        with running.chunk() as chunk:
            search.lock()
            matches = store_pairs(project.pk, {one.pk: text_of(one) for one in dialogues}, again=again)
            found += search.report(
                dialogues,
                search.findings([one.head for one in dialogues], [matches.get(one.pk, []) for one in dialogues]),
            )
            done += len(dialogues)
            chunk.advance(done=done, total=total, checkpoint={"after": after, "done": done, "found": found})
    with running.chunk():
        search.lock()
        if again:
            items = _gold_items(project)
            search.report(items, [search.finding_of_item(item.head) for item in items])
        regroup(project.pk, search.threshold)
    return {"compared": done, "near_duplicates": found}


def compare_new(dialogue: Dialogue) -> None:
    """Compare a generated dialogue with those that are there, and store it for later comparisons.

    In the transaction that has made it, and that has called ``lock_searches`` before it locked any dialogue.
    """
    search = _Search(dialogue.project)
    search.lock()
    matches = store_pairs(dialogue.project_id, {dialogue.pk: text_of(dialogue)}).get(dialogue.pk, [])
    search.report([dialogue], search.findings([dialogue.head], [matches]))
    if matches:
        regroup(dialogue.project_id, search.threshold)


def found_on_import(revision: Revision) -> CheckFinding | None:
    """Return what the search would have found for a gold item, had it been imported with its source dialogue."""
    return _Search(revision.dialogue.project).finding_of_item(revision)


class _Search:
    """The settings of one search."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._settings: CheckSettings = check_settings(project)
        self.threshold = threshold_of(project)

    def lock(self) -> None:
        """Let one search of the project write at a time, with the newest threshold.

        An import may end, and the threshold may change, while the whole project is searched.
        """
        lock_searches(self._project)
        self.threshold = threshold_of(self._project)

    def findings(
        self, heads: Sequence[Revision | None], matches: Sequence[Sequence[Match]]
    ) -> list[CheckFinding | None]:
        """Return the finding of each dialogue with this head; None without a match, or if people have edited it."""
        shown = _as_they_came().filter(pk__in=[head.pk for head in heads if head is not None])
        came = set(shown.values_list("pk", flat=True))
        best = [
            found[0]
            if found and head is not None and head.pk in came and found[0][1].percent >= self.threshold
            else None
            for head, found in zip(heads, matches, strict=True)
        ]
        others = Dialogue.objects.filter(pk__in={match[0] for match in best if match is not None})
        names = dict(others.values_list("pk", "external_id"))
        return [
            None
            if match is None or head is None
            else near_duplicate_finding(
                head.document(), names[match[0]], match[1], stage="import", settings=self._settings
            )
            for head, match in zip(heads, best, strict=True)
        ]

    def finding_of_item(self, head: Revision | None) -> CheckFinding | None:
        """Return the finding of a gold item: its matches are what was there before its source."""
        if head is None or not _as_they_came().filter(pk=head.pk).exists():
            return None
        item = head.dialogue
        earlier = Q(created_at__lt=item.created_at) & ~Q(gold_role=GoldRole.GOLD)
        matches = matches_among(item.project_id, dialogue_text(head.document()), earlier)
        [finding] = self.findings([head], [matches])
        return finding

    def report(self, dialogues: Sequence[Dialogue], findings: Sequence[CheckFinding | None]) -> int:
        """Let each dialogue have this finding, or none, unless it has changed; return how many should have one."""
        wanted = {one.pk: (one.head_id, found) for one, found in zip(dialogues, findings, strict=True)}
        rows = Finding.objects.filter(check_id=NEAR_DUPLICATE, dialogue__in=wanted, revision=F("dialogue__head"))
        held = {one.dialogue_id: one for one in rows}
        changed = [pk for pk, (_, found) in wanted.items() if not _equal(held.get(pk), found)]
        locked = Dialogue.objects.select_for_update(of=("self",)).filter(pk__in=changed).order_by("pk")
        for dialogue in locked.select_related("head").defer("search_text", "head__content"):
            head, found = wanted[dialogue.pk]
            if dialogue.head_id == head and dialogue.head is not None:
                _replace(dialogue, dialogue.head, held.get(dialogue.pk), found)
        return sum(found is not None for found in findings)


def _as_they_came() -> QuerySet[Revision]:
    """Return the revisions that are what was imported or generated, also as a gold item shows it."""
    # A gold item has the id of its source, and its first revision is a copy of the first one of its source.
    generated = Generation.objects.filter(
        project=OuterRef("dialogue__project"), name=OuterRef("dialogue__external_id"), dialogue__isnull=False
    )
    return Revision.objects.filter(Q(batch__isnull=False) | Q(Exists(generated), number=1))


def _equal(held: Finding | None, found: CheckFinding | None) -> bool:
    if held is None or found is None:
        return held is None and found is None
    return (held.severity, held.value_hash, held.message) == (found.severity, found.value_hash, found.message[:1000])


def _replace(dialogue: Dialogue, head: Revision, held: Finding | None, found: CheckFinding | None) -> None:
    """Store the finding in place of the one that is held, and count again."""
    change = {"error": 0, "warning": 0}
    if held is not None:
        held.delete()
        change[held.severity] = change.get(held.severity, 0) - 1
    if found is not None:
        Finding.objects.bulk_create(finding_rows(dialogue, head, [found]))
        change[found.severity] = change.get(found.severity, 0) + 1
    counts = {
        "error_count": F("error_count") + change["error"],
        "warning_count": F("warning_count") + change["warning"],
    }
    Dialogue.objects.filter(pk=dialogue.pk).update(**counts)


def _imported(project: Project, name: str) -> Rows:
    """Return the dialogues of the import, without gold items that were made from them since."""
    batch = ImportBatch.objects.get(project=project, public_id=name)
    rows = Revision.objects.filter(batch=batch.job_id, sealed=False).exclude(dialogue__gold_role=GoldRole.GOLD)
    return rows.values_list("pk", "dialogue_id", Length("dialogue__head__content"))


def _whole(project: Project) -> Rows:
    """Return the dialogues of the project, without gold items."""
    rows = Dialogue.objects.filter(project=project, published=True, archived_at=None).counted()
    return rows.values_list("pk", "pk", Length("head__content"))


def _gold_items(project: Project) -> list[Dialogue]:
    rows = Dialogue.objects.filter(
        Exists(_as_they_came().filter(pk=OuterRef("head"))), project=project, gold_role=GoldRole.GOLD, archived_at=None
    )
    return list(rows.order_by("pk").select_related("head__dialogue").defer("search_text", "head__content"))


def _slices(rows: Rows, *, after: int) -> Iterator[tuple[int, list[Dialogue]]]:
    """Return the dialogues in portions, each with the last key of ``rows`` that it comes to."""
    while sizes := list(rows.filter(pk__gt=after).order_by("pk")[:SLICE]):
        chosen: list[int] = []
        room = SLICE_CHARACTERS
        for key, pk, size in sizes:
            room -= size or 0
            if chosen and room < 0:
                break
            chosen.append(pk)
            after = key
        found = Dialogue.objects.filter(pk__in=chosen).select_related("head").defer("search_text")
        yield after, list(found.order_by("pk"))
