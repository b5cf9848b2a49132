"""A stored run for its page: round by round, the state of constraints and what is still allowed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from annotator.core.constraints.wording import named
from annotator.presentation.dialogue import pretty

#: Failures of code: the classes of the sandbox, and some of our own.
FAILURES = {
    "syntax_error": gettext_lazy("not valid Python"),
    "import_error": gettext_lazy("import not available"),
    "missing_function": gettext_lazy("function is missing"),
    "bad_return_type": gettext_lazy("returned a value that isn’t JSON"),
    "exception": gettext_lazy("raised an exception"),
    "timeout_cpu": gettext_lazy("exceeded the CPU time limit"),
    "timeout_wall": gettext_lazy("exceeded the time limit"),
    "memory": gettext_lazy("exceeded the memory limit"),
    "output_limit": gettext_lazy("returned too much data"),
    "forbidden": gettext_lazy("used a forbidden operation"),
    "crashed": gettext_lazy("crashed the interpreter"),
    "no_result": gettext_lazy("ended without a result"),
    "no_code": gettext_lazy("no code for this tool"),
    "no_arguments": gettext_lazy("arguments aren’t an object"),
    "not_tried": gettext_lazy("not tried"),
}
_CONSEQUENCES = {
    "ignored": gettext_lazy("Ignored, doesn’t run"),
    "rejected": gettext_lazy("Rejected, doesn’t run"),
    "disabled": gettext_lazy("The tool is disabled, so the call doesn’t run"),
    "failed": gettext_lazy("The call fails and doesn’t run"),
    "ended": gettext_lazy("The task has ended"),
}
_STANDINGS = {
    "satisfied": gettext_lazy("met"),
    "owed": gettext_lazy("pending"),
    "soft_satisfied": gettext_lazy("violated, then fixed"),
    "unsatisfied": gettext_lazy("violated"),
    "unjudged": gettext_lazy("not judged"),
}
_ENDINGS = {
    "answered": gettext_lazy("A final response was accepted."),
    "ended": gettext_lazy("All rounds were used. The task ended without an answer."),
    "open": gettext_lazy("The trajectory ends before a final response is accepted."),
}
_ANSWERS = {
    True: gettext_lazy("The accepted response contains the reference answer."),
    False: gettext_lazy("The accepted response doesn’t contain the reference answer word for word."),
}


@dataclass(frozen=True)
class CallView:
    """One call. ``why``: why it failed or was refused. ``ticked``: the expected result that it returned."""

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

    ``fresh``: its state changed in this round.
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
    #: The round (from 1) that returned it; 0 if none has yet.
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
    """The whole run. ``notes``: (round, sentence) for each failure and disagreement."""

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
    """Arrange a stored run for its page."""
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
        ending=str(_ENDINGS[record["ending"]]),
        answer=str(_ANSWERS.get(record["answer_held"], "")),
    )


def _state_of(status: str, owed: str) -> str:
    """Return the status to show: a constraint that is not fulfilled yet is pending, not kept."""
    return "owed" if owed and status == "satisfied" else status


def _title(one: Mapping[str, Any]) -> str:
    title = str(one["category"] or _("no category")).capitalize()
    return _("%(category)s (from the tools)") % {"category": title} if one["implied"] else title


def _call(call: Mapping[str, Any], unsolved: list[Mapping[str, Any]]) -> CallView:
    if call["came"] == "refused":
        why = str(_CONSEQUENCES.get(call["consequence"], _("Doesn’t run")))
    else:
        why = str(FAILURES.get(call["status"], "")) if call["came"] == "failed" else ""
    return CallView(call, why, "" if call["ticked"] is None else unsolved[call["ticked"]]["text"])


def _unsolved(record: Mapping[str, Any], number: int) -> list[ExpectedView]:
    """Return the unsolved set after round ``number``."""
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
    """Return what is still allowed, as sentences."""
    out = []
    if "rounds" in limits:
        count = limits["rounds"]
        out.append(ngettext("%(count)d round left.", "%(count)d rounds left.", count) % {"count": count})
    if "calls" in limits:
        count = limits["calls"]
        out.append(ngettext("%(count)d call left.", "%(count)d calls left.", count) % {"count": count})
    if "at_once" in limits:
        count = limits["at_once"]
        sentence = ngettext("At most %(count)d call in a round.", "At most %(count)d calls in a round.", count)
        out.append(sentence % {"count": count})
    if "kinds_at_once" in limits:
        count = limits["kinds_at_once"]
        sentence = ngettext(
            "At most %(count)d different tool in a round.", "At most %(count)d different tools in a round.", count
        )
        out.append(sentence % {"count": count})
    for tool, count in sorted(limits.get("per_tool", {}).items()):
        sentence = ngettext("%(tool)s: %(count)d call left.", "%(tool)s: %(count)d calls left.", count)
        out.append((sentence if count else _("%(tool)s is disabled.")) % {"tool": tool, "count": count})
    for tool, needed in sorted(limits.get("awaited", {}).items()):
        if needed:
            out.append(_("%(tool)s waits for %(tools)s.") % {"tool": tool, "tools": named(needed)})
    for tool, groups in sorted(limits.get("together", {}).items()):
        if groups:
            choice = _("; or ").join(named(group) for group in groups)
            out.append(_("%(tool)s only together with: %(tools)s.") % {"tool": tool, "tools": choice})
    return out


def _notes(record: Mapping[str, Any]) -> list[tuple[int, str]]:
    notes: list[tuple[int, str]] = []
    for number, each in enumerate(record["rounds"], 1):
        for call in each["calls"]:
            name = call["name"]
            if call["came"] == "failed":
                why = FAILURES.get(call["status"], call["status"])
                notes.append((number, _("the call to %(tool)s failed: %(why)s.") % {"tool": name, "why": why}))
            elif call["differs"] and call["came"] == "refused":
                sentence = _("the trajectory has an observation from %(tool)s, but the call was refused.")
                notes.append((number, sentence % {"tool": name}))
            elif call["differs"]:
                sentence = _("the result of %(tool)s differs from the trajectory.")
                notes.append((number, sentence % {"tool": name}))
        if each["over"]:
            notes.append((number, _("didn’t run because the task had already ended.")))
    return notes
