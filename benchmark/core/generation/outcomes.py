"""What became of the answers of each role, for counting: candidates chosen or rejected, plans accepted or refused."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from benchmark.core.generation.problems import Problem
from benchmark.core.generation.purposes import ROLE_OF, Purpose, Role
from benchmark.core.generation.state import Stage
from benchmark.core.generation.tracing import Traced


class Outcome(StrEnum):
    #: Of a candidate.
    CHOSEN = "chosen"
    EDITED = "edited"
    PASSED_OVER = "passed_over"
    REJECTED = "rejected"
    #: Of any other answer.
    ACCEPTED = "accepted"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Judged:
    """An answer and what became of it. ``model``: blank if a person wrote it. ``tries``: the answers to the same
    request up to this one. ``reason``: of a rejection; ``code``: of the problem with a refused answer.
    """

    purpose: Purpose
    task: int
    outcome: Outcome
    model: str = ""
    relation: str = ""
    tries: int = 1
    reason: str = ""
    code: str = ""

    @property
    def role(self) -> Role:
        return ROLE_OF[self.purpose]


def outcomes_of(one: Traced) -> Iterator[Judged]:
    """Yield what an event decided about answers."""
    purpose = one.purpose
    if one.decides:
        yield from _candidates(one)
    elif purpose is Purpose.ACTIONS:
        # A plan is accepted by the checker's verdict, or as a person wrote it.
        if one.problems:
            yield _answer(one, purpose, one.event["source"], one.problems)
        elif one.after.stage is not Stage.JUDGE:
            yield _answer(one, purpose, one.event["source"], [])
    elif purpose is Purpose.VERDICT:
        yield _answer(one, purpose, one.event["source"], [] if one.contradicts else one.problems)
        if one.contradicts or not one.problems:
            yield _answer(one, Purpose.ACTIONS, (one.before.actions or {})["source"], one.problems)
    elif purpose in (Purpose.FIRST_TASK, Purpose.FOLLOW_UP):
        # Candidates that can be used are counted when they are decided about.
        if one.problems or one.event["source"]["by"] == "person":
            yield _answer(one, purpose, one.event["source"], one.problems)
    elif purpose is not None and one.event["source"]["by"] != "program":
        yield _answer(one, purpose, one.event["source"], one.problems)


def _answer(one: Traced, purpose: Purpose, source: dict[str, Any], problems: list[Problem]) -> Judged:
    stage = Stage.PLAN if purpose is Purpose.ACTIONS else one.before.stage
    return Judged(
        purpose, one.task, Outcome.REFUSED if problems else Outcome.ACCEPTED, source.get("model", ""),
        tries=int(one.before.refusals.get(stage, {}).get("count", 0)) + 1, code=problems[0].code if problems else "",
    )  # fmt: skip


def _candidates(one: Traced) -> Iterator[Judged]:
    event, task = one.event, one.task
    purpose = Purpose.FOLLOW_UP if task else Purpose.FIRST_TASK
    relations = one.before.setup.relations[task]
    for candidate in one.before.candidates:
        outcome = _outcome(event, candidate)
        yield Judged(
            purpose, task, outcome, candidate["source"].get("model", ""), candidate["relation"] or relations[0],
            reason=event["reason"] if outcome is Outcome.REJECTED else "",
        )  # fmt: skip
    if event["kind"] == "answer":
        yield Judged(purpose, task, Outcome.ACCEPTED, relation=relations[0])


def _outcome(event: Any, candidate: dict[str, Any]) -> Outcome:
    if event["kind"] == "reject":
        return Outcome.REJECTED
    if event["kind"] != "choose" or event["candidate"] != candidate["id"]:
        return Outcome.PASSED_OVER
    edited = event["text"].strip() not in ("", candidate["text"].strip())
    return Outcome.EDITED if edited else Outcome.CHOSEN
