"""What each event of a generation led to: who acted, whether it was accepted, and what was wrong with it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.checks import CheckSettings
from benchmark.core.generation.pipeline import begin, replay
from benchmark.core.generation.problems import Problem
from benchmark.core.generation.purposes import ROLE_OF, Purpose, Role
from benchmark.core.generation.state import Setup, Stage, State
from benchmark.core.generation.turns import purpose_of

_DEFAULT = CheckSettings()


@dataclass(frozen=True, slots=True)
class Traced:
    """An event with the states around it. ``number``: the events before it. ``purpose``: None for a decision."""

    number: int
    event: Mapping[str, Any]
    before: State
    after: State

    @property
    def purpose(self) -> Purpose | None:
        return purpose_of(self.before) if self.event["kind"] == "answer" and not self.decides else None

    @property
    def decides(self) -> bool:
        """Whether it decided about candidates. Written instead of them, a request is such a decision, too."""
        return self.before.stage is Stage.CHOOSE

    @property
    def role(self) -> Role:
        return ROLE_OF[self.purpose] if self.purpose else Role.USER

    @property
    def task(self) -> int:
        """The number of the task, from 0."""
        return self.before.task

    @property
    def problems(self) -> list[Problem]:
        """Why an answer was not accepted; empty if it was."""
        return self.after.problems if self._refused else []

    @property
    def contradicts(self) -> bool:
        """Whether a checker's answer was usable, and refused the plan."""
        return self.before.stage is Stage.JUDGE and self.after.stage is Stage.PLAN

    @property
    def _refused(self) -> bool:
        if self.event["kind"] != "answer" or self.decides:
            return False
        return self.contradicts or (self.after.stage is self.before.stage and self.after.tried > self.before.tried)


def trace(setup: Setup, events: Iterable[Mapping[str, Any]], settings: CheckSettings = _DEFAULT) -> Iterator[Traced]:
    """Yield what happened, event by event."""
    before = begin(setup)
    for number, event in enumerate(events):
        after = replay(setup, [event], settings, before)
        yield Traced(number, event, before, after)
        before = after


def latest_plan(traced: Iterable[Traced]) -> Traced | None:
    """Return the planner's latest answer, as long as nothing but verdicts and retries came after it; else None."""
    found = None
    for one in traced:
        if one.purpose is Purpose.ACTIONS:
            found = one
        elif one.purpose is not Purpose.VERDICT and one.event["kind"] != "retry":
            found = None
    return found
