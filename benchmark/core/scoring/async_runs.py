"""Scores of AsyncTool runs: dialogues over composites, with recorded outcomes or by running the tools."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from annotator.core.composites.delays import read_delay
from annotator.core.composites.dialogue import Dialogue, MadeCall, play, recorded
from annotator.core.composites.running import running
from annotator.core.constraints.rounds import without_thinking
from annotator.core.execution.async_rows import (
    NotASingleTask,
    NotAToolset,
    RowToolset,
    SingleRow,
    read_single,
    read_toolset,
)
from annotator.core.execution.running import Runner, Start, StatefulTool, execute
from annotator.core.execution.subjects import subject_of
from annotator.core.sandbox.trajectories import ToolCall
from annotator.core.schema import canonical
from annotator.core.schema.toolsets import CompiledToolset, toolset_content
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.scoring.delayed import DialogueScore, GoldTask, score_dialogue, summarise
from benchmark.core.scoring.message_records import as_turns, is_messages
from benchmark.core.scoring.predictions import NAME, NotAPrediction, is_name
from benchmark.core.scoring.records import Unreadable
from benchmark.core.scoring.scorers import Refused, Scored, Scorer, figure_json
from benchmark.core.scoring.sources import read_records
from benchmark.core.scoring.statistics import add_up, share

#: Bounds of one dialogue.
MAX_TURNS = 2_000
ALL = "all"


@dataclass(frozen=True, slots=True)
class Task:
    """A single task: its gold calls, its functions' schemas, and what runs them. ``tool`` is None if it has no code."""

    id: str
    calls: Sequence[ToolCall]
    schemas: Mapping[str, Mapping[str, Any]]
    tool: StatefulTool | None
    start: Start


