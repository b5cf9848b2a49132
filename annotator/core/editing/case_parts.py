"""Edits of the parts of a constrained case: constraints and their variants, rounds and their calls.

A new part gets a unique id: if two people add a constraint to the same case, there are two, and the comparison
recognises equal ones (``annotator.core.comparison.alignment``).
"""

import re
import secrets
from collections.abc import Iterable
from typing import Any

from annotator.core.comparison.anchors import below, find, join, position
from annotator.core.constraints.anchoring import find_spans
from annotator.core.constraints.taxonomy import find_category, proposed_text
from annotator.core.editing.scope import Edit
from annotator.core.schema.constrained import MAX_CONSTRAINTS, MAX_ROUNDS

Part = dict[str, Any]

#: The beginning of a list item in a system prompt: white space, a mark or a number, white space.
_ITEM = re.compile(r"^(\s*)([-*•]|(\d{1,3})[.)])(\s+)\S")


# --- constraints


def add_constraint(edit: Edit) -> str:
    """Add a constraint of a category, with initial parameters and the sentence that they make."""
    constraints: list[Part] = edit.document["constraints"]
    category = find_category(edit.text("category", ""))
    if category is None:
        edit.refuse("Choose one of the categories of constraints.", "/constraints")
    if len(constraints) >= MAX_CONSTRAINTS:
        edit.refuse(f"The case has {MAX_CONSTRAINTS} constraints, which is the limit.", "/constraints")
    parameters = category.usual(_tools(edit))
    constraint: Part = {
        "id": new_id("c", (one["id"] for one in constraints)),
        "dimension": category.dimension.value,
        "category": category.id,
        "text": proposed_text(category.id, parameters) or None,
        "parameters": parameters,
    }
    index = edit.after(constraints)
    constraints.insert(len(constraints) if index is None else index, constraint)
    return below("/constraints", constraint["id"])


def delete_constraint(edit: Edit) -> str:
    constraints: list[Part] = edit.document["constraints"]
    index = find(constraints, _constraint(edit)["id"])
    del constraints[index]
    return below("/constraints", constraints[min(index, len(constraints) - 1)]["id"]) if constraints else "/constraints"


def move_constraint(edit: Edit) -> str:
    constraints: list[Part] = edit.document["constraints"]
    constraint = _constraint(edit)
    index = find(constraints, constraint["id"])
    constraints.insert(edit.target(constraints, index), constraints.pop(index))
    return below("/constraints", constraint["id"])


def state_constraint(edit: Edit) -> str:
    """Add the constraint's text to the system prompt, as its last line; the text is then its span."""
    constraint = _constraint(edit)
    text = " ".join((constraint["text"] or "").split())
    prompt: str = edit.document["system_prompt"] or ""
    if not text:
        edit.refuse("The constraint has no text yet. Write it, or use the sentence made from its parameters.")
    if find_spans(prompt, text):
        edit.refuse("The system prompt already states this constraint.")
    lines = prompt.rstrip("\n").split("\n")
    edit.document["system_prompt"] = "\n".join([*lines, _item_after(lines[-1]) + text] if prompt.strip() else [text])
    edit.document["system_prompt"] += "\n" if prompt.endswith("\n") else ""
    constraint["anchor"] = None
    return below("/constraints", constraint["id"])


def add_variant(edit: Edit) -> str:
    """Add a variant: other parameters if a tool is among those called first; they start as the constraint's own."""
    constraint = _constraint(edit)
    taken = {name for variant in constraint["variants"] for name in variant["first"]}
    free = next((name for name in _tools(edit) if name not in taken), None)
    name = edit.text("name", free or "")
    if not name:
        edit.refuse("Every tool of the case already has a variant. Change one of these.")
    constraint["variants"].append(
        {"first": [edit.known_tool(name)], "parameters": dict(constraint["parameters"] or {})}
    )
    return f"{below('/constraints', constraint['id'])}/variants/{len(constraint['variants']) - 1}"


def set_variant(edit: Edit) -> str:
    """Change a variant: the tools called first, its parameters, or both."""
    variant = _constraint(edit)["variants"][_variant(edit)]
    value = edit.value()
    if not isinstance(value, dict) or not value or value.keys() - {"first", "parameters"}:
        edit.refuse("A variant needs the tools called first, and parameters.")
    if "first" in value and not value["first"]:
        edit.refuse("Name at least one tool that is called first, or delete the variant.")
    variant |= value
    return edit.anchor


def delete_variant(edit: Edit) -> str:
    constraint = _constraint(edit)
    del constraint["variants"][_variant(edit)]
    return below("/constraints", constraint["id"])


# --- the reference trajectory


def add_round(edit: Edit) -> str:
    """Add a round: with a call of the tool “name”, or else the final response, at the end or after “after”."""
    rounds: list[Part] = edit.document["reference_trajectory"] or []
    if len(rounds) >= MAX_ROUNDS:
        edit.refuse(f"The trajectory has {MAX_ROUNDS:,} rounds, which is the limit.")
    round_: Part = {"id": new_id("r", (one["id"] for one in rounds)), "calls": []}
    if "name" in edit.op:
        round_["calls"].append(_new_call(edit, rounds))
    else:
        round_["final"] = edit.text("final", "")
    index = edit.after(rounds)
    if index is None:
        # Calls come before a final response that ends the trajectory.
        index = len(rounds) - bool(round_["calls"] and rounds and rounds[-1]["final"] is not None)
    rounds.insert(index, round_)
    edit.document["reference_trajectory"] = rounds
    return below("/reference_trajectory", round_["id"])


