"""A stored run as its page shows it: round by round, what stands how and what is still allowed, in words. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from annotator.core.constraints.wording import named
from annotator.core.wording import counted
from annotator.presentation.dialogue import pretty

#: How a failure of code is called; the classes are those of the sandbox, and three of our own.
FAILURES = {
    "syntax_error": "not valid Python",
    "import_error": "imports what is not there",
    "missing_function": "the function is missing",
    "bad_return_type": "returned what JSON cannot hold",
    "exception": "raised an exception",
    "timeout_cpu": "computed too long",
    "timeout_wall": "did not end in time",
    "memory": "took too much memory",
    "output_limit": "returned too much",
    "forbidden": "tried what is forbidden",
    "crashed": "crashed its interpreter",
    "no_result": "ended without an answer",
    "no_code": "no code for this tool",
    "no_arguments": "the arguments are no object",
    "not_tried": "not tried",
}
_CONSEQUENCES = {
    "ignored": "Ignored: it does not run",
    "rejected": "Rejected: it does not run",
    "disabled": "The tool is disabled: it does not run",
    "failed": "The call fails: it does not run",
    "ended": "The task has ended",
}
_STANDINGS = {
    "satisfied": "kept",
    "owed": "still owed",
    "soft_satisfied": "broken, then repaired",
    "unsatisfied": "broken",
    "unjudged": "not judged",
}
_ENDINGS = {
    "answered": "A final response was accepted.",
    "ended": "The rounds were used up; the task ended without an answer.",
    "open": "The trajectory stops before a final response is accepted.",
}
_ANSWERS = {
    True: "The accepted response holds the reference answer.",
    False: "The accepted response does not hold the reference answer word for word.",
}


@dataclass(frozen=True)
class CallView:
    """One call. ``outcome`` is a word with a sign of its own (``came`` of the labels), ``why`` more about it."""

    data: Mapping[str, Any]
    why: str
    ticked: str

    @property
    def arguments_text(self) -> str:
        arguments = self.data["arguments"]
        return arguments if isinstance(arguments, str) else pretty(arguments)


@dataclass(frozen=True)
class ConstraintStateView:
    """A constraint after a round, or at the end (then with why it could not be judged).

    ``fresh``: this round broke or repaired it.
    """

    number: int
    title: str
    status: str
    why: str
    fresh: bool = False

    @property
    def words(self) -> str:
        return f"{self.number}. {self.title}: {_STANDINGS[self.status]}"


@dataclass(frozen=True)
class ExpectedView:
    tool: str
    text: str
    #: The round (from 1) that brought it; 0 where it has not come yet.
    round: int
    fresh: bool


@dataclass(frozen=True)
class RoundView:
    number: int
    data: Mapping[str, Any]
    calls: list[CallView]
    constraint_states: list[ConstraintStateView]
    allowed: list[str]
    unsolved: list[ExpectedView]

    @property
    def found(self) -> int:
        return sum(1 for one in self.unsolved if one.round)


@dataclass(frozen=True)
class RunView:
    """The whole run. ``notes`` are what a person should look at, each with its round: failures, and disagreements."""

    data: Mapping[str, Any]
    constraints: list[ConstraintStateView]
    rounds: list[RoundView]
    unsolved: list[ExpectedView]
    notes: list[tuple[int, str]]
    ending: str
    answer: str

    @property
    def found(self) -> int:
        return sum(1 for one in self.unsolved if one.round)


def present_run(record: Mapping[str, Any]) -> RunView:
    """Lay a stored run out."""
    titles = [_title(one) for one in record["constraints"]]
    constraint_states: dict[int, tuple[str, str]] = {}
    rounds = []
    for number, each in enumerate(record["rounds"], 1):
        constraint_states |= {int(key): (status, owed) for key, (status, owed) in each["constraint_states"].items()}
        rounds.append(
            RoundView(
                number=number,
                data=each,
                calls=[_call(call, record["unsolved"]) for call in each["calls"]],
                constraint_states=[
                    ConstraintStateView(n + 1, titles[n], _state_of(status, owed), owed, n in each["fresh"])
                    for n, (status, owed) in sorted(
                        constraint_states.items(), key=lambda one: (one[0] not in each["fresh"], one[0])
                    )
                ],
                allowed=[] if each["over"] else _allowed(each["limits"]),
                unsolved=_unsolved(record, number),
            )
        )
    return RunView(
        data=record,
        constraints=[
            ConstraintStateView(n + 1, titles[n], one["status"], one["why_unjudged"])
            for n, one in enumerate(record["constraints"])
        ],
        rounds=rounds,
        unsolved=_unsolved(record, len(rounds)),
        notes=_notes(record),
        ending=_ENDINGS[record["ending"]],
        answer=_ANSWERS.get(record["answer_held"], ""),
    )


def _state_of(status: str, owed: str) -> str:
    """What has not been broken, and is not there yet, is no rule kept."""
    return "owed" if owed and status == "satisfied" else status


def _title(one: Mapping[str, Any]) -> str:
    title = str(one["category"] or "without a category").capitalize()
    return f"{title} (by the tools)" if one["implied"] else title


def _call(call: Mapping[str, Any], unsolved: list[Mapping[str, Any]]) -> CallView:
    if call["came"] == "refused":
        why = _CONSEQUENCES.get(call["consequence"], "It does not run")
    else:
        why = FAILURES.get(call["status"], "") if call["came"] == "failed" else ""
    return CallView(call, why, "" if call["ticked"] is None else unsolved[call["ticked"]]["text"])


def _unsolved(record: Mapping[str, Any], number: int) -> list[ExpectedView]:
    """The unsolved set after round ``number``."""
    return [
        ExpectedView(
            one["tool"],
            one["text"],
            one["round"] + 1 if one["round"] is not None and one["round"] < number else 0,
            one["round"] == number - 1,
        )
        for one in record["unsolved"]
    ]


def _allowed(limits: Mapping[str, Any]) -> list[str]:
    """What is still allowed, as sentences."""
    out = [
        f"{counted(limits[key], noun).capitalize()} left."
        for key, noun in (("rounds", "round"), ("calls", "call"))
        if key in limits
    ]
    if "at_once" in limits:
        out.append(f"At most {counted(limits['at_once'], 'call')} at once.")
    if "kinds_at_once" in limits:
        out.append(f"At most {counted(limits['kinds_at_once'], 'different tool')} at once.")
    for tool, left in sorted(limits.get("per_tool", {}).items()):
        out.append(f"{tool}: {counted(left, 'call')} left." if left else f"{tool} is disabled.")
    for tool, needed in sorted(limits.get("awaited", {}).items()):
        if needed:
            out.append(f"{tool} waits for {named(needed)}.")
    for tool, groups in sorted(limits.get("together", {}).items()):
        if groups:
            out.append(f"{tool} only together: {'; or '.join(named(group) for group in groups)}.")
    return out


def _notes(record: Mapping[str, Any]) -> list[tuple[int, str]]:
    notes: list[tuple[int, str]] = []
    for number, each in enumerate(record["rounds"], 1):
        for call in each["calls"]:
            name = call["name"]
            if call["came"] == "failed":
                notes.append((number, f"the call of {name} failed, {FAILURES.get(call['status'], call['status'])}."))
            elif call["differs"] and call["came"] == "refused":
                notes.append((number, f"an observation of {name} is recorded, but the call is refused."))
            elif call["differs"]:
                notes.append((number, f"the code of {name} returns something else than the trajectory records."))
        if each["over"]:
            notes.append((number, "it does not take place, because the task had ended."))
    return notes
