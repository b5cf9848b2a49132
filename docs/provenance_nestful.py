"""How well suggested dependencies agree with the references of published nested-call tasks.

    .venv/bin/python docs/provenance_nestful.py FOLDER [--seed 1] [--seeds 10] [--wrong]

FOLDER contains executable-data.json and executable-spec.json of NESTFUL. In its gold calls, an argument such as
``$var1.geoId$`` refers to what an earlier call returned; those references are the truth. The data has no observations,
so they are made up from the tools' output parameters, with a recorded seed, and every reference is replaced by its
made-up value. All other arguments and the user's messages stay as they are.

A collision is a referenced value that is visible in a second place. At the stated rate, a referenced value either
becomes a word of the user's message or is also written over a random value in another observation before its use
(chosen at random if both are possible).
"""

import argparse
import copy
import json
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from annotator.core.provenance import Suggestion, suggest_edges
from annotator.core.schema import read_document
from annotator.core.schema.toolsets import CompiledToolset

#: One reference lacks its first dollar sign.
REFERENCE = re.compile(r"\$?\b(var\d+)(?:\.([\w \[\].\-]+))?\$")
RATES = (0.0, 0.1, 0.3)
FINAL = "var_result"
Path_ = tuple[str | int, ...]
Edge = tuple[str, str]


@dataclass(frozen=True)
class Case:
    """One task as a document, with its true dependencies: pairs (call, call it takes a value from).

    ``said`` and ``repeated``: those whose value also appears in the user's message, or in another observation.
    """

    number: int
    document: dict[str, Any]
    truth: frozenset[Edge]
    said: frozenset[Edge]
    repeated: frozenset[Edge]


@dataclass(frozen=True)
class Score:
    """Counts over all tasks. ``said`` and ``repeated``: (found, all) of the true edges whose value also appears in
    the user's message, or in another observation.
    """

    right: int
    suggested: int
    true: int
    said: tuple[int, int]
    repeated: tuple[int, int]

    @property
    def precision(self) -> float:
        return self.right / self.suggested

    @property
    def recall(self) -> float:
        return self.right / self.true


def read_folder(folder: Path) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """The tasks, and tool name → specification."""
    tasks = json.loads((folder / "executable-data.json").read_text(encoding="utf-8"))
    specs = json.loads((folder / "executable-spec.json").read_text(encoding="utf-8"))
    return tasks, {spec["name"]: spec for spec in specs}


def toolset_of(specs: dict[str, dict[str, Any]]) -> CompiledToolset:
    """The specifications as tools in the OpenAI format."""
    tools = []
    for spec in specs.values():
        given = {**(spec.get("path_parameters") or {}), **(spec.get("query_parameters") or {})}
        properties: dict[str, dict[str, Any]] = {}
        for name, parameter in given.items():
            enum = parameter.get("enum") or parameter.get("allowed_values")
            properties[name] = {"description": str(parameter.get("description") or "")}
            if isinstance(enum, list):
                properties[name]["enum"] = enum
        parameters = {"type": "object", "properties": properties}
        tools.append({"type": "function", "function": {"name": spec["name"], "parameters": parameters}})
    return CompiledToolset.of_tools(tools)


def make_case(number: int, task: dict[str, Any], specs: dict[str, dict[str, Any]], *, rate: float, seed: int) -> Case:
    """The task with made-up observations. The same arguments give the same case on every machine."""
    chance = random.Random(f"{seed}:{number}")  # noqa: S311 - made-up data
    calls = [call for call in task["output"] if call["name"] != FINAL]
    observations = {call["label"]: _observe(specs.get(call["name"], {}), chance) for call in calls}
    uses = list(_uses(calls))
    for _, label, path in uses:
        _ensure(observations[label], path, chance)
    # Collisions use their own random generator, so that the values are the same at every rate.
    dice = random.Random(f"{seed}:{number}:collisions")  # noqa: S311 - made-up data
    last = {(label, path): user for user, label, path in uses}
    second = {
        place: _collide(user, *place, calls, observations, task["input"], dice)
        for place, user in last.items()
        if dice.random() < rate
    }
    said, repeated = (
        frozenset((user, label) for user, label, path in uses if second.get((label, path)) == kind)
        for kind in ("said", "repeated")
    )
    steps = [
        {
            "type": "call",
            "id": call["label"],
            "name": call["name"],
            "arguments": _filled(call["arguments"], observations),
            "observation": observations[call["label"]],
            "depends_on": None,
        }
        for call in calls
    ]
    document = read_document(
        {
            "kind": "multi_turn",
            "language": "en",
            "tasks": [{"id": "t1", "user_message": task["input"], "steps": steps}],
        }
    )
    return Case(number, document, frozenset((user, label) for user, label, _ in uses), said, repeated)


