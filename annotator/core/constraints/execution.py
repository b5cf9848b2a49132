"""Run a trajectory through the tools' code: what each round returns, with constraints and the unsolved set.

The code itself runs elsewhere (``Runner``); this module draws the conclusions. Validators judge every final response
first. Then the step checker decides which calls run. A call that a constraint refuses does not run: the model gets the
feedback instead. Tools keep no state between calls: like the published code, this loads a tool's source again for each
call.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any, Protocol

from annotator.core.constraints.model import Constraint
from annotator.core.constraints.reading_case import constraints_of
from annotator.core.constraints.replay import Broken, ConstraintState, Ending, Replay, Status, Turn, Validator, replay
from annotator.core.constraints.rounds import Call, Consequence, Round
from annotator.core.constraints.solving import UnsolvedSet, text_of, yields
from annotator.core.constraints.taxonomy import constraint_problems, find_category
from annotator.core.constraints.toolset import toolset_constraints
from annotator.core.schema.canonical import canonical, without_kinds
from annotator.core.schema.toolsets import CompiledToolset

#: Characters kept of one text: arguments, result, response.
MAX_LENGTH = 2_000
#: Characters kept of one expected text.
_MAX_EXPECTED_LENGTH = 500


@dataclass(frozen=True, slots=True)
class Returned:
    """The result of running code. ``status`` is “ok” or a word for how it failed, ``message`` an explanation."""

    status: str
    value: Any = None
    message: str = ""

    @property
    def ok(self) -> bool:
        return self.status == "ok"


def clipped(text: str, longest: int = MAX_LENGTH) -> str:
    """Return a text; if it is too long, its beginning and its length."""
    return text if len(text) <= longest else f"{text[:longest]}… ({len(text):,} characters in total)"


class Runner(Protocol):
    """Runs a case's code."""

    def call_tool(self, name: str, arguments: Mapping[str, Any]) -> Returned:
        """Run one call of a tool; ``no_code`` if the case has none for it."""
        ...

    def judge(self, position: int, responses: Sequence[str]) -> Sequence[Returned]:
        """Return the verdicts of a constraint's validator: ``value`` is whether it accepts, ``message`` its message."""
        ...


class Came(StrEnum):
    """Where the result of a call comes from."""

    RAN = "ran"
    #: Its code failed, or could not be run.
    FAILED = "failed"
    #: A constraint, or missing code, prevents it from running.
    REFUSED = "refused"
    #: The round does not take place.
    OVER = "over"


@dataclass(slots=True)
class CallRun:
    """One call. ``received`` is what the model gets; ``status`` is how the code ended, blank if it did not run.

    ``consequence`` is the environment's response to a violation. ``recorded`` is the observation of the trajectory, as
    text; ``differs``: the model would get something else. ``ticked`` is a position in the unsolved set.
    """

    id: str
    name: str
    arguments: dict[str, Any] | str | None
    came: Came
    status: str = ""
    received: str = ""
    consequence: str = ""
    recorded: str | None = None
    differs: bool = False
    ticked: int | None = None


class Solved(StrEnum):
    """The result of the whole case: the published PSR counts the first, SR the first two."""

    #: Everything found, no constraint ever violated.
    PERFECTLY = "perfectly"
    #: Everything found, every violated constraint repaired.
    REPAIRED = "repaired"
    NO = "no"
    #: Something could not be judged.
    UNKNOWN = "unknown"


