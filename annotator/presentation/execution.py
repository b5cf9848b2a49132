"""The execution of a single task for pages: each call with what it came to, and what it changed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.comparison.state_changes import state_changes
from annotator.core.execution.call_text import write_call
from annotator.core.execution.dependencies import Dependencies, values_without_source
from annotator.core.execution.mends import Mend
from annotator.core.execution.running import Execution, Outcome, is_error_result
from annotator.core.sandbox.results import Status
from annotator.core.schema.value_words import cut
from annotator.presentation.dialogue import pretty

#: Changes of a state that are listed for one call, and characters of each value.
MAX_CHANGES = 50
_SHOWN = 300


@dataclass(frozen=True)
class ChangeView:
    """One place of a state that a call changed; a text is blank if there is nothing on that side."""

    place: str
    before: str
    after: str


@dataclass(frozen=True)
class RunStep:
    """One call with its outcome. ``tone`` is that of its badge."""

    number: int
    id: str
    call: str
    status: str
    tone: str
    response: str
    message: str
    changes: Sequence[ChangeView]
    more_changes: int
    state: str
    state_changed: bool
    hidden_changed: bool
    #: Numbers of calls.
    needs: Sequence[int]
    value_from: Sequence[int]
    #: Values without a source, as text.
    without_source: Sequence[str]


@dataclass(frozen=True)
class RunView:
    """A run of a trajectory. ``differs`` is the number of the first call that differs between two runs; 0: loading."""

    steps: Sequence[RunStep]
    initial_state: str
    final_sha256: str
    state_error: str
    differs: int | None
    explained: bool
    mends: Sequence[Mend] = ()

    @property
    def failed(self) -> bool:
        """Whether a call did not return, or returned an error."""
        return any(step.tone == "bad" for step in self.steps)


_TONES = {Status.OK: "good", Status.NOT_RUN: "neutral"}


def present_execution(
    document: Mapping[str, Any], execution: Execution, dependencies: Dependencies | None, mends: Sequence[Mend] = ()
) -> RunView:
    """Arrange an execution of a single task for a page."""
    steps, before = [], execution.initial_state
    question = document["tasks"][0]["user_message"]
    for index, (step, outcome) in enumerate(zip(document["tasks"][0]["steps"], execution.outcomes, strict=True)):
        known = outcome.state_changed and outcome.state_sha256 is not None
        changes, more = changes_between(before, outcome.state) if known else ([], 0)
        before = outcome.state
        status, tone = status_of(outcome)
        steps.append(
            RunStep(
                number=index + 1,
                id=step["id"],
                call=write_call(outcome.name, outcome.arguments),
                status=status,
                tone=tone,
                response=outcome.response if outcome.status is not Status.NOT_RUN else "",
                message=outcome.message,
                changes=changes,
                more_changes=more,
                state=pretty(outcome.state) if outcome.state_sha256 else "",
                state_changed=outcome.state_changed,
                hidden_changed=outcome.hidden_changed,
                needs=[one + 1 for one in dependencies.needs[index]] if dependencies else (),
                value_from=[one + 1 for one in dependencies.value_from[index]] if dependencies else (),
                without_source=[
                    _shown(value)
                    for value in values_without_source(execution, index, question, document["initial_state"])
                ],
            )
        )
    return RunView(
        steps=steps,
        initial_state=pretty(execution.initial_state) if execution.initial_sha256 else "",
        final_sha256=execution.final_sha256 or "",
        state_error=execution.state_error,
        differs=None if execution.differs is None else execution.differs + 1,
        explained=dependencies is not None,
        mends=mends,
    )


def status_of(outcome: Outcome) -> tuple[str, str]:
    """Return what a call came to in words, and the tone of its badge."""
    words = {
        Status.OK: _("Returned"),
        Status.EXCEPTION: _("Exception"),
        Status.NOT_RUN: _("Not run"),
        Status.UNKNOWN_FUNCTION: _("Unknown function"),
        Status.BAD_ARGUMENTS: _("Wrong arguments"),
        Status.RESULT_NOT_JSON: _("Result is not JSON"),
        Status.LOAD_FAILED: _("The tool did not load"),
    }
    if outcome.status is Status.OK and is_error_result(outcome.result):
        return _("Error result"), "bad"
    return str(words.get(outcome.status, outcome.status.words)), _TONES.get(outcome.status, "bad")


def changes_between(before: Any, after: Any) -> tuple[list[ChangeView], int]:
    """Return the first changes of a state, and how many more there are."""
    found = list(state_changes(before, after))
    views = [
        ChangeView(
            one.pointer or "/",
            "" if one.kind == "added" else _shown(one.before),
            "" if one.kind == "removed" else _shown(one.after),
        )
        for one in found[:MAX_CHANGES]
    ]
    return views, max(0, len(found) - MAX_CHANGES)


def _shown(value: Any) -> str:
    """Return a value on one line, cut; an empty text is visible."""
    return cut(value if isinstance(value, str) and value else json.dumps(value, ensure_ascii=False), _SHOWN)