def score(cases: list[Case], toolset: CompiledToolset) -> tuple[Score, list[tuple[Case, list[Suggestion]]]]:
    """The score of all certain suggestions, and the cases in which they are not the truth."""
    right = suggested = true = 0
    said, repeated = [0, 0], [0, 0]
    wrong = []
    for case in cases:
        found = [one for one in suggest_edges(case.document, toolset, "t1") if not one.weak]
        edges = {(one.step, one.needs) for one in found}
        right += len(edges & case.truth)
        suggested += len(edges)
        true += len(case.truth)
        for counts, collided in ((said, case.said), (repeated, case.repeated)):
            counts[0] += len(edges & collided)
            counts[1] += len(collided)
        if edges != case.truth:
            wrong.append((case, found))
    return Score(right, suggested, true, (said[0], said[1]), (repeated[0], repeated[1])), wrong


def evaluate(folder: Path, rate: float, seeds: range) -> Score:
    """The score at one rate of collisions, summed over several seeds."""
    tasks, specs = read_folder(folder)
    toolset = toolset_of(specs)
    cases = [make_case(i, task, specs, rate=rate, seed=seed) for seed in seeds for i, task in enumerate(tasks)]
    return score(cases, toolset)[0]


def _observe(spec: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    return {name: _value(name, parameter, chance) for name, parameter in (spec.get("output_parameters") or {}).items()}


_SYLLABLES = "ba ce di fo gu ha je ki lo mu na pe qui ro su ta ve wi xa yo zu".split()  # noqa: SIM905


def _word(chance: random.Random) -> str:
    return "".join(chance.choice(_SYLLABLES) for _ in range(chance.randint(2, 4)))


def _value(name: str, parameter: Any, chance: random.Random) -> Any:
    """Return a value as a tool might return it: by its type, and for texts by its name."""
    parameter = parameter if isinstance(parameter, dict) else {}
    kind, lower = str(parameter.get("type") or "string").lower(), name.lower()
    if kind == "object":
        return {key: _value(key, part, chance) for key, part in (parameter.get("properties") or {}).items()}
    if kind == "array":
        items = parameter.get("items") or {}
        return [_value(name, items, chance) for _ in range(chance.randint(1, 3))]
    if kind == "boolean":
        return chance.random() < 0.5
    if kind in ("number", "integer", "float"):
        if kind != "integer" and re.search(r"rating|score|price|ratio|latitude|longitude", lower):
            return round(chance.uniform(0, 180), 2)
        return chance.randint(1, 10 ** chance.randint(1, 7))
    if re.search(r"id$|code$|cursor$|key$|cik$|number$", lower):
        return f"{chance.choice('ABCDEFGHKMPRS')}{chance.randint(100, 10**7)}"
    if re.search(r"url|link|logo|photo|image|website", lower):
        return f"https://{_word(chance)}.example.org/{_word(chance)}{chance.randint(1, 999)}"
    if re.search(r"date|time|refreshed|created", lower):
        return f"20{chance.randint(18, 25)}-{chance.randint(1, 12):02}-{chance.randint(1, 28):02}"
    if re.search(r"rate|price$|amount", lower):
        return f"{chance.uniform(0.5, 4000):.4f}"
    return " ".join(_word(chance).capitalize() for _ in range(chance.randint(1, 3)))


def _uses(calls: list[dict[str, Any]]) -> Iterator[tuple[str, str, Path_]]:
    """(label of the using call, label of the used one, path in its observation) of every reference to one value."""
    for call in calls:
        for text in _texts(call["arguments"]):
            for match in REFERENCE.finditer(text):
                yield call["label"], match[1], _path(match[2])


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def _path(text: str | None) -> Path_:
    if not text:
        return ()
    steps: list[str | int] = []
    for part in text.split("."):
        name, *indexes = part.replace("]", "").split("[")
        steps.append(name)
        steps.extend(int(index) for index in indexes)
    return tuple(steps)


def _ensure(observation: dict[str, Any], path: Path_, chance: random.Random) -> None:
    """Make sure that a path has a value: some references name fields that the specification leaves out."""
    node: Any = observation
    for step, following in zip(path, [*path[1:], None], strict=True):
        empty: Any = [] if isinstance(following, int) else {} if following is not None else None
        if isinstance(step, int):
            while len(node) <= step:
                node.append(copy.deepcopy(empty))
            node = node[step]
            continue
        if step not in node or (empty is not None and not isinstance(node[step], type(empty))):
            node[step] = _value(step, {}, chance) if empty is None else empty
        node = node[step]


def _at(observation: Any, path: Path_) -> Any:
    for step in path:
        observation = observation[step]
    return observation


def _put(observation: Any, path: Path_, value: Any) -> None:
    _at(observation, path[:-1])[path[-1]] = value


def _collide(
    user: str,
    label: str,
    path: Path_,
    calls: list[dict[str, Any]],
    observations: dict[str, Any],
    message: str,
    dice: random.Random,
) -> str:
    """Show the value at ``path`` in a second place. Return "said", "repeated", or an empty text if there is none."""
    labels = [call["label"] for call in calls]
    others = [
        (other, place)
        for other in labels[: labels.index(user)]
        if other != label
        for place in _leaves(observations[other])
    ]
    words = re.findall(r"[A-Za-z0-9]{4,}", message)
    if others and (not words or dice.random() < 0.5):
        other, place = dice.choice(others)
        _put(observations[other], place, copy.deepcopy(_at(observations[label], path)))
        return "repeated"
    if words:
        _put(observations[label], path, dice.choice(words))
        return "said"
    return ""


def _leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _leaves(part, (*path, key))
    elif isinstance(value, list):
        for i, part in enumerate(value):
            yield from _leaves(part, (*path, i))
    elif path and not isinstance(value, bool):
        yield path


def _filled(value: Any, observations: dict[str, Any]) -> Any:
    """Arguments with every reference replaced by the value it means."""
    if isinstance(value, dict):
        return {key: _filled(part, observations) for key, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, observations) for part in value]
    if not isinstance(value, str):
        return value
    whole = REFERENCE.fullmatch(value)
    if whole:
        return copy.deepcopy(_at(observations[whole[1]], _path(whole[2])))
    return REFERENCE.sub(lambda match: str(_at(observations[match[1]], _path(match[2]))), value)


