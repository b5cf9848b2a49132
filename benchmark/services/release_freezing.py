"""Freezing: which dialogues enter a release, at which revision, and why the others do not.

What is decided here is stored; an archive is built from that alone, so that it can be built again.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from django.utils import timezone

from annotator.errors import Invalid
from annotator.models import Dialogue, Project
from annotator.models.content import DialogueStatus, SetApart
from annotator.schema import load_text
from annotator.search import describe_document
from annotator.services import bulk
from annotator.services.jobs import Running
from annotator.services.revisions import check_document
from annotator.services.trials import facts_of
from benchmark.formats import WRITERS
from benchmark.models import LeftOut, Release, ReleaseItem
from benchmark.services.release_figures import count_what_waits, read_figures
from benchmark.services.release_items import Item
from benchmark.services.release_trails import verified_cycles, write_trails
from reviews.models import Cycle, Draw, ProtocolVersion
from reviews.services.gold_settings import retire_with
from reviews.services.gold_turns import behind
from reviews.services.protocols import stage_titles

#: Dialogues decided upon at a time.
SLICE = 500
_KINDS = {"multi_turn": "dialogues of tasks", "constrained": "constrained dialogues"}
_REASON = 300


def freeze(running: Running, release: Release) -> None:
    """Decide and store, in one transaction; then refuse a release that must not be.

    Raises Invalid when nothing is verified, or when something was left out and must not be. What was left out, and
    why, stays on record in that case too.
    """
    count_what_waits()
    with running.chunk() as chunk:
        freezing = _Freezing(release)
        freezing.run()
        if not (release.require_all and freezing.left_out):
            retire_with(
                actor=release.requester, dialogue_ids=freezing.answers, reason=f"Public in release {release.version}."
            )
        frozen = freezing.summary()
        Release.objects.filter(pk=release.pk).update(
            item_count=freezing.items, left_out_count=freezing.left_out, frozen=frozen, frozen_at=freezing.now
        )
        chunk.advance(done=0, total=freezing.items, note="Frozen", checkpoint={"frozen": True})
    release.refresh_from_db()


def where_released(dialogue: Dialogue) -> str:
    """Where everybody can read a dialogue's answer already, as a sentence; blank where nowhere."""
    held = ReleaseItem.objects.filter(dialogue__in=behind(dialogue), release__frozen_at__isnull=False)
    version = held.order_by("-pk").values_list("release__version", flat=True).first()
    if version is None:
        return ""
    return f"Release {version} holds this dialogue: whoever has read it there knows the answer."


def require_worth_releasing(release: Release) -> None:
    """Raises Invalid when the frozen selection must not become an archive."""
    if release.item_count == 0:
        raise Invalid("No dialogue of this project is verified and fit for release, so there is nothing to release.")
    if release.require_all and release.left_out_count:
        raise Invalid(
            f"{release.left_out_count:,} dialogues would be left out of release {release.version}, and all were "
            "required; each is listed with its reason."
        )


