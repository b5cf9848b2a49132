"""Scores of AsyncTool runs: dialogues over composites, with recorded outcomes or by running the tools."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from annotator.core.composites.delays import read_delay
from annotator.core.composites.dialogue import Dialogue, play, recorded
from annotator.core.composites.running import running
from annotator.core.execution.async_rows import (
    NotASingleTask,
    NotAToolset,
    RowToolset,
    SingleRow,
    read_single,
    read_toolset,
)
from annotator.core.execution.running import Runner, execute
from benchmark.core.formats.composite_rows import is_composite
from benchmark.core.scoring.delayed import DialogueScore, GoldTask, score_dialogue, summarise
from benchmark.core.scoring.scorers import Refused, Scorer, figure_json
from benchmark.core.scoring.sources import Unreadable, read_records
from benchmark.core.scoring.statistics import add_up, share

#: Bounds of one dialogue.
MAX_TURNS = 2_000
ALL = "all"


class AsyncReferences:
    """The composites of a folder, its single tasks, and what their gold calls come to.

    ``executions.jsonl`` states that; without it the gold calls are run. Raises Unreadable.
    """

    def __init__(self, folder: Path, runner: Runner) -> None:
        self.runner = runner
        self.problems: list[str] = []
        toolsets: dict[str, RowToolset] = {}
        for where, row in self._rows(folder / "toolsets.jsonl"):
            try:
                name, toolset = read_toolset(row, folder)
            except (NotAToolset, OSError) as error:
                raise Unreadable(f"{where}: {error}") from None
            toolsets[name] = toolset
        self.singles: dict[str, SingleRow] = {}
        self.composites: dict[str, Mapping[str, Any]] = {}
        names = ["single_tasks.jsonl", "composites.jsonl"]
        for path in [folder / name for name in names if (folder / name).is_file()] or [folder / "async.jsonl"]:
            for where, row in self._rows(path):
                self._add(where, row, toolsets)
        self._gold: dict[str, GoldTask] = {}
        stated = folder / "executions.jsonl"
        if stated.is_file():
            for where, row in self._rows(stated):
                self._state(where, row)

    def _rows(self, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
        for line in read_records(path):
            if line.problem:
                self.problems.append(f"{line.where}: {line.problem}")
            else:
                yield line.where, line.record

    def _add(self, where: str, row: Mapping[str, Any], toolsets: Mapping[str, RowToolset]) -> None:
        if is_composite(dict(row)):
            tasks = row["tasks"]
            if not all(isinstance(task, str) for task in tasks) or type(row.get("max_rounds")) is not int:
                self.problems.append(f"{where}: a composite needs the ids of its tasks and max_rounds.")
            else:
                self.composites[str(row.get("id"))] = row
            return
        try:
            single = read_single(row, toolsets)
        except NotASingleTask as error:
            self.problems.append(f"{where}: {error}")
        else:
            self.singles[single.id] = single

    def _state(self, where: str, row: Mapping[str, Any]) -> None:
        single = self.singles.get(str(row.get("id")))
        calls = row.get("calls")
        if single is None or not isinstance(calls, list):
            self.problems.append(f"{where}: there is no such single task.")
            return
        self._gold[single.id] = GoldTask(
            single.calls, [call["result"] for call in calls], row.get("initial_state_sha256"),
            row.get("final_state_sha256"), single.toolset.schemas,
        )  # fmt: skip

    def gold(self, task: str) -> GoldTask:
        """Return the gold of a single task. Raises NotASingleTask and SandboxUnavailable."""
        if task not in self._gold:
            if task not in self.singles:
                raise NotASingleTask(f"there is no single task {task}.")
            self._gold[task] = gold_of(self.singles[task], self.runner)
        return self._gold[task]


def gold_of(single: SingleRow, runner: Runner) -> GoldTask:
    """Return the gold of a single task by running it."""
    execution = execute(runner, single.tool, single.start, single.calls, twice=False)
    results = [outcome.result for outcome in execution.outcomes]
    return GoldTask(single.calls, results, execution.initial_sha256, execution.final_sha256, single.toolset.schemas)


class AsyncScorer(Scorer):
    """Scores async. A record: ``{"id", "composite", "model", "delay", "seed", "turns", "outcomes", "finals"}``; without
    ``outcomes``, the tools are run.
    """

    def __init__(self, references: AsyncReferences) -> None:
        self.references = references
        self._seen: set[tuple[str, str]] = set()
        self._over: dict[tuple[str, str], list[DialogueScore]] = defaultdict(list)
        self._right: dict[tuple[str, str], list[tuple[str, int, int]]] = defaultdict(list)
        self._played: dict[str, set[str]] = defaultdict(set)

    def add(self, record: Any, run: str) -> Iterator[dict[str, Any] | Refused]:
        if not isinstance(record, Mapping) or not isinstance(record.get("turns"), list):
            yield Refused("problem", "A dialogue must be an object with composite, delay and turns.")
            return
        model = record.get("model", record.get("run", run))
        composite = self.references.composites.get(str(record.get("composite")))
        if not isinstance(model, str) or not model:
            yield Refused("problem", "/model must be a text.")
        elif composite is None:
            yield Refused("foreign", f"The references have no composite {str(record.get('composite'))[:200]}.")
        elif (model, str(record.get("id"))) in self._seen:
            yield Refused("doubled", f"Dialogue {record.get('id')} was given twice for {model}; the first counts.")
        else:
            try:
                score = self._score(record, composite)
            except (NotASingleTask, ValueError) as error:
                yield Refused("problem", str(error))
                return
            self._seen.add((model, str(record.get("id"))))
            self._played[model].add(str(composite["id"]))
            yield self._entry(record, model, composite, score)

    def _entry(
        self, record: Mapping[str, Any], model: str, composite: Mapping[str, Any], score: DialogueScore
    ) -> dict[str, Any]:
        cells = {"delay": str(record["delay"]), "composition": f"{composite['kind']}#{len(composite['tasks'])}"}
        right = score.all_of("acc")
        for over in (*cells.values(), ALL):
            self._right[model, over].append((str(composite["id"]), right, 1))
            for name in (model, ALL):
                self._over[name, over].append(score)
        return {
            "id": record.get("id"), "run": model, "composite": composite["id"], "delay": record["delay"],
            **score.as_json(), "right": right, "cluster": str(composite["id"]), "cells": cells,
        }  # fmt: skip

    def _score(self, record: Mapping[str, Any], composite: Mapping[str, Any]) -> DialogueScore:
        """Raises NotASingleTask and ValueError with a sentence."""
        turns, seed = record["turns"], record.get("seed") or 0
        if len(turns) > MAX_TURNS:
            raise ValueError(f"/turns has {len(turns):,} messages. The limit is {MAX_TURNS:,}.")
        said = [turn.get("assistant") if isinstance(turn, Mapping) else None for turn in turns]
        texts = [text for text in said if isinstance(text, str)]
        if len(texts) < len(turns):
            place = next(number for number, text in enumerate(said) if not isinstance(text, str))
            raise ValueError(f"/turns/{place}/assistant must be a text.")
        if type(seed) is not int:
            raise ValueError("/seed must be a whole number.")
        delay = read_delay(str(record.get("delay")), seed)
        tasks: Sequence[str] = composite["tasks"]
        gold = {task: self.references.gold(task) for task in tasks}
        outcomes, finals = record.get("outcomes"), record.get("finals")
        if outcomes is not None:
            if not isinstance(outcomes, list) or not all(isinstance(one, list) and len(one) == 6 for one in outcomes):
                raise ValueError("/outcomes must be a list of [round, task, status, due, state_changed, result].")
            environment = recorded(outcomes)
        else:
            singles = [self.references.singles[task] for task in tasks]
            environment = running(self.references.runner, {one.id: (one.tool, one.start) for one in singles})
        dialogue = play(Dialogue(tuple(tasks), delay, composite["max_rounds"], environment), texts)
        return score_dialogue(dialogue, gold, finals if isinstance(finals, Mapping) else None)

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
