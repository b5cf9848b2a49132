"""``manage.py play_composite COMPOSITES.jsonl --singles F --toolsets F --delay D [--seed S] [--dialogues F]``"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import CommandParser

from annotator.core.composites.delays import Delay, read_delay
from annotator.core.composites.dialogue import Dialogue, play
from annotator.core.composites.reference import play_reference
from annotator.core.composites.running import running
from annotator.core.execution.async_rows import NotASingleTask
from annotator.core.execution.running import Runner
from annotator.core.sandbox import Sandbox, SandboxUnavailable
from annotator.management.base import REFUSED, SentenceCommand, Stop
from annotator.management.single_tasks import read_rows, read_singles, read_toolsets
from benchmark.core.scoring.async_runs import gold_of
from benchmark.core.scoring.delayed import GoldTask, score_dialogue

REFERENCE = "reference"


class Command(SentenceCommand):
    help = (
        "Play composites in the sandbox: the reference solution under a delay, or the messages of dialogues in a file. "
        "Writes each dialogue with the environment's replies and its scores. Needs no database."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("composites", metavar="COMPOSITES.jsonl")
        parser.add_argument("--singles", required=True, metavar="SINGLES.jsonl", help="the composites' single tasks")
        parser.add_argument("--toolsets", required=True, metavar="TOOLSETS.jsonl", help="with paths relative to it")
        parser.add_argument("--id", metavar="COMPOSITE", help="only this composite")
        parser.add_argument("--delay", default="0", help="rounds until a result comes, such as 1 or 0-1 (reference)")
        parser.add_argument("--seed", default=0, type=int, help="of a delay with two numbers (reference)")
        parser.add_argument("--dialogues", metavar="F", help="dialogues to play: composite, delay, seed, turns")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            delay = read_delay(options["delay"], options["seed"])
        except ValueError as error:
            raise Stop(str(error)) from None
        self.singles = read_singles(Path(options["singles"]), read_toolsets(Path(options["toolsets"])))
        self.composites = self._composites(Path(options["composites"]), options["id"])
        played = refused = 0
        self.gold: dict[str, GoldTask] = {}
        with Sandbox() as sandbox:

            def runner(trajectory: Any, twice: bool) -> Any:
                return sandbox.run_trajectory(trajectory, twice=twice)

            for where, row in self._wanted(options["dialogues"], options["delay"], delay):
                try:
                    answer = self._play(row, runner)
                except NotASingleTask as error:
                    answer = {"error": f"{where}: {error}"}
                except SandboxUnavailable as why:
                    raise Stop(str(why)) from None
                played, refused = played + 1, refused + ("error" in answer)
                self.stdout.write(json.dumps(answer, ensure_ascii=False))
        if not played:
            raise Stop("There is nothing to play.")
        self.say(f"Dialogues played: {played - refused:,}; refused: {refused:,}.")
        if refused:
            raise SystemExit(REFUSED)

    def _composites(self, path: Path, only: str | None) -> dict[str, dict[str, Any]]:
        found = {}
        for number, row in read_rows(path):
            tasks = row.get("tasks") if isinstance(row, dict) else None
            if not isinstance(tasks, list) or not tasks or not isinstance(row.get("id"), str):
                raise Stop(f"{path.name}, line {number}: a composite must be an object with id and tasks.")
            if type(row.get("max_rounds")) is not int or row["max_rounds"] < 1:
                raise Stop(f"{path.name}, line {number}: /max_rounds must be a whole number above 0.")
            if only in (None, row["id"]):
                missing = [task for task in tasks if task not in self.singles]
                if missing:
                    raise Stop(f"{path.name}, line {number}: there is no single task {missing[0]}.")
                found[row["id"]] = row
        if only is not None and not found:
            raise Stop(f"There is no composite {only}.")
        return found

    def _wanted(self, dialogues: str | None, name: str, delay: Delay) -> Iterator[tuple[str, dict[str, Any]]]:
        if dialogues is None:
            for composite in self.composites.values():
                row = {"id": composite["id"], "composite": composite["id"], "model": REFERENCE}
                yield f"Composite {composite['id']}", {**row, "delay": name, "seed": delay.seed}
            return
        path = Path(dialogues)
        for number, row in read_rows(path):
            if not isinstance(row, dict) or not isinstance(row.get("turns"), list):
                raise Stop(f"{path.name}, line {number}: a dialogue must be an object with turns.")
            if row.get("composite") in self.composites:
                yield f"{path.name}, line {number}", row

    def _play(self, row: dict[str, Any], runner: Runner) -> dict[str, Any]:
        composite = self.composites[row["composite"]]
        members = {task: self.singles[task] for task in composite["tasks"]}
        try:
            delay = read_delay(str(row.get("delay")), row.get("seed") or 0)
        except ValueError as error:
            raise NotASingleTask(f"/delay: {error}") from None
        tools = {name: (single.tool, single.start) for name, single in members.items()}
        dialogue = Dialogue(tuple(members), delay, composite["max_rounds"], running(runner, tools))
        if "turns" in row:
            play(dialogue, _messages(row["turns"]))
        else:
            play_reference(dialogue, {name: single.calls for name, single in members.items()})
        for name, single in members.items():
            if name not in self.gold:
                self.gold[name] = gold_of(single, runner)
        score = score_dialogue(dialogue, {name: self.gold[name] for name in members})
        initial = {name: self.gold[name].initial_sha256 for name in members}
        return {
            **{key: row.get(key) for key in ("id", "composite", "model", "delay", "seed")},
            "turns": [{"assistant": one.text, "environment": list(one.reply)} for one in dialogue.rounds],
            "ended": dialogue.ended,
            "finals": initial | dialogue.finals(),
            "outcomes": [
                [call.round, call.task, call.outcome.status, call.due, call.outcome.state_changed, call.outcome.result]
                for call in dialogue.calls
            ],
            "scores": score.as_json(),
        }


def _messages(turns: list[Any]) -> Iterator[str]:
    for number, turn in enumerate(turns):
        text = turn.get("assistant") if isinstance(turn, Mapping) else None
        if not isinstance(text, str):
            raise NotASingleTask(f"/turns/{number}/assistant: must be a text.")
        yield text
