"""Freeze a release: decide which dialogues enter it, at which revision, and why the others do not.

The decisions are stored, and an archive is built only from them, so it can be built again.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotator.core.checks import CleanMarks, Finding
from annotator.core.schema import load_text
from annotator.core.search import switches_of_entries
from annotator.core.text import counted_message, gettext_noop, message
from annotator.core.wording import counted
from annotator.errors import Invalid
from annotator.models import Dialogue, Project, Revision
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.database import bulk_insert
from annotator.services.dialogues.composites import COMPOSITE, SINGLE
from annotator.services.dialogues.executions import execution_of_revision
from annotator.services.dialogues.revisions import check_document, check_settings
from annotator.services.dialogues.trials import facts_of
from annotator.services.dialogues.variants import Variant, read_variants
from annotator.services.jobs.jobs import Running
from benchmark.core.archives.executing import execution_facts
from benchmark.core.archives.manifest import VERSION
from benchmark.core.formats import FORMATS
from benchmark.models import LeftOutDialogue, Release, ReleaseItem, ReleaseState
from benchmark.services.releases.candidates import Candidate, Labels
from benchmark.services.releases.coverage import ReleasedCoverage
from benchmark.services.releases.figures import read_figures
from benchmark.services.releases.items import Item
from benchmark.services.releases.layers import Layers, missing_count
from benchmark.services.releases.settings import settings_of
from benchmark.services.releases.trails import Verified, protocols_of, verified_cycles, write_trails
from reviews.models import Cycle, Draw, DrawItem, ProtocolVersion
from reviews.services.protocols.versions import stage_titles
from reviews.services.queue.gold_claims import language_variants
from reviews.services.statistics.all_counts import fold_all

#: Dialogues decided at a time.
SLICE = 500
#: Compression level of an archive: half the work of zlib's usual 6, a sixth more bytes.
COMPRESSION = 4
_KINDS = {
    "multi_turn": "multi-turn dialogues",
    "single_task": "single tasks",
    "composite": "composites",
    "constrained": "constrained dialogues",
    "toolset": "toolsets",
}
_REASON = 300


def freeze(running: Running, release: Release) -> None:
    """Decide and store, in one transaction; then refuse an invalid release.

    Raises Invalid if nothing is verified, or if something was left out although all were required. What was left out,
    and why, is stored in that case too.
    """
    fold_all()
    with running.chunk() as chunk:
        freezing = _Freezing(release)
        freezing.run()
        frozen = freezing.summary()
        Release.objects.filter(pk=release.pk).update(
            item_count=freezing.items, left_out_count=freezing.left_out, frozen=frozen, frozen_at=freezing.now
        )
        chunk.advance(done=0, total=freezing.items, note=gettext_noop("Frozen"), checkpoint={"frozen": True})
    release.refresh_from_db()


def what_differs(release: Release) -> str:
    """Return how a release frozen now would differ from a frozen one, in words; blank if they are the same."""
    held = dict(ReleaseItem.objects.filter(release=release).values_list("dialogue", "revision"))
    more = other = 0
    for candidates, cycles, reasons in _Freezing(release).decide():
        for candidate in candidates:
            if reasons[candidate.pk]:
                continue
            revision = held.pop(candidate.pk, None)
            more += revision is None
            other += revision not in (None, cycles[candidate.pk].revision)
    counts = ((more, "more"), (len(held), "fewer"), (other, "in another revision"))
    return ", ".join(f"{counted(count, 'dialogue')} {how}" for count, how in counts if count)


def where_released(dialogue: Dialogue) -> str:
    """Return where everybody can read a dialogue's answer, or that it has one, as a sentence; blank if nowhere."""
    alike = language_variants(dialogue)
    held = ReleaseItem.objects.filter(dialogue__in=alike, release__frozen_at__isnull=False)
    version = held.order_by("-pk").values_list("release__version", flat=True).first()
    if version is not None:
        return f"Release {version} contains {dialogue.external_id}, so its readers know the answer."
    drawn = (
        DrawItem.objects.filter(dialogue__in=alike).order_by("pk").values_list("draw__created_at", flat=True).first()
    )
    if drawn is None:
        return ""
    revealed = Release.objects.filter(
        project=dialogue.project_id, state=ReleaseState.FROZEN, frozen_at__gte=drawn, leave_out_gold=False
    )
    version = revealed.order_by("pk").values_list("version", flat=True).first()
    if version is None:
        return ""
    return (
        f"{dialogue.external_id} was in a draw when release {version} was frozen, and the "
        "release contains the hash of the ids in it. Anyone can use that hash to find out that "
        "the dialogue was verified."
    )


