"""A played dialogue for its page: a timeline of calls and results, and the rounds one by one."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.composites.messages import MessageKind
from annotator.core.sandbox.results import Status

#: Pixels of the timeline: a round, a task, the names of tasks, the numbers of rounds.
ROUND, TASK, NAMES, HEAD = 34, 44, 170, 26
#: Characters of a task's name in the timeline.
_NAME = 22


@dataclass(frozen=True)
class Mark:
    """A call in the timeline: from its round to the one whose reply brought the result."""

    number: int
    x: int
    y: int
    end: int
    #: Whether the result did not come before the end.
    open: bool
    failed: bool
    label: str


@dataclass(frozen=True)
class Lane:
    """A task in the timeline."""

    name: str
    y: int
    marks: list[Mark]


@dataclass(frozen=True)
class Timeline:
    """Calls and results of several tasks over the rounds."""

    width: int
    height: int
    ticks: list[tuple[int, int]]
    lanes: list[Lane]


@dataclass(frozen=True)
class RoundView:
    """One message of the model with the reply; ``call`` is the call that it made."""

    number: int
    kind: str
    tone: str
    text: str
    reply: list[Mapping[str, str]]
    call: Mapping[str, Any] | None
    #: Calls whose results did not come yet, as text.
    pending: list[str]
    errors: list[str]


@dataclass(frozen=True)
class PlayView:
    """A played dialogue."""

    timeline: Timeline
    rounds: list[RoundView]
    #: Task, whether it is solved, the reasons why not, its score, and its state before the first call as JSON.
    tasks: list[tuple[str, bool, list[str], Mapping[str, Any], str]]
    solved: bool
    ending: str


def present_play(data: Mapping[str, Any]) -> PlayView:
    """Arrange a play (see ``describe_play``) for its page."""
    calls, score = data["calls"], data["score"]
    errors = _by_place(score["errors"])
    of_round: dict[int, list[str]] = defaultdict(list)
    for (number, _task), words in errors.items():
        of_round[number] += words
    return PlayView(
        timeline=draw_timeline(data["tasks"], calls, len(data["rounds"]), score["errors"]),
        rounds=[_round(one, calls, of_round[one["number"]]) for one in data["rounds"]],
        tasks=[
            (task, found["acc"], _reasons(task, score), found, data["initial_states"].get(task, ""))
            for task in data["tasks"]
            for found in (score["sub_tasks"][task],)
        ],
        solved=score["task"]["overall"],
        ending=_ending(data["ended"]),
    )


def draw_timeline(
    tasks: Sequence[str], calls: Sequence[Mapping[str, Any]], last: int, errors: Sequence[Mapping[str, Any]]
) -> Timeline:
    """Draw calls (number, round, shown, task, call, status) up to round ``last``. ``errors``: kind, task and round."""
    places, lanes = _by_place(errors), []
    for index, task in enumerate(tasks):
        y = HEAD + index * TASK + TASK // 2
        marks = [_mark(call, y, last, places) for call in calls if call["task"] == task]
        lanes.append(Lane(task if len(task) <= _NAME else task[: _NAME - 1] + "…", y, marks))
    return Timeline(
        width=NAMES + (last + 1) * ROUND,
        height=HEAD + len(tasks) * TASK + 4,
        ticks=[(number, _x(number)) for number in range(1, last + 1)],
        lanes=lanes,
    )


def _by_place(errors: Sequence[Mapping[str, Any]]) -> dict[tuple[int, str], list[str]]:
    found: dict[tuple[int, str], list[str]] = defaultdict(list)
    for error in errors:
        found[error["round"], error["task"] or ""].append(error_words(error["kind"]))
    return found


def _x(number: int) -> int:
    return NAMES + (number - 1) * ROUND + ROUND // 2


def _mark(call: Mapping[str, Any], y: int, last: int, errors: Mapping[tuple[int, str], list[str]]) -> Mark:
    shown = call["shown"]
    if shown is None:
        outcome = _("no result before the end")
    elif shown == call["round"]:
        outcome = _("result at once")
    else:
        outcome = _("result in round %(round)s") % {"round": shown}
    wrong = errors.get((call["round"], call["task"]), ())
    label = _("Round %(round)s: %(call)s, %(outcome)s") % {
        "round": call["round"],
        "call": call["call"][:120],
        "outcome": outcome,
    }
    return Mark(
        number=call["number"] + 1,
        x=_x(call["round"]),
        y=y,
        end=_x(last if shown is None else shown),
        open=shown is None,
        failed=bool(wrong) or call["status"] != Status.OK,
        label=" ".join([label, *wrong]),
    )


def _round(one: Mapping[str, Any], calls: list[Mapping[str, Any]], errors: list[str]) -> RoundView:
    kinds = {
        MessageKind.CALL: (_("Call"), "neutral"),
        MessageKind.PASS: (_("Waits"), "neutral"),
        MessageKind.COMPLETED: (_("Completed"), "good"),
        MessageKind.FORMAT: (_("Wrong format"), "bad"),
    }
    kind, tone = kinds[MessageKind(one["kind"])]
    return RoundView(
        number=one["number"],
        kind=kind,
        tone=tone,
        text=one["text"],
        reply=one["reply"],
        call=None if one["call"] is None else calls[one["call"]],
        pending=[f"{calls[number]['task']}: {calls[number]['call'][:80]}" for number in one["pending"]],
        errors=errors,
    )


def _reasons(task: str, score: Mapping[str, Any]) -> list[str]:
    """Return why a task is not solved, and what else is wrong with it."""
    found = score["sub_tasks"][task]
    reasons = [error_words(error["kind"]) for error in score["errors"] if error["task"] == task]
    if not found["char"]:
        reasons.append(
            _("%(matched)s of %(gold)s gold calls were made.") % {"matched": found["matched"], "gold": found["gold"]}
        )
    if not found["env"]:
        reasons.append(_("The final state differs from that of the gold calls."))
    return list(dict.fromkeys(reasons))


def _ending(ended: str) -> str:
    if ended == "completed":
        return _("The model said that all tasks are completed.")
    if ended == "ceiling":
        return _("The dialogue ended because it has no more rounds.")
    return _("The messages ended before the dialogue did.")


def error_words(kind: str) -> str:
    """Return why something counts as an error."""
    words = {
        "format": _("The message is not one JSON object of the agreed form, so nothing was run."),
        "unknown_task": _("The message names a task that the dialogue does not have."),
        "ceiling": _("The rounds ran out."),
        "tool_confusion": _("The function belongs to another task."),
        "unknown_function": _("No task has this function."),
        "premature": _(
            "The call was made before the result of an earlier call of its task had come, and its arguments are wrong."
        ),
        "parameter": _("The function is right, but an argument is wrong."),
        "repeated": _("The same call was made before."),
        "extra_write": _("The call is not needed, and it changes the state."),
        "extra_read": _("The call is not needed; it changes nothing."),
        "neglected": _("No call was made for this task."),
        "unfinished": _("Gold calls are missing."),
        "order": _("All gold calls were made, but not in their order."),
    }
    return words.get(kind, kind)
