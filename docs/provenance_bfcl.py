"""How many gold argument values of BFCL's multi-turn tasks are said to have no source.

    .venv/bin/python docs/provenance_bfcl.py FOLDER [--wrong]

FOLDER contains multi_turn_base.json, gold_executions.jsonl, gold_findings.jsonl and func_doc_*.json. Each turn is a
task with the gold calls and what they returned. A value without a source is a false alarm, except where the findings
say that the gold call uses what the dialogue does not tell: a look-up is missing, or only the initial state has it.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from annotator.core.provenance import ArgumentTrace, Origin, trace
from annotator.core.schema import read_document
from annotator.core.schema.toolsets import CompiledToolset


def read_folder(folder: Path) -> tuple[dict[str, dict[str, Any]], CompiledToolset]:
    """The tasks by name as documents, and all tools."""
    tools = []
    for file in sorted(folder.glob("func_doc_*.json")):
        for line in file.read_text(encoding="utf-8").splitlines():
            one = json.loads(line)
            parameters = {**one["parameters"], "type": "object"}
            tools.append({"type": "function", "function": {"name": one["name"], "parameters": parameters}})
    said = {one["id"]: one["question"] for one in _lines(folder / "multi_turn_base.json")}
    gold = {one["id"]: _document(one, said[one["id"]]) for one in _lines(folder / "gold_executions.jsonl")}
    return gold, CompiledToolset.of_tools(tools)


def _lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def _document(gold: dict[str, Any], turns: list[list[dict[str, str]]]) -> dict[str, Any]:
    tasks = []
    for i, (messages, turn) in enumerate(zip(turns, gold["turns"], strict=True)):
        steps: list[dict[str, Any]] = [
            {
                "type": "call",
                "id": f"s{j}",
                "name": call["name"],
                "arguments": call["arguments"],
                "observation": call.get("result") or {},
                "depends_on": None,
            }
            for j, call in enumerate(turn["calls"])
        ]
        steps.append({"type": "answer", "id": "a", "text": "Done.", "depends_on": None})
        text = "\n".join(message["content"] for message in messages)
        tasks.append({"id": f"t{i}", "user_message": text or "Go on.", "steps": steps})
    return read_document({"kind": "multi_turn", "language": "en", "tasks": tasks, "env_info": "An assistant."})


def hidden_values(folder: Path) -> set[tuple[str, str]]:
    """Pairs (name of the task, value) that the dialogue does not tell, by the published findings."""
    kinds = ("value_only_in_initial_state", "look_up_missing")
    found = _lines(folder / "gold_findings.jsonl")
    return {(one["task"], str(one["value"])) for one in found if one["kind"] in kinds}


def gold_values(folder: Path) -> list[tuple[str, ArgumentTrace]]:
    """Pairs (name of the task, value) of all gold values."""
    documents, toolset = read_folder(folder)
    return [
        (name, argument)
        for name, document in documents.items()
        for task in trace(document, toolset).tasks
        for call in task.calls
        for argument in call.arguments
    ]


def main() -> None:
    """Print the line of docs/provenance.md."""
    parser = argparse.ArgumentParser(description="Count gold values of BFCL without a source.")
    parser.add_argument("folder", type=Path, help="the folder with multi_turn_base.json and gold_executions.jsonl")
    parser.add_argument("--wrong", action="store_true", help="list the values without a source")
    options = parser.parse_args()
    if not (options.folder / "gold_executions.jsonl").is_file():
        parser.error(f"{options.folder} does not contain gold_executions.jsonl; see the data beside the checkout.")
    found = gold_values(options.folder)
    hidden = hidden_values(options.folder)
    missing = [(name, one) for name, one in found if one.origin is Origin.NOWHERE]
    alarms = [(name, one) for name, one in missing if (name, str(one.value)) not in hidden]
    sourced = 1 - len(alarms) / (len(found) - len(missing) + len(alarms))
    print("| gold values | without a source | of these not in the dialogue | false alarms | others without a finding |")
    print("|---|---|---|---|---|")
    print(f"| {len(found)} | {len(missing)} | {len(missing) - len(alarms)} | {len(alarms)} | {sourced:.1%} |")
    for name, argument in alarms if options.wrong else ():
        print(f"{name}: {argument.anchor}: {argument.value!r}")


if __name__ == "__main__":
    main()