class AsyncReferences:
    """Composites, their single tasks, and the results of the gold calls; missing results come from running them."""

    def __init__(self, runner: Runner) -> None:
        self.runner = runner
        self.problems: list[str] = []
        self.tasks: dict[str, Task] = {}
        self.composites: dict[str, Composite] = {}
        self._gold: dict[str, GoldTask] = {}

    @classmethod
    def of_folder(cls, folder: Path, runner: Runner) -> Self:
        """Read ``toolsets.jsonl``, ``single_tasks.jsonl``, ``composites.jsonl`` and, if it is there, the results of the
        gold calls in ``executions.jsonl``. Raises Unreadable.
        """
        found = cls(runner)
        toolsets: dict[str, RowToolset] = {}
        for where, row in found._rows(folder / "toolsets.jsonl"):
            try:
                name, toolset = read_toolset(row, folder)
            except (NotAToolset, OSError) as error:
                raise Unreadable(f"{where}: {error}") from None
            toolsets[name] = toolset
        for where, row in found._rows(folder / "single_tasks.jsonl"):
            try:
                found._add_task(_task(read_single(row, toolsets)))
            except NotASingleTask as error:
                found.problems.append(f"{where}: {error}")
        for where, row in found._rows(folder / "composites.jsonl"):
            found._add_composite(where, row.get("id"), row.get("kind"), row.get("tasks"), row.get("max_rounds"))
        if (folder / "executions.jsonl").is_file():
            for where, row in found._rows(folder / "executions.jsonl"):
                found._state(where, row)
        return found

    @classmethod
    def of_dialogues(cls, dialogues: Iterable[ReadDialogue | str], runner: Runner) -> Self:
        """Take the single tasks and composites of a release."""
        found = cls(runner)
        for one in dialogues:
            if isinstance(one, str):
                found.problems.append(one)
            elif one.document["kind"] == "composite":
                document, name = one.document, one.external_id
                tasks = [task["single"] for task in document["tasks"]]
                found._add_composite(name, name, document["composition"], tasks, document["max_rounds"])
            elif one.document["kind"] == "single_task":
                content = canonical(toolset_content(one.tools, one.implementation))
                subject = subject_of(one.document, CompiledToolset.of(content))
                if isinstance(subject, str):
                    found.problems.append(f"{one.external_id}: {subject}")
                else:
                    found._add_task(
                        Task(one.external_id, subject.tool_calls, _schemas(one.tools), subject.tool, subject.start)
                    )
        return found

    def _rows(self, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for line in read_records(path):
            if line.problem:
                self.problems.append(f"{line.where}: {line.problem}")
            else:
                yield line.where, line.record

    def _add_task(self, task: Task) -> None:
        self.tasks[task.id] = task

    def _add_composite(self, where: str, name: Any, kind: Any, tasks: Any, max_rounds: Any) -> None:
        if not isinstance(tasks, list) or not tasks or not all(isinstance(task, str) for task in tasks):
            self.problems.append(f"{where}: a composite needs the ids of its tasks.")
        elif type(max_rounds) is not int or max_rounds < 1:
            self.problems.append(f"{where}: the max_rounds of a composite must be a whole number above 0.")
        else:
            self.composites[str(name)] = Composite(str(name), str(kind), tuple(tasks), max_rounds)

    def _state(self, where: str, row: Mapping[str, Any]) -> None:
        task, calls = self.tasks.get(str(row.get("id"))), row.get("calls")
        if task is None or not isinstance(calls, list) or not all(isinstance(call, Mapping) for call in calls):
            self.problems.append(f"{where}: this is not the execution of a single task.")
            return
        self._gold[task.id] = GoldTask(
            task.calls, [call.get("result") for call in calls], row.get("initial_state_sha256"),
            row.get("final_state_sha256"), task.schemas,
        )  # fmt: skip

    def gold(self, name: str) -> GoldTask:
        """Return the gold of a single task. Raises NotASingleTask and SandboxUnavailable."""
        if name not in self._gold:
            task = self.tasks.get(name)
            if task is None or task.tool is None:
                raise NotASingleTask(f"There is no single task {name} that can be run.")
            execution = execute(self.runner, task.tool, task.start, task.calls, twice=False)
            results = [outcome.result for outcome in execution.outcomes]
            self._gold[name] = GoldTask(
                task.calls, results, execution.initial_sha256, execution.final_sha256, task.schemas
            )
        return self._gold[name]


@dataclass(frozen=True, slots=True)
class Composite:
    id: str
    kind: str
    tasks: tuple[str, ...]
    max_rounds: int


def _made(call: MadeCall) -> dict[str, Any]:
    return {
        "number": call.number, "round": call.round, "shown": call.shown, "task": call.task, "call": call.name,
        "status": call.outcome.status,
    }  # fmt: skip


def _task(single: SingleRow) -> Task:
    tool = single.tool if single.toolset.implementation is not None else None
    return Task(single.id, single.calls, single.toolset.schemas, tool, single.start)


def _schemas(tools: Sequence[Any]) -> dict[str, Mapping[str, Any]]:
    functions = [tool.get("function") or tool for tool in tools]
    return {function["name"]: function.get("parameters") or {} for function in functions}


def gold_of(single: SingleRow, runner: Runner) -> GoldTask:
    """Return the gold of a single task by running it."""
    references = AsyncReferences(runner)
    references.tasks[single.id] = _task(single)
    return references.gold(single.id)


class AsyncScorer(Scorer):
    """Scores async. A record: ``{"id", "composite", "model", "delay", "seed", "turns", "outcomes", "finals"}``; without
    ``outcomes``, the tools are run. Or the messages of the conversation. ``strip_think``: turns are read without
    ``<think>…</think>``.
    """

    def __init__(self, references: AsyncReferences, *, strip_think: bool = False) -> None:
        self.references, self.strip_think = references, strip_think
        self._seen: set[tuple[str, str]] = set()
        self._over: dict[tuple[str, str], list[DialogueScore]] = defaultdict(list)
        self._right: dict[tuple[str, str], list[tuple[str, int, int]]] = defaultdict(list)
        self._played: dict[str, set[str]] = defaultdict(set)
        self._times: Counter[tuple[str, str, str]] = Counter()

    def add(self, record: Any, run: str) -> Iterator[Scored | Refused]:
        if is_messages(record):
            try:
                record = as_turns(record)
            except NotAPrediction as error:
                yield Refused("problem", str(error))
                return
        if not isinstance(record, Mapping) or not isinstance(record.get("turns"), list):
            yield Refused("problem", "A dialogue must be an object with composite, delay and turns.")
            return
        model = record.get("model", record.get("run", run))
        composite = self.references.composites.get(str(record.get("composite")))
        if not is_name(model):
            yield Refused("problem", f"/model must be {NAME}.")
        elif composite is None:
            yield Refused("foreign", f"The references have no composite {str(record.get('composite'))[:200]}.")
        elif (model, str(record.get("id"))) in self._seen:
            yield Refused("doubled", f"Dialogue {record.get('id')} was given twice for {model}; the first counts.")
        else:
            try:
                dialogue, score = self._score(record, composite)
            except (NotASingleTask, ValueError) as error:
                yield Refused("problem", str(error))
                return
            self._seen.add((model, str(record.get("id"))))
            self._played[model].add(composite.id)
            yield self._entry(record, model, composite, dialogue, score)

    def _entry(
        self, record: Mapping[str, Any], model: str, composite: Composite, dialogue: Dialogue, score: DialogueScore
    ) -> Scored:
        cells = {"delay": str(record["delay"]), "composition": f"{composite.kind}#{len(composite.tasks)}"}
        right = score.all_of("acc")
        for over in (*cells.values(), ALL):
            self._right[model, over].append((composite.id, right, 1))
            for name in (model, ALL):
                self._over[name, over].append(score)
        self._times[model, composite.id, cells["delay"]] += 1
        times = self._times[model, composite.id, cells["delay"]]
        again = f"#{times}" if times > 1 else ""
        found = {
            "id": record.get("id"), "run": model, "entry": f"{composite.id}@{cells['delay']}{again}",
            "composite": composite.id, "delay": record["delay"], **score.as_json(), "right": right,
            "cluster": composite.id, "cells": cells, "timeline": [_made(call) for call in dialogue.calls],
        }  # fmt: skip
        error = next((str(one["kind"]) for one in score.errors), "")
        said = {key: record.get(key) for key in ("composite", "delay", "seed", "turns", "outcomes", "finals")}
        return Scored(composite.id, found, said, "" if right else error)

    def _score(self, record: Mapping[str, Any], composite: Composite) -> tuple[Dialogue, DialogueScore]:
        """Raises NotASingleTask and ValueError with a sentence."""
        turns, seed = record["turns"], record.get("seed") or 0
        if len(turns) > MAX_TURNS:
            raise ValueError(f"/turns has {len(turns):,} messages. The limit is {MAX_TURNS:,}.")
        said = [turn.get("assistant") if isinstance(turn, Mapping) else None for turn in turns]
        texts = [text for text in said if isinstance(text, str)]
        if self.strip_think:
            texts = [without_thinking(text) for text in texts]
        if len(texts) < len(turns):
            place = next(number for number, text in enumerate(said) if not isinstance(text, str))
            raise ValueError(f"/turns/{place}/assistant must be a text.")
        if type(seed) is not int:
            raise ValueError("/seed must be a whole number.")
        delay = read_delay(str(record.get("delay")), seed)
        tasks = composite.tasks
        gold = {task: self.references.gold(task) for task in tasks}
        outcomes, finals = record.get("outcomes"), record.get("finals")
        if outcomes is not None:
            if not isinstance(outcomes, list) or not all(isinstance(one, list) and len(one) == 6 for one in outcomes):
                raise ValueError("/outcomes must be a list of [round, task, status, due, state_changed, result].")
            environment = recorded(outcomes)
        else:
            known = [self.references.tasks[task] for task in tasks]
            if any(one.tool is None for one in known):
                raise NotASingleTask(
                    "The tools have no code, so the dialogue must say what its calls came to (/outcomes)."
                )
            tools = {one.id: (one.tool, one.start) for one in known if one.tool is not None}
            environment = running(self.references.runner, tools)
        dialogue = play(Dialogue(tasks, delay, composite.max_rounds, environment), texts)
        return dialogue, score_dialogue(dialogue, gold, finals if isinstance(finals, Mapping) else None)

    @property
    def missing(self) -> int:
        return sum(len(self.references.composites) - len(played) for played in self._played.values())

    def summary(self, *, figures: bool = True) -> dict[str, Any]:
        groups = [
            {"model": model, "over": over, **summarise(scores)} for (model, over), scores in sorted(self._over.items())
        ]
        runs: dict[str, dict[str, Any]] = {model: {"over": {}, "figures": []} for model in self._played}
        for group in groups:
            if group["model"] in runs:
                rest = {key: value for key, value in group.items() if key not in ("model", "over")}
                runs[group["model"]]["over"][group["over"]] = rest
        for (model, over), triples in sorted(self._right.items()) if figures else ():
            figure = share("share", add_up(triples))
            runs[model]["figures"].append(figure_json("overall", over, figure))
        for model, played in self._played.items():
            runs[model]["missing"] = sorted(self.references.composites.keys() - played)
        return {"runs": runs, "groups": groups}