def opened_by(release: Release) -> list[int]:
    """Return keys of the gold answers that the release makes public: what it contains, what was in a draw whose hash it
    contains, and variants of either.
    """
    answers = Dialogue.objects.filter(project=release.project_id, gold_role=GoldRole.ANSWER)
    held = ReleaseItem.objects.filter(release=release).values("dialogue")
    drawn = DrawItem.objects.filter(draw__in=_draws_of(release)).values("dialogue")
    revealed = answers.filter(Q(pk__in=held) | Q(pk__in=drawn))
    groups = revealed.exclude(variant_group="").values("variant_group")
    return list(
        answers.filter(Q(pk__in=revealed.values("pk")) | Q(variant_group__in=groups)).values_list("pk", flat=True)
    )


def _draws_of(release: Release) -> QuerySet[Draw]:
    """Return the draws that the release describes: none if it leaves out gold answers, because it has the hash and size
    of each population, and a missing draw would show which one had an answer.
    """
    draws = Draw.objects.filter(project=release.project_id)
    return draws.none() if release.leave_out_gold else draws


def published_in(release: Release) -> str:
    """Return why gold items are retired whose answers the release makes public."""
    return f"Published in release {release.version}."


def require_worth_releasing(release: Release) -> None:
    """Raise Invalid if the frozen selection must not become an archive."""
    if release.item_count == 0:
        raise Invalid(message("No dialogue in this project is verified and ready for release."))
    if release.require_all and (missing := missing_count(release)):
        raise Invalid(
            counted_message(
                "Release %(version)s failed, because %(count)s dialogue would be left out. It is listed with its "
                "reason.",
                "Release %(version)s failed, because %(count)s dialogues would be left out. Each is listed with its "
                "reason.",
                missing,
                version=release.version,
            )
        )


