"""How well values are traced in made-up dialogues, of which the truth is known.

    .venv/bin/python docs/provenance_synthetic.py [--seed 1] [--each 12] [--half kept] [--ways] [--wrong]

Each way a value can travel (``provenance_ways.py``, ``provenance_phrases.py``) gives ``--each`` dialogues. Every second
way of a table is kept: the rules were written with the others only. ``--half`` chooses one half, ``--ways``
also shows each way, ``--wrong`` also the first dialogue that is judged wrongly.
"""

import argparse
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from provenance_phrases import INVENTED, INVENTED_DATES, SAID
from provenance_ways import EDGES, TRAPS, Made, Way, code

from annotator.core.checks import run_checks
from annotator.core.provenance import suggest_edges
from annotator.core.schema import read_document
from annotator.core.schema.toolsets import CompiledToolset

Half = Literal["open", "kept", "both"]


@dataclass(frozen=True)
class Figure:
    """A share of dialogues. ``most``: the goal is at most this, not at least."""

    name: str
    ways: dict[str, Way]
    goal: float
    most: bool = False


FIGURES = (
    Figure("true sources that are certain", EDGES, 0.90),
    Figure("traps with a certain dependency", TRAPS, 0.05, most=True),
    Figure("said values “without a source”", SAID, 0.10, most=True),
    Figure("invented dates found", INVENTED_DATES, 0.95),
    Figure("other invented values found", INVENTED, 1.00),
)


@dataclass(frozen=True)
class Judged:
    """One dialogue: ``hit`` says whether it counts for its figure."""

    way: str
    hit: bool
    made: Made


def dialogue(made: Made, dice: random.Random) -> tuple[dict[str, Any], CompiledToolset]:
    """The document and the toolset of one made-up value. A value from an observation has other calls around it."""
    fillers = [
        _call("listNotes", {}, {"notes": [{"text": "Buy milk", "noteId": code(dice)}], "sum": round(dice.random(), 5)}),
        _call("getWallet", {}, {"walletId": code(dice), "balance": dice.randint(10**6, 10**7)}),
    ]
    steps = [] if made.observation is None else [_call("lookUp", {}, made.observation)]
    if steps and dice.random() < 0.7:
        steps.insert(dice.randint(0, 1), dice.choice(fillers))
    steps.append(_call("act", {made.argument: made.value}, {"note": "fine so far"}))
    for i, step in enumerate(steps):
        step["id"] = f"s{i}"
    task = {"id": "t1", "user_message": made.message, "steps": steps}
    document: dict[str, Any] = {"kind": "multi_turn", "language": "en", "tasks": [task]}
    if made.today is not None:
        now = made.today.isoformat()
        document["env_info"] = dice.choice([f"Today is {made.today:%A}, {now}.", f"Current time: {now} 10:12"])
    else:
        document["env_info"] = "You help with errands."
    tools = [_tool(name) for name in ("listNotes", "getWallet", "lookUp")]
    kind = {str: "string", int: "integer", float: "number"}[type(made.value)]
    tools.append(_tool("act", **{made.argument: {"type": kind, "description": made.description}}))
    return read_document(document), CompiledToolset.of_tools(tools)


def _call(name: str, arguments: dict[str, Any], observation: Any) -> dict[str, Any]:
    return {"type": "call", "name": name, "arguments": arguments, "observation": observation, "depends_on": None}


def _tool(name: str, /, **properties: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", "properties": properties}}}


def judge(figure: Figure, way: str, made: Made, dice: random.Random) -> Judged:
    """Trace one dialogue. Sources and traps ask for dependencies, the others for the finding “no source”."""
    document, toolset = dialogue(made, dice)
    steps = document["tasks"][0]["steps"]
    if figure.ways in (EDGES, TRAPS):
        needed = {one.needs for one in suggest_edges(document, toolset, "t1") if not one.weak}
        source = next(step["id"] for step in steps if step["name"] == "lookUp")
        return Judged(way, needed == {source} if figure.ways is EDGES else bool(needed), made)
    found = run_checks(document, toolset, stage="submit")
    return Judged(way, any(one.check == "provenance.no_source" for one in found), made)


def judged(figure: Figure, *, seed: int, each: int, half: Half = "both") -> Iterator[Judged]:
    """Judge every way of a half, ``each`` times. The same arguments give the same dialogues on every machine."""
    for number, (way, make) in enumerate(figure.ways.items()):
        if half == "both" or (number % 2 == 1) == (half == "kept"):
            for i in range(each):
                dice = random.Random(f"{seed}:{way}:{i}")  # noqa: S311 - made-up data
                yield judge(figure, way, make(dice), dice)


def main() -> None:
    """Print the table of docs/provenance.md."""
    parser = argparse.ArgumentParser(description="Score provenance on made-up dialogues.")
    parser.add_argument("--seed", type=int, default=1, help="the seed (1)")
    parser.add_argument("--each", type=int, default=12, help="how many dialogues of each way (12)")
    parser.add_argument("--half", choices=("open", "kept", "both"), default="kept", help="which ways (kept)")
    parser.add_argument("--ways", action="store_true", help="show the figure of every way")
    parser.add_argument("--wrong", action="store_true", help="also show what is judged wrongly, one of each way")
    options = parser.parse_args()
    print("| figure | ways | dialogues | share | goal |")
    print("|---|---|---|---|---|")
    details = []
    for figure in FIGURES:
        rows = list(judged(figure, seed=options.seed, each=options.each, half=options.half))
        sign = "at most" if figure.most else "at least"
        ways = dict.fromkeys(one.way for one in rows)
        share = sum(one.hit for one in rows) / len(rows)
        print(f"| {figure.name} | {len(ways)} | {len(rows)} | {share:.1%} | {sign} {figure.goal:.0%} |")
        for way in ways:
            hits = [one.hit for one in rows if one.way == way]
            wrong = next((one for one in rows if one.way == way and one.hit is figure.most), None)
            details.append(f"{figure.name}: {way}: {sum(hits)} of {len(hits)}")
            if options.wrong and wrong:
                made = wrong.made
                details[-1] += f" – {made.argument}={made.value!r} “{made.message}” {made.observation} {made.today}"
    if options.ways or options.wrong:
        print("\n".join(["", *details]))


if __name__ == "__main__":
    main()
