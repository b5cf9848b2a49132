"""Scores of dialogues over composites, with delayed results (AsyncTool).

The paper's column “Char.” fits two readings, so both are given: ``char`` compares calls, ``results`` what they gave.
``acc`` and ``acc_results`` are each of them together with ``env``, equal final states.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.composites.dialogue import Dialogue, MadeCall
from annotator.core.composites.messages import MessageKind
from annotator.core.execution.call_text import full_arguments
from annotator.core.execution.numbers import whole_numbers
from annotator.core.sandbox.results import Status
from annotator.core.sandbox.trajectories import ToolCall
from annotator.core.schema.canonical import canonical

#: Decimal places of an F1 value.
PLACES = 6
_NOT_RETURNED = canonical({"error": "…"})


@dataclass(frozen=True, slots=True)
class GoldTask:
    """The gold of one task: its calls with their results, the hashes of its states, and the functions' schemas."""

    calls: Sequence[ToolCall]
    results: Sequence[Any]
    initial_sha256: str | None
    final_sha256: str | None
    schemas: Mapping[str, Mapping[str, Any]]

    def key(self, name: str, arguments: Mapping[str, Any]) -> str:
        """Return a text that is the same for equal calls: same function and same arguments with defaults."""
        schema = self.schemas.get(name)
        full = full_arguments(arguments, schema) if schema is not None else None
        return canonical([name, whole_numbers(dict(arguments)) if full is None else full])


@dataclass(frozen=True, slots=True)
class TaskScore:
    """Whether one task of a dialogue is solved, by each reading, and counts of calls."""

    char: bool
    results: bool
    env: bool
    in_order: bool
    exact: bool
    matched: int
    gold: int
    calls: int

    @property
    def acc(self) -> bool:
        return self.char and self.env

    @property
    def acc_results(self) -> bool:
        return self.results and self.env

    def as_json(self) -> dict[str, Any]:
        return {
            "char": self.char, "results": self.results, "env": self.env, "acc": self.acc,
            "acc_results": self.acc_results, "in_order": self.in_order, "exact": self.exact,
            "matched": self.matched, "gold": self.gold, "calls": self.calls,
        }  # fmt: skip


@dataclass(frozen=True, slots=True)
class Agreement:
    """True positives, false positives and false negatives."""

    tp: int
    fp: int
    fn: int

    @classmethod
    def of(cls, gold: Counter[Any], made: Counter[Any]) -> "Agreement":
        tp = (gold & made).total()
        return cls(tp, made.total() - tp, gold.total() - tp)

    @property
    def f1(self) -> float:
        """2 tp / (2 tp + fp + fn); 0 if there is nothing to find and nothing was found."""
        total = 2 * self.tp + self.fp + self.fn
        return 2 * self.tp / total if total else 0.0

    def __add__(self, other: "Agreement") -> "Agreement":
        return Agreement(self.tp + other.tp, self.fp + other.fp, self.fn + other.fn)

    def as_json(self) -> dict[str, Any]:
        return {"tp": self.tp, "fp": self.fp, "fn": self.fn, "f1": round(self.f1, PLACES)}


@dataclass(frozen=True, slots=True)
class Label:
    """One row of the macro average: the labels of gold and of the model."""

    gold: frozenset[str]
    made: frozenset[str]


@dataclass(frozen=True, slots=True)
class DialogueScore:
    """The scores of one dialogue.

    ``errors``: dicts of ``kind``, ``task`` (None if the message names none) and ``round``.
    """

    tasks: Mapping[str, TaskScore]
    function: Agreement
    parameter: Agreement
    rounds: int
    passes: int
    ended: str
    pending_at_end: int
    errors: Sequence[Mapping[str, Any]]
    function_labels: Sequence[Label]
    parameter_labels: Sequence[Label]

    def all_of(self, reading: str) -> bool:
        """Return whether every task is solved by a reading: a property of ``TaskScore``."""
        return all(getattr(task, reading) for task in self.tasks.values())

    def as_json(self) -> dict[str, Any]:
        return {
            "function": self.function.as_json(),
            "parameter": self.parameter.as_json(),
            "sub_tasks": {name: task.as_json() for name, task in self.tasks.items()},
            "task": {
                "char": self.all_of("char"), "results": self.all_of("results"), "env": self.all_of("env"),
                "overall": self.all_of("acc"), "overall_results": self.all_of("acc_results"),
            },
            "rounds": self.rounds, "passes": self.passes, "ended": self.ended,
            "pending_at_end": self.pending_at_end, "errors": [dict(error) for error in self.errors],
        }  # fmt: skip