def run_trajectory(
    document: Mapping[str, Any],
    trajectory: Sequence[Mapping[str, Any]],
    *,
    toolset: CompiledToolset,
    runner: Runner,
) -> dict[str, Any]:
    """Run ``trajectory`` (rounds as in a document) through the code and the constraints of ``document``.

    Returns the record that is stored, returned by the API and shown on a page; its size is limited. Its constraints
    are the case's, then (``implied``) those that follow from its tools if it names none of them. ``answer_held``:
    whether the accepted response contains the reference answer; None if one of them is missing.

    Each round has the state after it: of the constraints that it changed, by position, the status and a sentence about
    what is still required. ``fresh`` has the positions of those that it violated or repaired. ``feedback`` is about the
    round or its final response as a whole.
    """
    constraints, unjudged = _judgeable(document)
    rounds = [_round(each) for each in trajectory]
    validators = _verdicts(document, constraints, rounds, runner, unjudged)
    replayed = replay(constraints, rounds, toolset=toolset, validators=validators)
    unsolved = UnsolvedSet(document["unsolved_set"])
    records: list[dict[str, Any]] = []
    before: Sequence[ConstraintState] = ()
    accepted: str | None = None
    for number, (turn, given) in enumerate(zip(replayed.turns, trajectory, strict=True)):
        calls = [
            _call(turn, position, call, runner, unsolved, number)
            for position, call in enumerate(given.get("calls") or ())
        ]
        final = turn.round.final
        is_accepted = final is not None and not turn.broken and not turn.over
        if is_accepted:
            accepted = final
        ended = any(each.breach.consequence is Consequence.ENDED for each in turn.broken)
        records.append(
            {
                "id": str(given.get("id") or number + 1),
                "calls": calls,
                "final": None if final is None else clipped(final),
                "accepted": is_accepted,
                "over": turn.over or ended,
                "feedback": [clipped(told) for told in _told(each for each in turn.broken if each.breach.call is None)],
                "constraint_states": {
                    str(position): [state.status, clipped(state.owed)]
                    for position, state in enumerate(turn.constraint_states)
                    if not before or before[position] != state
                },
                "fresh": _fresh(before, turn),
                # What is not limited is left out.
                "limits": {
                    key: value for key, value in asdict(turn.limits).items() if value is not None and value != {}
                },
            }
        )
        before = turn.constraint_states
    return {
        "constraints": [
            {
                "dimension": one.dimension,
                "category": one.category,
                "text": clipped(one.text or ""),
                "implied": position >= len(document["constraints"]),
                "why_unjudged": unjudged.get(position, ""),
                "status": status,
            }
            for position, (one, status) in enumerate(zip(constraints, replayed.statuses, strict=True))
        ],
        "rounds": records,
        "unsolved": [asdict(each) | {"text": clipped(each.text, _MAX_EXPECTED_LENGTH)} for each in unsolved.texts],
        "ending": replayed.ending,
        "solved": _solved(replayed, unsolved.solved),
        "found": unsolved.solved,
        "answer_held": _answer_held(document["answer"], accepted),
    }


def _judgeable(document: Mapping[str, Any]) -> tuple[list[Constraint], dict[int, str]]:
    """Return the constraints, with those of the tools; an unreadable one loses its category and is not judged."""
    constraints: list[Constraint] = []
    unjudged: dict[int, str] = {}
    for position, one in enumerate(constraints_of(document)):
        problems = constraint_problems(one)
        if problems:
            unjudged[position] = problems[0].message
            one = one.model_copy(update={"category": None, "variants": []})
        constraints.append(one)
    stated = {one.category for one in constraints}
    constraints += [one for one in toolset_constraints() if one.category not in stated]
    return constraints, unjudged


def _round(each: Mapping[str, Any]) -> Round:
    calls = tuple(Call(call["name"], call["arguments"]) for call in each.get("calls") or ())
    return Round(calls, each.get("final"))


