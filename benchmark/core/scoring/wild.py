"""Scores of WildToolBench: tasks and sessions, as its published code and as its paper have them.

Sources: ``eval_runner.py`` and ``base_handler.py`` of the published code. A task is right if the walk by names is and
every call's arguments are (``published-wild``). Of a step, calls and reference calls are both sorted by name and
argument *text* and compared in that order.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmark.core.formats.answer_nodes import ANSWER, ASK
from benchmark.core.scoring import c3
from benchmark.core.scoring.arguments.published_wild import Comparer, Outcome
from benchmark.core.scoring.counts import Tally, rate
from benchmark.core.scoring.legal import LegalWalk, follow, follow_strictly
from benchmark.core.scoring.predictions import PredictedCall, Round
from benchmark.core.scoring.references import ReferenceDialogue, ReferenceTask, switches
from benchmark.core.scoring.walk import Step, walk

CORRECT, ERROR = "correct", "error"
MULTI = ("Parallel Multi-Tool", "Sequential Multi-Tool", "Mixed Multi-Tool")
TYPES = ("Single-Tool", *MULTI, "Clarify", "Chat")
SUBTYPES = ("Coreferential Reference", "Partial Information", "Long-Range Dependency")
FIRST = "First Turn"
#: Labels over which OP and AP are taken.
OPTIMAL, PROGRESS = ("Parallel Multi-Tool", "Mixed Multi-Tool"), ("Sequential Multi-Tool", "Mixed Multi-Tool")


@dataclass(frozen=True, slots=True)
class CheckedStep:
    """The first step with a wrong argument: the outcome of each call, in sorted order, with its tool."""

    step: int
    outcomes: Sequence[tuple[str, Outcome]]

    def as_json(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "checks": [
                {"tool": tool, "class": outcome.name} | ({"place": outcome.place} if outcome.place else {})
                for tool, outcome in self.outcomes
            ],
        }


@dataclass(frozen=True, slots=True)
class Entry:
    """The score of one task.

    ``action_right``: right by names. ``stop``: why the walk by names ended, None if right. ``legal`` is the paper's
    reading, ``c3`` that of C3-Bench's code.
    """

    run: str
    dialogue: ReferenceDialogue
    index: int
    action_right: bool
    optimal_by_names: bool
    stop: str | None
    rounds: int
    arguments: CheckedStep | None
    legal: LegalWalk
    #: Whether it is right as in the paper with arguments that equal the reference's.
    strict: bool
    c3: c3.Entry

    @property
    def task(self) -> ReferenceTask:
        return self.dialogue.tasks[self.index]

    @property
    def right(self) -> bool:
        return self.action_right and self.arguments is None

    @property
    def optimal(self) -> bool:
        return self.right and self.optimal_by_names

    @property
    def steps_counted(self) -> int:
        """The replies that the published AP counts: the one after a step with wrong arguments is dropped."""
        return self.rounds - (self.arguments is not None and self.arguments.step + 1 < self.rounds)

    @property
    def information(self) -> str | None:
        return FIRST if self.index == 0 else self.task.native_information or self.task.wild_information

    def as_json(self) -> dict[str, Any]:
        return {
            "run": self.run,
            "dialogue": self.dialogue.id,
            "task": self.index,
            "label": CORRECT if self.right else ERROR,
            "action_label": CORRECT if self.action_right else ERROR,
            "is_optimal": self.optimal,
            "is_optimal_by_names": self.optimal_by_names,
            "stop": self.stop,
            "steps": self.rounds,
            "steps_counted": self.steps_counted,
            "nodes": len(self.task.nodes),
            "arguments": self.arguments.as_json() if self.arguments else None,
            **self.legal.as_json(self.task, strict=self.strict),
            "c3": {"label": self.c3.label, "error_type": self.c3.error_type, "class9": self.c3.class9},
        }


def score_task(
    run: str, dialogue: ReferenceDialogue, index: int, rounds: Sequence[Round], history: str = "calls"
) -> Entry:
    """Return the score of one task. Raises UnusableReference."""
    task = dialogue.tasks[index]
    comparer = Comparer(dialogue.functions_with_numbers)
    walked = walk(task, rounds)

    def judge(call: PredictedCall, reference: Any) -> bool:
        return comparer.compare(call.name, call.arguments, reference).correct

    return Entry(
        run=run, dialogue=dialogue, index=index, action_right=walked.right, optimal_by_names=walked.optimal,
        stop=walked.stop, rounds=walked.rounds, arguments=_first_wrong(walked.steps, task, comparer),
        legal=follow(task, rounds, judge), strict=follow_strictly(task, rounds),
        c3=c3.score_walked(run, dialogue, index, rounds, walked, history),
    )  # fmt: skip


def _first_wrong(steps: Iterable[Step], task: ReferenceTask, comparer: Comparer) -> CheckedStep | None:
    for number, step in enumerate(steps):
        due = sorted(
            (task.nodes[i].name, json.dumps(task.nodes[i].arguments, ensure_ascii=False), i) for i in step.nodes
        )
        if not due or due[0][0] in (ASK, ANSWER):
            continue
        made = sorted((call.name, call.arguments) for call in step.calls)
        outcomes = [
            (name, Outcome() if name in (ASK, ANSWER) else comparer.compare(name, text, task.nodes[i].arguments))
            for (name, text), (_, _, i) in zip(made, due, strict=True)
        ]
        if not all(outcome.correct for _, outcome in outcomes):
            return CheckedStep(number, outcomes)
    return None


# --- over a run ------------------------------------------------------------------------------------------------------


def summarise(entries: Sequence[Entry], missing: Sequence[ReferenceDialogue]) -> dict[str, Any]:
    """Return the figures of a run: ``published`` like the published metric file, and whole numbers behind them.

    ``missing``: dialogues without any prediction, which the published code leaves out of every denominator.
    """
    sessions = sessions_of(entries)
    counts = _counts(entries)
    left_out = sum(len(dialogue.tasks) for dialogue in missing)
    task, session = counts["task"], counts["session"]
    classes = Counter(entry.c3.class9 for entry in entries if entry.c3.class9)
    return {
        "published": _published(entries, sessions),
        "counts": counts,
        "class9_by_c3_code": dict(sorted(classes.items())),
        "dialogues_without_prediction": len(missing),
        "task_if_missing_is_wrong": [task[0], task[1] + left_out],
        "session_if_missing_is_wrong": [session[0], session[1] + len(missing)],
    }


def sessions_of(entries: Iterable[Entry]) -> dict[str, bool]:
    """Return whether all tasks of each dialogue are right."""
    sessions: dict[str, bool] = {}
    for entry in entries:
        sessions[entry.dialogue.id] = sessions.get(entry.dialogue.id, True) and entry.right
    return sessions


def cells(entry: Entry) -> Iterator[tuple[str, str]]:
    """Yield the slices of an entry: a name, and the entry's cell in it."""
    policies = entry.dialogue.policies
    yield "policy", str(entry.task.policy)
    yield "task_type", str(entry.task.label)
    yield "order", str(entry.index)
    yield "information", str(entry.information)
    yield "tasks_in_dialogue", str(len(policies))
    yield "switches_so_far", str(switches(policies[: entry.index + 1]))
    yield "switches_in_dialogue", str(switches(policies))