def score_dialogue(
    dialogue: Dialogue, gold: Mapping[str, GoldTask], finals: Mapping[str, str | None] | None = None
) -> DialogueScore:
    """Score a dialogue that has ended. ``gold``: task → gold, in the composite's order.

    ``finals``: the hash of each task's final state, if the dialogue's outcomes do not have it. A task without calls
    stays in its initial state.
    """
    finals = {name: task.initial_sha256 for name, task in gold.items()} | dict(finals or dialogue.finals())
    made = {name: [call for call in dialogue.calls if call.task == name] for name in gold}
    unknown = [
        one.message for one in dialogue.rounds if one.message.kind is MessageKind.CALL and one.message.task not in gold
    ]
    functions = Counter((name, call.name) for name, task in gold.items() for call in task.calls)
    parameters = Counter(item for name, task in gold.items() for call in task.calls for item in _parameters(name, call))
    made_functions = Counter((call.task, call.name) for call in dialogue.calls)
    made_functions += Counter((message.task, message.name) for message in unknown)
    made_parameters = Counter(item for call in dialogue.calls for item in _parameters(call.task, call))
    made_parameters += Counter(
        item
        for message in unknown
        for item in _parameters(message.task, ToolCall(message.name, message.arguments or {}))
    )
    errors = _message_errors(dialogue, gold)
    for name, task in gold.items():
        errors += _task_errors(name, task, made[name], gold)
    return DialogueScore(
        tasks={name: _score_task(task, made[name], finals.get(name)) for name, task in gold.items()},
        function=Agreement.of(functions, made_functions),
        parameter=Agreement.of(parameters, made_parameters),
        rounds=len(dialogue.rounds),
        passes=sum(one.message.kind is MessageKind.PASS for one in dialogue.rounds),
        ended=dialogue.ended,
        pending_at_end=len(dialogue.pending),
        errors=sorted(errors, key=lambda error: (error["round"], error["kind"], error["task"] or "")),
        function_labels=[
            Label(frozenset(call.name for call in task.calls), frozenset(call.name for call in made[name]))
            for name, task in gold.items()
        ],
        parameter_labels=[label for name, task in gold.items() for label in _parameter_labels(task.calls, made[name])],
    )


def _parameters(task: str, call: ToolCall | MadeCall) -> Iterable[tuple[str, str, str, str]]:
    for name, value in call.arguments.items():
        yield task, call.name, name, canonical([whole_numbers(value)])


def _score_task(gold: GoldTask, made: Sequence[MadeCall], final: str | None) -> TaskScore:
    due = [gold.key(call.name, call.arguments) for call in gold.calls]
    found = [gold.key(call.name, call.arguments) for call in made]
    due_results = Counter(canonical([result]) for result in gold.results)
    found_results = Counter(
        canonical([call.outcome.result]) if call.outcome.status == Status.OK else _NOT_RETURNED for call in made
    )
    return TaskScore(
        char=Counter(due) <= Counter(found),
        results=due_results <= found_results,
        env=final is not None and final == gold.final_sha256,
        in_order=_is_subsequence(due, found),
        exact=due == found,
        matched=(Counter(due) & Counter(found)).total(),
        gold=len(due),
        calls=len(found),
    )


def _is_subsequence(due: Sequence[str], found: Sequence[str]) -> bool:
    rest = iter(found)
    return all(key in rest for key in due)


def _message_errors(dialogue: Dialogue, gold: Mapping[str, GoldTask]) -> list[dict[str, Any]]:
    errors: list[dict[str, Any]] = []
    for one in dialogue.rounds:
        if one.message.kind is MessageKind.FORMAT:
            errors.append({"kind": "format", "task": None, "round": one.number})
        elif one.message.kind is MessageKind.CALL and one.message.task not in gold:
            errors.append({"kind": "unknown_task", "task": None, "round": one.number})
    if dialogue.ended == "ceiling":
        errors.append({"kind": "ceiling", "task": None, "round": len(dialogue.rounds)})
    return errors