class _Freezing:
    """One pass over the project's dialogues."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.project: Project = release.project
        self.now = timezone.now()
        self.items = 0
        self.left_out = 0
        self._titles = stage_titles(self.project)
        self._writer = FORMATS[release.native_format]
        self._marks = CleanMarks(check_settings(self.project))
        #: Whether the format can represent every document that can have a mark.
        self._trusting = self._writer.holds_all and "multi_turn" in self._writer.kinds
        self._counts: dict[str, Counter[str]] = {
            name: Counter() for name in ("language", "policy", "topology", "information", "entry_switches", "tasks")
        }
        self._coverage = ReleasedCoverage()
        self._calls = 0
        #: Numbers of the protocol versions under which any stage of an item was passed.
        self._protocols: set[int] = set()
        #: By the dialogue's id, the results of trying each of its validators.
        self._validators: dict[str, list[dict[str, Any]]] = {}
        #: By the dialogue's id, what its trajectory came to.
        self._executions: dict[str, dict[str, Any]] = {}
        self._layers = Layers(self.project)
        #: The hashes of content and toolset of each dialogue that composites may refer to, by its id.
        self._entered: dict[str, tuple[str, str]] = {}

    def decide(self) -> Iterator[tuple[list[Candidate], dict[int, Verified], dict[int, str]]]:
        """Yield the project's dialogues in slices: with the last cycle of each verified one, and why each is left out
        (blank if it enters).
        """
        for candidates in self._slices():
            cycles = verified_cycles(c.pk for c in candidates if c.status == DialogueStatus.VERIFIED)
            variants = read_variants(project=self.project, groups={c.variant_group for c in candidates})
            reasons = {c.pk: self._outside(c, cycles.get(c.pk), variants) for c in candidates}
            self._look_into([(c, cycles[c.pk]) for c in candidates if not reasons[c.pk]], reasons)
            for one in candidates:
                if one.kind == SINGLE and not reasons[one.pk]:
                    self._entered[one.external_id] = cycles[one.pk].content_hash, cycles[one.pk].toolset_hash
            self._layers.enter(one.pk for one in candidates if not reasons[one.pk])
            yield candidates, cycles, reasons

    def run(self) -> None:
        """Write the items and the dialogues that are left out."""
        for candidates, cycles, reasons in self.decide():
            entering = [c for c in candidates if not reasons[c.pk]]
            trails = write_trails(cycles[c.pk] for c in entering)
            self._protocols.update(*map(protocols_of, trails.values()))
            bulk_insert.insert_rows(
                ReleaseItem,
                ("dialogue_id", "revision_id", "trail"),
                [
                    (c.pk, cycles[c.pk].revision, bulk_insert.as_json(trails[cycles[c.pk].cycle] | self._found(c)))
                    for c in entering
                ],
                constants={"release_id": self.release.pk},
            )  # fmt: skip
            bulk_insert.insert_rows(
                LeftOutDialogue,
                ("dialogue_id", "reason"),
                [(c.pk, reasons[c.pk][:_REASON]) for c in candidates if reasons[c.pk]],
                constants={"release_id": self.release.pk},
            )
            self.items += len(entering)
            self.left_out += len(candidates) - len(entering)

    def summary(self) -> dict[str, Any]:
        """Return the current facts for the manifest."""
        return {
            "frozen_at": self.now.isoformat(timespec="seconds"),
            "layout": VERSION,
            "compression": COMPRESSION,
            "settings": settings_of(self.project).stored(),
            "populations": self._populations(),
            "project": {
                "slug": self.project.slug, "name": self.project.name, "description": self.project.description,
            },
            "counts": {
                "dialogues": self.items,
                "entries": sum(int(tasks) * n for tasks, n in self._counts["tasks"].items()),
                "calls": self._calls,
                **{f"by_{name}": dict(sorted(counts.items())) for name, counts in self._counts.items()},
            },
            "coverage": self._coverage.facts(self.release),
            **({"contained": self._layers.contained} if self._layers.contained else {}),
            **({"custom_fields": self.project.custom_fields} if self.project.custom_fields else {}),
            "figures": read_figures(self.project, public=opened_by(self.release)),
            **({"validators": self._validator_summary()} if self._validators else {}),
            "protocols": [
                {
                    "number": version.number, "name": definition["name"], "preset": version.preset,
                    "hash": version.content_hash, "definition": definition,
                }
                for version in ProtocolVersion.objects.filter(
                    project=self.project, number__in=self._protocols
                ).order_by("number")
                for definition in [load_text(version.definition)]
            ],
            "draws": list(
                _draws_of(self.release).order_by("stage", "number").values(
                    "stage", "number", "fraction", "algorithm", "seed", "population_hash", "population_size",
                    "sample_size", "strata",
                )
            ),
        }  # fmt: skip

    def _populations(self) -> list[list[Any]]:
        """Return stage and number of the draws whose populations are published: not those that would tell a blind
        reviewer about work before them, and its result.
        """
        unfinished = DrawItem.objects.filter(
            dialogue__status__in=[DialogueStatus.IN_REVIEW, DialogueStatus.ESCALATED, DialogueStatus.POOLED]
        )
        draws = _draws_of(self.release).order_by("stage", "number")
        revealed = draws.exclude(Exists(unfinished.filter(draw=OuterRef("pk"))))
        return [list(one) for one in revealed.values_list("stage", "number")]

    def _slices(self) -> Iterator[list[Candidate]]:
        """Yield slices; what continues other dialogues first, when it is not known yet which of those enter; composites
        last, when it is known which single tasks enter.
        """
        depths = [Q(continuation__tasks=depth) for depth in self._layers.depths]
        for which in (*depths, Q(continuation=None) & ~Q(kind=COMPOSITE), Q(kind=COMPOSITE)):
            last = 0
            while found := self._candidates(which & Q(pk__gt=last), limit=SLICE):
                last = found[-1].pk
                yield found

    def _candidates(self, which: Q, *, limit: int | None = None) -> list[Candidate]:
        rows = Dialogue.objects.filter(which, project=self.project, published=True, archived_at=None).counted()
        return [Candidate(*row) for row in rows.order_by("pk").values_list(*Candidate.__slots__)[:limit]]

    def _outside(self, candidate: Candidate, cycle: Verified | None, variants: dict[int, list[Variant]]) -> str:
        """Return why a dialogue is left out regardless of its content; blank if its content decides."""
        if candidate.status != DialogueStatus.VERIFIED:
            return self._unverified(candidate)
        if cycle is None:
            return "It was not verified in its last cycle."
        if self.release.leave_out_gold and candidate.gold_role == GoldRole.ANSWER:
            return "It is the known answer of a gold item in use."
        if layered := self._layers.why_stale(candidate) or self._layers.why_contained(candidate):
            return layered
        others = variants.get(candidate.pk, ())
        why = next((one.why for one in others if one.why), "")
        return why or next((why for one in others if (why := _unready(one, candidate.language))), "")

    def _look_into(self, candidates: Sequence[tuple[Candidate, Verified]], reasons: dict[int, str]) -> None:
        """Decide by the content: read, checked and written once, unless its mark gives the result."""
        closely = {cycle.revision for candidate, cycle in candidates if not self._known_clean(candidate, cycle)}
        revisions = Revision.objects.select_related("toolset_revision").in_bulk(closely)
        marked = []
        for candidate, cycle in candidates:
            revision = revisions.get(cycle.revision)
            if revision is None:
                self._count(candidate.labels)
                continue
            item = Item.read(
                candidate.external_id, candidate.variant_group, revision.content, revision.toolset_revision.content
            )
            findings = check_document(item.document, revision.toolset_revision, project=self.project, stage="release")
            reasons[candidate.pk] = self._faulty(findings) or self._missing(item) or self._unwritable(item)
            if reasons[candidate.pk]:
                continue
            labels = Labels.read(item.document)
            self._count(labels)
            if item.document["kind"] == "constrained":
                self._validators[candidate.external_id] = facts_of(item.document)
            execution = execution_of_revision(revision, item.document)
            if execution is not None:
                self._executions[candidate.external_id] = execution_facts(execution)
            mark = self._marks.mark_if_clean(item.document, findings, cycle.content_hash, cycle.toolset_hash)
            if mark != revision.clean_mark and labels == candidate.labels:
                revision.clean_mark = mark
                marked.append(revision)
        # The next release does not need to check it again.
        Revision.objects.bulk_update(marked, ["clean_mark"], batch_size=SLICE)

    def _known_clean(self, candidate: Candidate, cycle: Verified) -> bool:
        """Return whether today's checks have found no error in this content, and the format can represent it."""
        return (
            self._trusting
            and candidate.head_id == cycle.revision
            and cycle.clean_mark == self._marks.expected_mark(cycle.content_hash, cycle.toolset_hash)
        )

    def _found(self, candidate: Candidate) -> dict[str, Any]:
        """Return what an item's line says about its code: the validators' results, or what its trajectory came to."""
        found: dict[str, dict[str, Any]] = {"validators": self._validators, "execution": self._executions}
        name = candidate.external_id
        return {key: results[name] for key, results in found.items() if name in results}

    def _validator_summary(self) -> dict[str, Any]:
        """Return the results of all trials: counted, and one by one."""
        rows = [row for found in self._validators.values() for row in found]
        return {
            "validators": len(rows),
            "tried": sum(row["tried"] for row in rows),
            "passed": sum(row["tried"] and not row["errors"] for row in rows),
            "with_warnings": sum(bool(row["warnings"]) for row in rows),
            "responses": sum(row["responses"] for row in rows),
            "items": dict(sorted(self._validators.items())),
        }

    def _unverified(self, candidate: Candidate) -> str:
        stage = self._titles.get(candidate.stage, candidate.stage)
        at = f" at “{stage}”" if stage else ""
        match candidate.status:
            case DialogueStatus.CANDIDATE:
                return f"Not reviewed yet: waiting{at}." if at else "Not reviewed yet."
            case DialogueStatus.IN_REVIEW:
                return f"In review{at}."
            case DialogueStatus.ESCALATED:
                return f"Escalated: a senior reviewer must decide{at}."
            case DialogueStatus.POOLED:
                return f"Waiting for the draw{at}."
            case _:
                ended = Cycle.objects.in_effect().filter(dialogue=candidate.pk).order_by("-number").first()
                why = f": {ended.reason}" if ended and ended.reason else "."
                return f"Rejected in review{why}"

    def _faulty(self, findings: Sequence[Finding]) -> str:
        errors = [finding for finding in findings if finding.severity == "error"]
        if not errors:
            return ""
        first = errors[0]
        more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
        return f"{first.check} at {first.anchor or 'the dialogue'}{more}: {first.message}"

    def _missing(self, item: Item) -> str:
        """Return which single task of a composite does not enter; blank if all do, in the revision it refers to."""
        if item.document["kind"] != COMPOSITE:
            return ""
        for task in item.document["tasks"]:
            if self._entered.get(task["single"]) != (task["sha256"], task["toolset_sha256"]):
                return f"Its single task {task['single']} does not enter this release."
        return ""

    def _unwritable(self, item: Item) -> str:
        if item.document["kind"] not in self._writer.kinds:
            words = _KINDS.get(item.document["kind"], item.document["kind"])
            return f"The format {self.release.native_format} cannot represent {words}. Release them in another format."
        try:
            self._writer.write([item], canary=self.release.canary)
        except (ValueError, KeyError) as problem:
            return f"The format {self.release.native_format} cannot represent it: {problem}"
        return ""

    def _count(self, labels: Labels) -> None:
        self._coverage.add(labels)
        self._calls += labels.call_count
        counts = self._counts
        counts["language"][labels.language or "none"] += 1
        # A case without policies is one entry without a switch.
        counts["entry_switches"].update(map(str, switches_of_entries(labels.policies) or [0] * labels.task_count))
        counts["tasks"][str(labels.task_count)] += 1
        counts["policy"].update(value or "none" for value in labels.policies)
        counts["topology"].update(
            topology
            for policy, topology in zip(labels.policies, labels.topologies, strict=True)
            if policy == "multi_tool" and topology
        )
        counts["information"].update(value or "none" for value in labels.information)


def _unready(variant: Variant, language: str) -> str:
    """Return why a variant in another language holds back this one; blank if it is verified, or rejected for good."""
    if variant.dialogue.language == language:
        return ""
    if variant.dialogue.status in (DialogueStatus.VERIFIED, DialogueStatus.REJECTED):
        return ""
    return f"Its language variant {variant.dialogue.external_id} is not verified yet."