class _Freezing:
    """One walk over the project's dialogues."""

    def __init__(self, release: Release) -> None:
        self.release = release
        self.project: Project = release.project
        self.now = timezone.now()
        self.items = 0
        self.left_out = 0
        #: Known answers that become public with this release.
        self.answers: list[int] = []
        self._titles = stage_titles(self.project)
        self._writer = WRITERS[release.native_format]
        self._reasons: Counter[str] = Counter()
        self._counts: dict[str, Counter[str]] = {
            name: Counter() for name in ("language", "policy", "topology", "information", "switches", "tasks")
        }
        self._calls = 0
        self._protocols: set[int] = set()
        #: By the dialogue's id, what came of trying each of its validators.
        self._validators: dict[str, list[dict[str, Any]]] = {}

    def run(self) -> None:
        """Write the items and what is left out."""
        for dialogues in self._slices():
            verified = [d for d in dialogues if d.status == DialogueStatus.VERIFIED]
            cycles = verified_cycles(d.pk for d in verified)
            siblings = self._siblings(dialogues)
            reasons = {d.pk: self._decide(d, cycles.get(d.pk), siblings) for d in dialogues}
            entering = [d for d in dialogues if not reasons[d.pk]]
            trails = write_trails(cycles[d.pk] for d in entering)
            bulk.insert_rows(
                ReleaseItem,
                ("dialogue_id", "revision_id", "trail"),
                [
                    (d.pk, cycles[d.pk].exit_revision_id, bulk.as_json(trails[cycles[d.pk].pk] | self._tried(d)))
                    for d in entering
                ],
                constants={"release_id": self.release.pk},
            )  # fmt: skip
            bulk.insert_rows(
                LeftOut,
                ("dialogue_id", "reason"),
                [(d.pk, reasons[d.pk][:_REASON]) for d in dialogues if reasons[d.pk]],
                constants={"release_id": self.release.pk},
            )
            self.items += len(entering)
            self.left_out += len(dialogues) - len(entering)
            self.answers += [d.pk for d in entering if d.set_apart == SetApart.ANSWER]

    def summary(self) -> dict[str, Any]:
        """What is true now and is to stand in the manifest."""
        return {
            "frozen_at": self.now.isoformat(timespec="seconds"),
            "project": {
                "slug": self.project.slug, "name": self.project.name, "description": self.project.description,
            },
            "counts": {
                "dialogues": self.items,
                "entries": sum(int(tasks) * n for tasks, n in self._counts["tasks"].items()),
                "calls": self._calls,
                "left_out": self.left_out,
                **{f"by_{name}": dict(sorted(counts.items())) for name, counts in self._counts.items()},
            },
            "left_out": dict(sorted(self._reasons.items())),
            "figures": read_figures(self.project),
            **({"validators": self._validator_summary()} if self._validators else {}),
            "protocols": [
                {
                    "number": version.number, "preset": version.preset, "hash": version.content_hash,
                    "definition": load_text(version.definition),
                }
                for version in ProtocolVersion.objects.filter(pk__in=self._protocols).order_by("number")
            ],
            "draws": [
                {
                    "stage": draw.stage, "number": draw.number, "fraction": draw.fraction,
                    "algorithm": draw.algorithm, "seed": draw.seed, "population_hash": draw.population_hash,
                    "population_size": draw.population_size, "sample_size": draw.sample_size,
                    "strata": draw.strata,
                }
                for draw in Draw.objects.filter(project=self.project).order_by("stage", "number")
            ],
        }  # fmt: skip

    def _slices(self) -> Iterator[list[Dialogue]]:
        last = 0
        rows = Dialogue.objects.filter(project=self.project, published=True, archived_at=None).counted()
        rows = rows.select_related("head__toolset_revision").defer("search_text", "head__content").order_by("pk")
        while found := list(rows.filter(pk__gt=last)[:SLICE]):
            last = found[-1].pk
            yield found

    def _siblings(self, dialogues: Sequence[Dialogue]) -> dict[str, list[Dialogue]]:
        """The language variants of these dialogues, by group."""
        groups = {d.variant_group for d in dialogues if d.variant_group}
        found: dict[str, list[Dialogue]] = {}
        rows = (
            Dialogue.objects.filter(project=self.project, published=True, archived_at=None, variant_group__in=groups)
            .counted()
            .defer("search_text")
        )
        for sibling in rows:
            found.setdefault(sibling.variant_group, []).append(sibling)
        return found

    def _decide(self, dialogue: Dialogue, cycle: Cycle | None, siblings: dict[str, list[Dialogue]]) -> str:
        """Why a dialogue does not enter, as a sentence; nothing where it does, and then it is counted."""
        if dialogue.status != DialogueStatus.VERIFIED:
            return self._noted("not verified", self._unverified(dialogue))
        if cycle is None or cycle.exit_revision is None:
            return self._noted("not verified", "Its last review has not ended in verification.")
        for sibling in siblings.get(dialogue.variant_group, []):
            if sibling.pk != dialogue.pk and _labels(sibling) != _labels(dialogue):
                return self._noted(
                    "stale variant",
                    f"Its language variant {sibling.external_id} has other labels; bring the two together first.",
                )
        revision = cycle.exit_revision
        # Read once: reading, checking and writing a dialogue is what a release costs.
        item = Item.of(dialogue, revision)
        findings = check_document(item.document, revision.toolset_revision, project=self.project, stage="release")
        errors = [finding for finding in findings if finding.severity == "error"]
        if errors:
            first = errors[0]
            more = f" and {len(errors) - 1} more" if len(errors) > 1 else ""
            return self._noted(
                "error findings", f"{first.check} at {first.anchor or 'the dialogue'}{more}: {first.message}"
            )
        unwritable = self._unwritable(item)
        if not unwritable:
            self._count(item.document, cycle)
            if item.document["kind"] == "constrained":
                self._validators[dialogue.external_id] = facts_of(item.document)
        return self._noted("cannot be written", unwritable)

    def _tried(self, dialogue: Dialogue) -> dict[str, Any]:
        """What a case's own line says of its validators."""
        found = self._validators.get(dialogue.external_id)
        return {} if found is None else {"validators": found}

    def _validator_summary(self) -> dict[str, Any]:
        """The outcomes of all trials: counted, and one by one."""
        rows = [row for found in self._validators.values() for row in found]
        return {
            "validators": len(rows),
            "tried": sum(row["tried"] for row in rows),
            "passed": sum(row["tried"] and not row["errors"] for row in rows),
            "with_warnings": sum(bool(row["warnings"]) for row in rows),
            "responses": sum(row["responses"] for row in rows),
            "items": dict(sorted(self._validators.items())),
        }

    def _noted(self, kind: str, reason: str) -> str:
        if reason:
            self._reasons[kind] += 1
        return reason

    def _unverified(self, dialogue: Dialogue) -> str:
        stage = self._titles.get(dialogue.stage, dialogue.stage)
        at = f" at “{stage}”" if stage else ""
        match dialogue.status:
            case DialogueStatus.CANDIDATE:
                return f"Not reviewed yet: it waits{at}." if at else "Not reviewed yet."
            case DialogueStatus.IN_REVIEW:
                return f"In review{at}."
            case DialogueStatus.ESCALATED:
                return f"Escalated: a senior reviewer has to decide{at}."
            case DialogueStatus.POOLED:
                return f"Approved; it waits for the draw of the audit{at}."
            case _:
                ended = Cycle.objects.filter(dialogue=dialogue).order_by("-number").first()
                why = f": {ended.reason}" if ended and ended.reason else "."
                return f"Rejected in review{why}"

    def _unwritable(self, item: Item) -> str:
        if item.document["kind"] not in self._writer.kinds:
            words = _KINDS.get(item.document["kind"], item.document["kind"])
            return f"The format {self.release.native_format} holds no {words}; release them in another format."
        try:
            self._writer.write([item], canary=self.release.canary)
        except (ValueError, KeyError) as problem:
            return f"The format {self.release.native_format} cannot hold it: {problem}"
        return ""

    def _count(self, document: dict[str, Any], cycle: Cycle) -> None:
        self._protocols.add(cycle.protocol_id)
        labels = describe_document(document, index=False)
        self._calls += labels.call_count
        counts = self._counts
        counts["language"][labels.language or "none"] += 1
        counts["switches"][str(labels.switches)] += 1
        counts["tasks"][str(labels.task_count)] += 1
        counts["policy"].update(value or "none" for value in labels.policies)
        counts["topology"].update(value for value in labels.topologies if value)
        counts["information"].update(value or "none" for value in labels.information)


def _labels(dialogue: Dialogue) -> tuple[str, str, str]:
    return dialogue.policies, dialogue.topologies, dialogue.information
