"""Write thousands of verified dialogues as rows, because reviewing each of them would take too long."""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from django.db import transaction
from django.utils import timezone

from annotator.models import Dialogue, Project, User
from annotator.models.content import DialogueStatus
from annotator.models.keys import new_public_ids
from annotator.services.database.bulk_insert import allocate_ids, as_json, insert_rows
from reviews.models import Cycle, CycleState, ProtocolVersion, Review, Slot, StageRun

PORTION = 2_000
#: (stage, kind, blind, reviewers) of the c3 protocol before the random sample.
STAGES = (
    ("self_check_single", "self_check", False, 1),
    ("self_check_multi", "self_check", False, 1),
    ("cross_check", "cross_check", True, 2),
)


def verify_everything(slug: str) -> int:
    """End all current work and give each dialogue a cycle with four approvals. Return the number of dialogues."""
    project = Project.objects.get(slug=slug)
    version = ProtocolVersion.objects.filter(project=project).order_by("-number")[0]
    annotators = list(User.objects.filter(username__startswith="annotator").order_by("pk"))
    dialogues = Dialogue.objects.filter(project=project).order_by("pk").values_list("pk", "head_id")
    with transaction.atomic():
        now = timezone.now()
        Slot.objects.filter(project=project, state__in=["open", "claimed"]).update(state="cancelled", holder=None)
        Cycle.objects.filter(project=project, state=CycleState.ACTIVE).update(state=CycleState.SUPERSEDED, ended_at=now)
        rows = dialogues.iterator(chunk_size=PORTION)
        while portion := list(islice(rows, PORTION)):
            _write_cycles(project, version, portion, annotators)
        return Dialogue.objects.filter(project=project).update(status=DialogueStatus.VERIFIED, stage="")


def _write_cycles(
    project: Project, version: ProtocolVersion, portion: Sequence[tuple[int, int | None]], annotators: list[User]
) -> None:
    now = timezone.now()
    cycle_ids = allocate_ids(Cycle, len(portion))
    insert_rows(
        Cycle,
        ("id", "dialogue_id", "entry_revision_id", "exit_revision_id"),
        [(key, dialogue, head, head) for key, (dialogue, head) in zip(cycle_ids, portion, strict=True)],
        constants={
            "project_id": project.pk, "protocol_id": version.pk, "number": 1000, "state": "verified",
            "created_at": now, "ended_at": now,
        },
    )  # fmt: skip
    for place, (stage, kind, blind, reviewers) in enumerate(STAGES):
        run_ids = allocate_ids(StageRun, len(portion))
        insert_rows(
            StageRun,
            ("id", "cycle_id", "entry_revision_id", "exit_revision_id"),
            [
                (run, cycle, head, head)
                for run, cycle, (_, head) in zip(run_ids, cycle_ids, portion, strict=True)
            ],
            constants={
                "project_id": project.pk, "stage": stage, "blind": blind, "state": "settled", "outcome": "pass",
                "opened_at": now, "settled_at": now,
            },
        )  # fmt: skip
        slots = list(_slots(run_ids, cycle_ids, portion, annotators, place, reviewers))
        slot_ids = allocate_ids(Slot, len(slots))
        common = {"project_id": project.pk, "stage_kind": kind, "created_at": now}
        insert_rows(
            Slot,
            ("id", "public_id", "stage_run_id", "index", "cycle_id", "dialogue_id", "revision_id", "holder_id"),
            [
                (key, public_id, *fields)
                for key, public_id, fields in zip(slot_ids, new_public_ids(len(slots)), slots, strict=True)
            ],
            constants=common | {"protocol_id": version.pk, "stage": stage, "state": "done", "position": 0},
        )
        insert_rows(
            Review,
            ("public_id", "slot_id", "stage_run_id", "dialogue_id", "seen_revision_id", "person_id"),
            [
                (public_id, slot, run, dialogue, head, person)
                for public_id, slot, (run, _, _, dialogue, head, person) in zip(
                    new_public_ids(len(slots)), slot_ids, slots, strict=True
                )
            ],
            constants=common
            | {"verdict": "approve", "labels": as_json({}), "checklist": as_json({}), "checklist_notes": as_json({})},
        )


def _slots(
    runs: list[int],
    cycles: list[int],
    portion: Sequence[tuple[int, int | None]],
    annotators: list[User],
    place: int,
    reviewers: int,
) -> Iterator[tuple[Any, ...]]:
    """Yield slots as (run, index, cycle, dialogue, revision, holder). Authors do not cross-check their own work."""
    for run, cycle, (dialogue, head) in zip(runs, cycles, portion, strict=True):
        for index in range(reviewers):
            shift = 0 if place < 2 else 1 + index
            yield run, index, cycle, dialogue, head, annotators[(dialogue + shift) % len(annotators)].pk
