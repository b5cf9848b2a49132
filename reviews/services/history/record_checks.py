"""Checks that reviews, stages, cycles and dialogues match the history.

Each of these rows repeats values of an event: a verdict, an outcome, a state, the newest revision. Events are chained
and rows are not, so this finds rows that were changed or added in the database.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction

from annotator.core.schema import content_hash
from annotator.models import Dialogue, Event, Project, Revision
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.dialogues.revisions import lock_dialogues
from reviews.models import Cycle, CycleState, Draw, ProtocolVersion, Review, Slot, SlotState, StageRun, StageRunState
from reviews.services.transitions.moves import NOT_DRAWN

_ENDS = {f"cycle.{state}": state for state in ("verified", "rejected", "superseded", "withdrawn")}
_HEADS = ("dialogue.imported", "dialogue.revised_by_import", "stage.settled")
_KINDS = (*_HEADS, *_ENDS, "cycle.begun", "review.submitted", "review.taken_back")
#: State of the newest cycle → possible statuses of the dialogue. A superseded cycle is never the newest that
#: counts, and a withdrawn one does not count.
_POSSIBLE_STATUSES: dict[str, tuple[str, ...]] = {
    "": (DialogueStatus.CANDIDATE,),
    CycleState.ACTIVE: (DialogueStatus.IN_REVIEW, DialogueStatus.ESCALATED, DialogueStatus.POOLED),
    CycleState.VERIFIED: (DialogueStatus.VERIFIED,),
    CycleState.REJECTED: (DialogueStatus.REJECTED,),
    CycleState.SUPERSEDED: (),
    CycleState.WITHDRAWN: (),
}


@dataclass
class _Recorded:
    """What a dialogue's events recorded, each with the event's number."""

    #: Public id → person, stage, round, verdict, content.
    reviews: dict[str, tuple[int, tuple[Any, ...]]] = field(default_factory=dict)
    #: Cycle, stage and round → outcome, discrepancies, content.
    runs: dict[tuple[int, str, int], tuple[int, tuple[Any, ...]]] = field(default_factory=dict)
    #: Number → state, and content if it was verified.
    cycles: dict[int, tuple[int, tuple[Any, ...]]] = field(default_factory=dict)
    head: tuple[int, str] | None = None
    cycle: int = 0

    def read(self, number: int, kind: str, actor: int | None, after: dict[str, Any]) -> None:
        content = after.get("content_hash")
        if kind == "cycle.begun":
            self.cycle = after["cycle"]
            self.cycles[self.cycle] = (number, (CycleState.ACTIVE, None))
        elif kind in _ENDS:
            self.cycles[after["cycle"]] = (number, (_ENDS[kind], content))
            if kind == "cycle.withdrawn":
                self.cycle = after["back_to"]
                if after["reopened"]:
                    self.cycles[self.cycle] = (number, (CycleState.ACTIVE, None))
        elif kind == "review.submitted":
            self.reviews[after["review"]] = (number, (actor, after["stage"], after["round"], after["verdict"], content))
        elif kind == "review.taken_back":
            self.reviews.pop(after["review"], None)
        elif kind == "stage.settled":
            key = (self.cycle, after["stage"], after["round"])
            self.runs[key] = (number, (after["outcome"], after["discrepancies"], content))
        if kind in _HEADS and content:
            self.head = (number, content)


def record_problems(keys: Sequence[int]) -> Iterable[str]:
    """Return sentences about the rows of these dialogues that differ from the history."""
    if suspects := {key for key, _ in _differences(keys)}:
        # Somebody may have submitted between the queries above. What still differs under the dialogues' locks is wrong.
        with transaction.atomic():
            found = list(_differences(lock_dialogues(Dialogue.objects.filter(pk__in=suspects))))
        yield from (problem for _, problem in found)


def project_record_problems(project: Project) -> Iterator[str]:
    """Return sentences about protocols and draws that differ from the events of their adoption and drawing."""
    adopted: dict[int, str] = {}
    drawn: dict[str, dict[str, Any]] = {}
    events = Event.objects.filter(project=project, dialogue=None, kind__in=("protocol.adopted", "draw.closed"))
    for kind, after in events.order_by("pk").values_list("kind", "after"):
        if kind == "draw.closed":
            drawn[after["draw"]] = after
        elif "hash" in after:
            adopted[after["number"]] = after["hash"]
    versions = ProtocolVersion.objects.filter(project=project).order_by("number")
    for number, stored, text in versions.values_list("number", "content_hash", "definition"):
        if content_hash(text) != stored or adopted.get(number, stored) != stored:
            yield f"version {number} of the protocol differs from the adopted one"
    for draw in Draw.objects.filter(project=project).order_by("pk"):
        said = drawn.pop(draw.public_id, {})
        is_now = {
            "stage": draw.stage, "number": draw.number, "seed": draw.seed, "population_hash": draw.population_hash,
            "population": draw.population_size, "sample": draw.sample_size,
        }  # fmt: skip
        if any(said.get(key) != value for key, value in is_now.items()):
            yield f"draw {draw.number} of {draw.stage} differs from its record in the history"
    for said in drawn.values():
        yield f"draw {said['number']} of {said['stage']} is missing"


def _differences(keys: Sequence[int]) -> Iterator[tuple[int, str]]:
    # An import in progress has not written all its events yet.
    dialogues = Dialogue.objects.filter(pk__in=keys, published=True).order_by("pk")
    columns = ("pk", "external_id", "gold_role", "status", "content_hash", "head__content_hash")
    items = list(dialogues.values_list(*columns))
    recorded: dict[int, _Recorded] = defaultdict(_Recorded)
    events = Event.objects.filter(dialogue__in=keys, kind__in=_KINDS).order_by("dialogue_id", "number")
    for key, number, *event in events.values_list("dialogue_id", "number", "kind", "actor_id", "after").iterator(2000):
        recorded[key].read(number or 0, *event)
    contents: dict[int, set[str]] = defaultdict(set)
    for key, content in Revision.objects.filter(dialogue__in=keys).values_list("dialogue_id", "content_hash"):
        contents[key].add(content)
    reviews, runs, cycles = _reviews(keys), _runs(keys), _cycles(keys)
    unreviewed = Slot.objects.filter(dialogue__in=keys, state=SlotState.DONE, review=None)
    done: dict[int, list[str]] = defaultdict(list)
    for key, slot in unreviewed.order_by("pk").values_list("dialogue_id", "public_id"):
        done[key].append(slot)
    for key, name, gold_role, status, content, head in items:
        said = recorded[key]
        gold = gold_role == GoldRole.GOLD
        problems = [
            *_compare("review {}", said.reviews, reviews[key], contents[key], gold=gold),
            *_compare("stage {0[1]} in round {0[2]} of cycle {0[0]}", said.runs, runs[key], contents[key], gold=gold),
            *_compare("cycle {}", said.cycles, cycles[key], contents[key], gold=gold),
            *(f"item {slot} is done but has no review" for slot in done[key]),
        ]
        if not gold:
            problems += _status_problems(said, status, content, head, contents[key])
        for problem in problems:
            yield key, f"dialogue {name}: {problem}"


def _compare(
    name: str,
    recorded: dict[Any, tuple[int, tuple[Any, ...]]],
    rows: dict[Any, tuple[Any, ...]],
    contents: set[str],
    *,
    gold: bool,
) -> Iterator[str]:
    """Compare rows with events. ``gold``: its events are copied from another dialogue, and some have no row."""
    for key, (number, said) in recorded.items():
        row = rows.pop(key, None)
        if row is None:
            if not gold:
                yield f"{name.format(key)} is missing or unfinished; event {number} recorded it"
        elif said[:-1] != row[:-1] or (not gold and said[-1] != row[-1] and (said[-1] is None or said[-1] in contents)):
            # Content that no revision has is reported where revisions are compared.
            yield f"{name.format(key)} differs from event {number}"
    if not gold:
        yield from (f"{name.format(key)} has no event" for key in rows)


def _status_problems(said: _Recorded, status: str, content: str, head: str | None, contents: set[str]) -> Iterator[str]:
    number, (state, *_) = said.cycles.get(said.cycle, (0, ("",)))
    if status not in _POSSIBLE_STATUSES[state]:
        yield f"its status differs from event {number}" if number else "its status differs from its first one"
    if said.head is not None and head != said.head[1] and said.head[1] in contents:
        yield f"its newest revision differs from event {said.head[0]}"
    if content != head:
        yield "it is listed with the checksum of another revision"


def _reviews(keys: Sequence[int]) -> dict[int, dict[str, tuple[Any, ...]]]:
    out: dict[int, dict[str, tuple[Any, ...]]] = defaultdict(dict)
    columns = ("made_revision__content_hash", "seen_revision__content_hash", "slot__state", "slot__holder_id")
    reviews = Review.objects.filter(dialogue__in=keys).order_by("pk")
    for key, name, person, stage, round_, verdict, made, seen, state, holder in reviews.values_list(
        "dialogue_id", "public_id", "person_id", "slot__stage", "stage_run__round", "verdict", *columns
    ):
        # A done slot belongs to its reviewer.
        by = person if (state, holder) == (SlotState.DONE, person) else None
        out[key][name] = (by, stage, round_, verdict, made or seen)
    return out


def _runs(keys: Sequence[int]) -> dict[int, dict[tuple[int, str, int], tuple[Any, ...]]]:
    out: dict[int, dict[tuple[int, str, int], tuple[Any, ...]]] = defaultdict(dict)
    # A run that was not drawn has no event.
    runs = StageRun.objects.filter(cycle__dialogue__in=keys, state=StageRunState.SETTLED).exclude(outcome=NOT_DRAWN)
    for key, cycle, stage, round_, *row in runs.order_by("pk").values_list(
        "cycle__dialogue_id", "cycle__number", "stage", "round",
        "outcome", "discrepancy_count", "exit_revision__content_hash",
    ):  # fmt: skip
        out[key][cycle, stage, round_] = tuple(row)
    return out


def _cycles(keys: Sequence[int]) -> dict[int, dict[int, tuple[Any, ...]]]:
    out: dict[int, dict[int, tuple[Any, ...]]] = defaultdict(dict)
    cycles = Cycle.objects.filter(dialogue__in=keys).order_by("pk")
    for key, number, *row in cycles.values_list("dialogue_id", "number", "state", "exit_revision__content_hash"):
        out[key][number] = tuple(row)
    return out
