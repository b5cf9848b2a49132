"""Reviews by the demo's people: claim, work for a while, submit. Calls the services that pages call."""

import random
from dataclasses import dataclass, field
from datetime import date
from typing import Any
from zoneinfo import ZoneInfo

from annotator.models import Dialogue, Project, User
from benchmark.core.formats import FORMATS
from benchmark.demo.clock import Clock
from reviews.models import Claim, Slot, SlotState
from reviews.services.queue import claims
from reviews.services.submission.submit import submit_review
from reviews.services.submission.waivers import waive_all

#: Dialogue → the error type to tag when somebody fixes it.
ERROR_TYPES = {
    "gaotie-chuxing-02": "answer_wrong",
    "hotel-desk-03": "wrong_argument_value",
    "clinic-desk-03": "wrong_policy_label",
    "library-counter-03": "message_unnatural",
    "warehouse-stock-03": "superfluous_dependency",
    "home-energy-03": "observation_implausible",
    "city-events-03": "wrong_policy_label",
    "personal-finance-03": "wrong_argument_value",
    "code-repository-03": "wrong_information_label",
    "rail-travel-04": "missing_dependency",
    "hotel-desk-04": "wrong_argument_value",
    "clinic-desk-04": "answer_wrong",
    "library-counter-04": "other",
    "personal-finance-04": "wrong_policy_label",
    "night-sky-01": "wrong_argument_value",
    "rail-travel-01": "wrong_information_label",
    "rail-travel-03": "superfluous_call",
    "clinic-desk-01": "wrong_argument_value",
    "library-counter-01": "superfluous_dependency",
    "warehouse-stock-01": "clarification_wrong",
    "home-energy-01": "wrong_information_label",
    "home-energy-02": "message_unnatural",
    "personal-finance-01": "clarification_wrong",
    "city-events-02": "clarification_wrong",
}

SINGLE, MULTI, CROSS, EXPERT = "self_check_single", "self_check_multi", "cross_check", "expert"
#: Usual minutes to review a dialogue with two tasks.
MINUTES = {SINGLE: 11.0, MULTI: 6.0, CROSS: 7.0, EXPERT: 5.0}
#: Seconds between heartbeats, so that a claim does not expire.
_HEARTBEAT_SECONDS = 240


@dataclass
class Scenario:
    """The demo's project, clock, people and records. Annotators take turns, so that everybody has work to show."""

    project: Project
    clock: Clock
    days: list[date]
    administrator: User
    seniors: list[User]
    annotators: list[User]
    corrections: dict[str, dict[str, Any]]
    disagreements: dict[str, dict[str, Any]]
    #: The imported candidates.
    records: dict[str, dict[str, Any]]
    turn: int = field(default=0)
    #: For durations. Seeded, so that the demo is always the same.
    rng: random.Random = field(default_factory=lambda: random.Random(11))  # noqa: S311 - no secret

    def next_annotators(self, count: int) -> list[User]:
        """Return the next annotators in turn, all different."""
        self.turn += 1
        return [self.annotators[(self.turn + k) % len(self.annotators)] for k in range(count)]

    def begin_day(self, number: int, hour: int = 9) -> None:
        """Move the clock to the morning of a working day, unless that is in the past."""
        self.clock.move_to(self.days[number], hour, ZoneInfo(self.project.time_zone))


def review(
    scenario: Scenario,
    person: User,
    dialogue: Dialogue,
    stage: str,
    verdict: str,
    *,
    record: dict[str, Any] | None = None,
    document: dict[str, Any] | None = None,
    reason: str = "",
    rulings: dict[str, Any] | None = None,
) -> None:
    """Claim the dialogue's slot in a stage and submit a review, as ``submit`` does."""
    claim = claims.claim_slot(actor=person, slot=open_slot(dialogue, stage))
    submit(scenario, claim, verdict, record=record, document=document, reason=reason, rulings=rulings)


def submit(
    scenario: Scenario,
    claim: Claim,
    verdict: str,
    *,
    record: dict[str, Any] | None = None,
    document: dict[str, Any] | None = None,
    named_errors: list[dict[str, Any]] | None = None,
    reason: str = "",
    rulings: dict[str, Any] | None = None,
) -> None:
    """Work on a claimed slot for a while and submit a review.

    A fix is given as a ``record`` or as its ``document``. Without ``named_errors``, tag the dialogue's error type, if
    the verdict needs one.
    """
    _work(scenario, claim)
    person, slot = claim.person, claim.slot
    if record is not None:
        document = document_of(record)
    if named_errors is None:
        names_an_error = verdict == "fix" or (verdict == "reject" and not rulings)
        kind = ERROR_TYPES.get(slot.dialogue.external_id) if names_an_error else None
        named_errors = [{"kind": kind, "anchor": "", "note": ""}] if kind else []
    if verdict in ("approve", "fix"):
        waive_all(actor=person, slot=slot, reason="Checked: correct in this dialogue.", document=document)
    submit_review(
        actor=person,
        slot=slot,
        token=claim.token,
        verdict=verdict,
        document=document,
        named_errors=named_errors,
        reason=reason,
        rulings=rulings or {},
    )
    # The break before the next item.
    scenario.clock.advance(scenario.rng.uniform(20, 200))


def _work(scenario: Scenario, claim: Claim) -> None:
    tasks = len(claim.slot.revision.document()["tasks"])
    seconds = 60 * MINUTES[claim.slot.stage] * (0.5 + tasks / 4) * scenario.rng.lognormvariate(0, 0.35)
    while seconds > 0:
        beat = min(seconds, _HEARTBEAT_SECONDS)
        scenario.clock.advance(beat)
        # People are not active all the time.
        claims.heartbeat(actor=claim.person, token=claim.token, active_seconds=int(beat * scenario.rng.uniform(0.8, 1)))
        seconds -= beat


def open_slot(dialogue: Dialogue, stage: str) -> Slot:
    return Slot.objects.filter(dialogue=dialogue, stage=stage, state=SlotState.OPEN).order_by("index")[0]


def document_of(record: dict[str, Any]) -> dict[str, Any]:
    return FORMATS["wild"].read(record)[0].document