def _task_errors(
    name: str, gold: GoldTask, made: Sequence[MadeCall], tasks: Mapping[str, GoldTask]
) -> list[dict[str, Any]]:
    """Return the errors of one task: each call that is no gold call has the first kind that fits."""
    if not made:
        return [{"kind": "neglected", "task": name, "round": 0}]
    due = [gold.key(call.name, call.arguments) for call in gold.calls]
    found = [gold.key(call.name, call.arguments) for call in made]
    missing = list(range(len(due)))
    left_over = []
    for index, key in enumerate(found):
        match = next((n for n in missing if due[n] == key), None)
        if match is None:
            left_over.append(index)
        else:
            missing.remove(match)
    errors = []
    for index in left_over:
        call = made[index]
        same_function = next((n for n in missing if gold.calls[n].name == call.name), None)
        if call.name not in gold.schemas:
            elsewhere = any(call.name in other.schemas for task, other in tasks.items() if task != name)
            kind = "tool_confusion" if elsewhere else "unknown_function"
        elif same_function is not None:
            missing.remove(same_function)
            kind = "premature" if any(one.due >= call.round for one in made[:index]) else "parameter"
        elif found[index] in found[:index]:
            kind = "repeated"
        else:
            kind = "extra_write" if call.outcome.state_changed else "extra_read"
        errors.append({"kind": kind, "task": name, "round": call.round})
    if missing:
        errors.append({"kind": "unfinished", "task": name, "round": made[-1].round})
    elif Counter(due) <= Counter(found) and not _is_subsequence(due, found):
        errors.append({"kind": "order", "task": name, "round": made[-1].round})
    return errors


def _parameter_labels(gold: Sequence[ToolCall], made: Sequence[MadeCall]) -> list[Label]:
    """Return a row for each function: the arguments of its last call, as texts."""
    due = {call.name: call.arguments for call in gold}
    found = {call.name: call.arguments for call in made}
    return [Label(_texts(due.get(name, {})), _texts(found.get(name, {}))) for name in due | found]


def _texts(arguments: Mapping[str, Any]) -> frozenset[str]:
    return frozenset(f"{name} = {whole_numbers(value)}" for name, value in arguments.items())


# --- over many dialogues ---------------------------------------------------------------------------------------------

READINGS = ("char", "results", "env")
KINDS = (
    "ceiling", "extra_read", "extra_write", "format", "neglected", "order", "parameter", "premature", "repeated",
    "tool_confusion", "unfinished", "unknown_function", "unknown_task",
)  # fmt: skip


def summarise(scores: Sequence[DialogueScore]) -> dict[str, Any]:
    """Return the figures over many dialogues: percentages to two decimal places, and errors by kind."""
    tasks = [task for score in scores for task in score.tasks.values()]
    solved = [score.rounds for score in scores if score.all_of("acc")]
    errors = Counter(error["kind"] for score in scores for error in score.errors)
    return {
        "dialogues": len(scores),
        "sub_tasks": len(tasks),
        "function_f1": _percent(sum((score.function for score in scores), Agreement(0, 0, 0)).f1),
        "parameter_f1": _percent(sum((score.parameter for score in scores), Agreement(0, 0, 0)).f1),
        "function_f1_macro": _percent(macro_f1([row for score in scores for row in score.function_labels])),
        "parameter_f1_macro": _percent(macro_f1([row for score in scores for row in score.parameter_labels])),
        "sub_task": {
            reading: _share(getattr(task, reading) for task in tasks) for reading in (*READINGS, "acc", "acc_results")
        },
        "task": {
            **{reading: _share(score.all_of(reading) for score in scores) for reading in READINGS},
            "overall": _share(score.all_of("acc") for score in scores),
            "overall_results": _share(score.all_of("acc_results") for score in scores),
        },
        "rounds_of_solved": round(sum(solved) / len(solved), 2) if solved else None,
        "errors": {kind: errors[kind] for kind in KINDS if errors[kind]},
    }


def macro_f1(rows: Sequence[Label]) -> float:
    """Return the mean F1 of the labels that occur in gold (NESTFUL's rule); labels only predicted are ignored."""
    gold, made, both = Counter[str](), Counter[str](), Counter[str]()
    for row in rows:
        gold.update(row.gold)
        made.update(row.made)
        both.update(row.gold & row.made)
    if not gold:
        return 0.0
    return sum(2 * both[label] / (gold[label] + made[label]) for label in gold) / len(gold)


def _share(flags: Iterable[bool]) -> float:
    known = list(flags)
    return _percent(sum(known) / len(known)) if known else 0.0


def _percent(share: float) -> float:
    return round(100 * share, 2)