def _verdicts(
    document: Mapping[str, Any],
    constraints: Sequence[Constraint],
    rounds: Sequence[Round],
    runner: Runner,
    unjudged: dict[int, str],
) -> dict[int, Validator]:
    """Return the validators' verdicts on the final responses. One that fails on any judges none; ``unjudged`` has the
    reason.
    """
    responses = list(dict.fromkeys(each.response for each in rounds if each.response is not None))
    validators: dict[int, Validator] = {}
    for position, one in enumerate(constraints):
        category = find_category(one.category)
        if category is None or category.needs != "validator":
            continue
        if document["constraints"][position]["validator"] is None:
            unjudged[position] = "The constraint has no validator."
            continue
        if not responses:
            unjudged[position] = "There is no final response to judge."
            continue
        returned = runner.judge(position, responses)
        failed = next((each for each in returned if not each.ok), None)
        if failed is not None:
            unjudged[position] = f"Its validator returned no verdict. {failed.message}"
            continue
        said = {response: (bool(each.value), each.message) for response, each in zip(responses, returned, strict=True)}
        validators[position] = said.__getitem__
    return validators


def _call(
    turn: Turn, position: int, given: Mapping[str, Any], runner: Runner, unsolved: UnsolvedSet, number: int
) -> dict[str, Any]:
    run = CallRun(str(given.get("id") or ""), given["name"], given["arguments"], Came.OVER)
    observation = given.get("observation")
    run.recorded = None if observation is None else clipped(text_of(observation))
    broken = [each for each in turn.broken if each.breach.call == position]
    if position in turn.executed:
        _run(run, runner)
        if run.came is Came.RAN:
            run.ticked = unsolved.tick(run.name, run.received, round_=number, call=position)
    elif broken and not turn.over:
        run.came = Came.REFUSED
        run.consequence = broken[0].breach.consequence.value
        run.received = " ".join(_told(broken))
    run.differs = run.came in (Came.RAN, Came.FAILED, Came.REFUSED) and _differs(observation, run.received)
    # Hundreds of calls may return a megabyte each.
    return asdict(run) | {"arguments": _clipped_arguments(run.arguments), "received": clipped(run.received)}


def _clipped_arguments(arguments: dict[str, Any] | str | None) -> dict[str, Any] | str | None:
    text = json.dumps(arguments, ensure_ascii=False)
    if len(text) <= MAX_LENGTH:
        return arguments
    return clipped(arguments if isinstance(arguments, str) else text)


def _run(run: CallRun, runner: Runner) -> None:
    if not isinstance(run.arguments, dict):
        run.came, run.status = Came.FAILED, "no_arguments"
        run.received = f"The call to {run.name} failed. The arguments are not a JSON object."
        return
    returned = runner.call_tool(run.name, run.arguments)
    run.status = returned.status
    run.came = Came.RAN if returned.ok else Came.FAILED
    run.received = text_of(returned.value) if returned.ok else returned.message


def _differs(observation: Any, received: str) -> bool:
    """Return whether the model would get something other than recorded; spacing and order of JSON do not count."""
    if observation is None:
        return False
    return text_of(observation) != received and _canonical(observation) != _canonical(received)


def _canonical(value: Any) -> str:
    try:
        return canonical(without_kinds([json.loads(value) if isinstance(value, str) else value]))
    except (ValueError, RecursionError):
        return f"text {value}"


def _fresh(before: Sequence[ConstraintState], turn: Turn) -> list[int]:
    if turn.over:
        return []
    broken = {each.constraint for each in turn.broken}
    return [
        position
        for position, state in enumerate(turn.constraint_states)
        if position in broken or (before and before[position].status != state.status)
    ]


def _told(broken: Iterable[Broken]) -> list[str]:
    return list(dict.fromkeys(each.breach.feedback for each in broken))


def _answer_held(answer: str | None, accepted: str | None) -> bool | None:
    return None if not answer or accepted is None else yields(accepted, answer)


def _solved(replayed: Replay, found: bool | None) -> Solved:
    """Return the case's result. Without an accepted final response it is not solved, whatever was found."""
    statuses = set(replayed.statuses)
    if found is False or Status.UNSATISFIED in statuses or replayed.ending is not Ending.ANSWERED:
        return Solved.NO
    if found is None or Status.UNJUDGED in statuses:
        return Solved.UNKNOWN
    return Solved.REPAIRED if Status.SOFT_SATISFIED in statuses else Solved.PERFECTLY
