"""Check simulated results against what functions say that they return."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from annotator.core.schema.errors import SchemaProblem
from annotator.core.schema.exact_json import dumps, load_stored
from annotator.core.schema.references import inline_references
from annotator.core.schema.toolsets import CompiledToolset, Tool
from annotator.core.schema.violations import find_violations


def response_problem(name: str, result: Any, tools: Sequence[Mapping[str, Any]]) -> str:
    """Return what of a result does not fit the function's “response”, as a sentence; empty if all does."""
    for tool in tools:
        function = tool.get("function", tool)
        if function["name"] == name and isinstance(function.get("response"), dict):
            checker = _checker(dumps(function["response"]).decode())
            if checker is not None:
                found = next(iter(find_violations(checker, {"response": result}, "")), None)
                return "" if found is None else found.message
    return ""


@lru_cache(maxsize=256)
def _checker(response: str) -> Tool | None:
    """Return a tool whose one argument is what a function returns; None if its description can't be used."""
    try:
        # A response may be a list, which parameters may not.
        whole = {"type": "object", "properties": {"response": inline_references(load_stored(response))}}
        tool = CompiledToolset.of_tools([{"name": "response", "parameters": whole}]).tools["response"]
    except (SchemaProblem, ValueError):
        return None
    return None if tool.spec.broken else tool