def delete_round(edit: Edit) -> str:
    """Delete a round; without any, the trajectory is not annotated."""
    rounds: list[Part] = edit.document["reference_trajectory"] or []
    index = find(rounds, _round(edit)["id"])
    del rounds[index]
    if not rounds:
        edit.document["reference_trajectory"] = None
        return "/reference_trajectory"
    return below("/reference_trajectory", rounds[min(index, len(rounds) - 1)]["id"])


def move_round(edit: Edit) -> str:
    rounds: list[Part] = edit.document["reference_trajectory"] or []
    round_ = _round(edit)
    index = find(rounds, round_["id"])
    rounds.insert(edit.target(rounds, index), rounds.pop(index))
    return below("/reference_trajectory", round_["id"])


def add_call(edit: Edit) -> str:
    """Add a call of the tool “name” to the parallel calls of a round."""
    round_ = _round(edit)
    if round_["final"] is not None:
        edit.refuse("This round is a final response and cannot have calls. Add another round for the call.")
    call = _new_call(edit, edit.document["reference_trajectory"])
    index = edit.after(round_["calls"])
    round_["calls"].insert(len(round_["calls"]) if index is None else index, call)
    return f"{below('/reference_trajectory', round_['id'])}/calls/{call['id']}"


def delete_call(edit: Edit) -> str:
    """Delete a call; the last one of a round removes the round."""
    round_, call = _round(edit), _call(edit)
    round_["calls"].remove(call)
    return below("/reference_trajectory", round_["id"]) if round_["calls"] else delete_round(edit)


def move_call(edit: Edit) -> str:
    round_, call = _round(edit), _call(edit)
    index = find(round_["calls"], call["id"])
    round_["calls"].insert(edit.target(round_["calls"], index), round_["calls"].pop(index))
    return edit.anchor


# --- the unsolved set


def add_expected(edit: Edit) -> str:
    """Add a tool, by “name”, to the unsolved set."""
    expected: dict[str, Any] = edit.document["unsolved_set"] or {}
    name = edit.known_tool(edit.op.get("name"))
    if name in expected:
        edit.refuse(f"The unsolved set already has {name[:80]}. Change it there.", "/unsolved_set")
    edit.document["unsolved_set"] = expected | {name: []}
    return below("/unsolved_set", name)


def delete_expected(edit: Edit) -> str:
    parts = edit.parts()
    if len(parts) != 2 or parts[0] != "unsolved_set":
        edit.refuse("This edit needs a tool of the unsolved set, such as /unsolved_set/find_ferry.")
    edit.at(edit.anchor)
    del edit.document["unsolved_set"][parts[1]]
    return "/unsolved_set"


# --- helpers


def new_id(prefix: str, used: Iterable[str]) -> str:
    """Return a unique id: 32 random bits."""
    taken = set(used)
    while (key := f"{prefix}-{secrets.token_hex(4)}") in taken:
        pass
    return key


def _constraint(edit: Edit) -> Part:
    parts = edit.parts()
    if len(parts) < 2 or parts[0] != "constraints":
        edit.refuse("This edit needs the anchor of a constraint, such as /constraints/c0.")
    constraint: Part = edit.at(join(parts[:2]))
    return constraint


def _variant(edit: Edit) -> int:
    parts = edit.parts()
    variants = _constraint(edit)["variants"]
    index = position(parts[3], len(variants)) if len(parts) == 4 and parts[2] == "variants" else -1
    if index < 0:
        edit.refuse("This variant no longer exists. Reload the page.")
    return index


def _round(edit: Edit) -> Part:
    parts = edit.parts()
    if len(parts) < 2 or parts[0] != "reference_trajectory":
        edit.refuse("This edit needs the anchor of a round, such as /reference_trajectory/r1.")
    round_: Part = edit.at(join(parts[:2]))
    return round_


def _call(edit: Edit) -> Part:
    parts = edit.parts()
    if len(parts) != 4 or parts[2] != "calls":
        edit.refuse("This edit needs the anchor of a call, such as /reference_trajectory/r1/calls/s1.")
    call: Part = edit.at(edit.anchor)
    return call


def _new_call(edit: Edit, rounds: list[Part]) -> Part:
    used = (call["id"] for round_ in rounds for call in round_["calls"])
    return {"id": new_id("s", used), "name": edit.known_tool(edit.op.get("name")), "arguments": {}}


def _tools(edit: Edit) -> list[str]:
    return list(edit.toolset.tools) if edit.toolset is not None else []


def _item_after(line: str) -> str:
    """Return the beginning of the next item after ``line`` in the same list; empty if there is none."""
    match = _ITEM.match(line)
    if not match:
        return ""
    lead, mark, number, gap = match.groups()
    return f"{lead}{int(number) + 1}{mark[-1]}{gap}" if number else f"{lead}{mark}{gap}"