def main() -> None:
    """Print the table of docs/provenance.md."""
    parser = argparse.ArgumentParser(description="Score suggested dependencies on NESTFUL.")
    parser.add_argument("folder", type=Path, help="the folder with executable-data.json and executable-spec.json")
    parser.add_argument("--seed", type=int, default=1, help="the first seed (1)")
    parser.add_argument("--seeds", type=int, default=10, help="how many seeds to add up (10)")
    parser.add_argument("--wrong", action="store_true", help="show where suggestions differ from the truth, first seed")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.seeds)
    print("| collisions | true edges | suggested | right | precision | recall | also said | also observed |")
    print("|---|---|---|---|---|---|---|---|")
    for rate in RATES:
        one = evaluate(options.folder, rate, seeds)
        said, repeated = (f"{found} of {among}" if among else "–" for found, among in (one.said, one.repeated))
        print(
            f"| {100 * rate:.0f} % | {one.true} | {one.suggested} | {one.right} | {one.precision:.3f} | "
            f"{one.recall:.3f} | {said} | {repeated} |"
        )
    if options.wrong:
        _show_wrong(options.folder, options.seed)


def _show_wrong(folder: Path, seed: int) -> None:
    tasks, specs = read_folder(folder)
    for rate in RATES:
        cases = [make_case(i, task, specs, rate=rate, seed=seed) for i, task in enumerate(tasks)]
        for case, found in score(cases, toolset_of(specs))[1]:
            edges = {(one.step, one.needs): one.why for one in found}
            visible = case.said | case.repeated
            for edge in sorted(case.truth - edges.keys()):
                print(f"{rate:.0%} task {case.number}: {edge} not found{' (collided)' if edge in visible else ''}")
            for edge in sorted(edges.keys() - case.truth):
                print(f"{rate:.0%} task {case.number}: {edge} is wrong: {edges[edge]}")


if __name__ == "__main__":
    main()