def _counts(entries: Sequence[Entry]) -> dict[str, Any]:
    tallies: dict[str, Tally] = {}
    for entry in entries:
        for name, cell in cells(entry):
            tallies.setdefault(name, Tally()).add(cell, entry.right)
    steps, matched, optimal, ours = Tally(), Tally(), Tally(), Tally()
    for entry in entries:
        label, nodes = entry.task.label, len(entry.task.nodes)
        if label in PROGRESS:
            for cell in (str(label), "Total"):
                steps.add(cell, entry.steps_counted, nodes)
                matched.add(cell, entry.legal.matched, nodes)
        if label in OPTIMAL:
            for cell in (str(label), "Total"):
                optimal.add(cell, entry.optimal)
                ours.add(cell, entry.legal.optimal)
    sessions = sessions_of(entries)
    return {name: tally.as_json() for name, tally in tallies.items()} | {
        "steps_counted": steps.as_json(),
        "nodes_matched_ours": matched.as_json(),
        "optimal": optimal.as_json(),
        "optimal_ours": ours.as_json(),
        "label_ours": {"all": [sum(entry.legal.right for entry in entries), len(entries)]},
        "task": [sum(entry.right for entry in entries), len(entries)],
        "session": [sum(sessions.values()), len(sessions)],
    }


def _published(entries: Sequence[Entry], sessions: Mapping[str, bool]) -> dict[str, Any]:
    types = Tally(*TYPES[:1], "Multi-Tool", *TYPES[1:])
    layers, optimal, progress = Tally("0", "1", "2", "3"), Tally("Total", *OPTIMAL), Tally("Total", *PROGRESS)
    subtypes = Tally(FIRST, "Subsequent Turn", *SUBTYPES)
    for entry in entries:
        label = str(entry.task.label)
        types.add(label, entry.right)
        if "Multi-Tool" in label:
            types.add("Multi-Tool", entry.right)
        layers.add(str(entry.index), entry.right)
        subtypes.add(str(entry.information), entry.right)
        if entry.index:
            subtypes.add("Subsequent Turn", entry.right)
        if label in OPTIMAL:
            optimal.add("Total", entry.optimal)
            optimal.add(label, entry.optimal)
        if label in PROGRESS:
            progress.add("Total", entry.steps_counted, len(entry.task.nodes))
            progress.add(label, entry.steps_counted, len(entry.task.nodes))
    total = Tally("task", "session")
    total.add("task", sum(entry.right for entry in entries), len(entries))
    total.add("session", sum(sessions.values()), len(sessions))
    return {
        "total_info": _accuracies(total),
        "task_type_info": _accuracies(types),
        "layer_info": _accuracies(layers),
        "turn_subtype_info": _accuracies(subtypes),
        "optimal_info": _accuracies(optimal),
        "progress_info": {
            cell: {"rate": rate(done, of), "complete_step": done, "total_step": of}
            for cell, (done, of) in progress.items()
        },
    }


def _accuracies(tally: Tally) -> dict[str, Any]:
    return {
        cell: {"accuracy": rate(right, of), "correct_count": right, "total_count": of}
        for cell, (right, of) in tally.items()
    }
