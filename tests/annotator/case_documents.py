"""A constrained case without a fault, in our own words, and small hands to put one in."""

from typing import Any

from annotator.core.schema import read_document
from annotator.core.schema.toolsets import CompiledToolset

Document = dict[str, Any]

LIMIT = "Call tools at most four times in all."
ORDER = "Look up the ferry before you look up its timetable."
ROUNDS = "Take no more than six rounds."
LENGTH = "Answer in at most 30 words."
END = "End the answer with a full stop."
PROMPT = f"You answer travellers on the island of Hald.\n\n- {LIMIT}\n- {ORDER}\n- {ROUNDS}\n- {LENGTH}\n- {END}\n"
CODE = """def validate_punctuation(response: str):
    if response.rstrip().endswith("."):
        return True, "The answer ends with a full stop."
    return False, "End the answer with a full stop."
"""
TOOL_CODE = "def find_ferry(harbour):\n    return {'ferry': 'Gull'}\n"


def tool(name: str, argument: str) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {argument: {"type": "string"}}, "required": [argument]}
    return {"type": "function", "function": {"name": name, "description": "", "parameters": parameters}}


TOOLS = [tool("find_ferry", "harbour"), tool("read_timetable", "ferry")]
TOOLSET = CompiledToolset.of_tools(TOOLS)


def constraint(key: str, dimension: str | None, category: str | None, text: str | None, **fields: Any) -> Document:
    return {"id": key, "dimension": dimension, "category": category, "text": text, **fields}


def case(**fields: Any) -> Document:
    """The case, complete, with fields changed."""
    document = {
        "kind": "constrained",
        "language": "en",
        "system_prompt": PROMPT,
        "user_query": "When does the last boat leave Norhavn today?",
        "scenario": "multi_hop",
        "constraints": [
            constraint("c0", "resource", "tool call count", LIMIT, parameters={"min_callTimes": 0, "max_callTimes": 4}),
            constraint(
                "c1", "behavior", "sequential dependencies", ORDER,
                parameters={"order_constraints": [["find_ferry", "read_timetable"]]},
            ),
            constraint("c2", "resource", "interaction rounds", ROUNDS, parameters={"min_round": 0, "max_round": 6}),
            constraint(
                "c3", "response", "length", LENGTH,
                parameters={"min_responseLength": 0, "max_responseLength": 30, "unit": "words"},
            ),
            constraint("c4", "response", "content", END, validator={"code": CODE, "function": "validate_punctuation"}),
        ],
        "answer": "The Gull leaves Norhavn at 21:40.",
        "unsolved_set": {"find_ferry": ["Gull"], "read_timetable": ["21:40"]},
        "reference_trajectory": [
            {"id": "r1", "calls": [call("s1", "find_ferry", {"ferry": "Gull"}, harbour="Norhavn")]},
            {"id": "r2", "calls": [call("s2", "read_timetable", {"last": "21:40"}, ferry="Gull")]},
            {"id": "r3", "final": "The Gull leaves Norhavn at 21:40."},
        ],
        "tool_codes": {"find_ferry": TOOL_CODE, "read_timetable": "def read_timetable(ferry):\n    return '21:40'\n"},
    }  # fmt: skip
    return read_document(document | fields)


def call(key: str, name: str, observation: Any = None, **arguments: Any) -> Document:
    return {"id": key, "name": name, "arguments": arguments, "observation": observation}


def with_constraint(key: str, **fields: Any) -> Document:
    """The case with fields of one constraint changed."""
    document = case()
    constraints = [one | fields if one["id"] == key else one for one in document["constraints"]]
    return read_document(document | {"constraints": constraints})
