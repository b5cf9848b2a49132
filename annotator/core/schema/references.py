"""Replace local references in a JSON Schema with their targets.

References can make a schema fetch something, recurse without end, or unfold into millions of rules. Without them,
checking a value takes time in proportion to the schema and the value. So every ``$ref`` is inlined here, within limits.
"""

from typing import Any

from annotator.core.schema.canonical import unescape

#: How often one definition is unfolded inside itself (trees, nested filters); deeper levels are not checked.
MAX_RECURSION = 3
#: Objects and lists that one schema may unfold into.
MAX_NODES = 5_000
MAX_DEPTH = 60


_MAPS = frozenset({"properties", "patternProperties", "dependentSchemas"})
#: Their content is values, not schemas: a reference in here is data.
_DATA = frozenset({"enum", "const", "default", "examples", "required", "dependentRequired"})
#: The keys with definitions, which are unfolded where they are used.
_DEFINITIONS = frozenset({"$defs", "definitions"})
_WORDS_ONLY = frozenset({"title", "description", "default", "examples"})


def inline_references(schema: dict[str, Any]) -> dict[str, Any]:
    """Return ``schema`` without ``$ref``; the argument is not changed.

    Raises ValueError, with a sentence, for a reference to something outside the schema or to nothing, and for a schema
    that is nested too deeply or unfolds too far.
    """
    result: dict[str, Any] = _Inliner(schema).unfold(schema, {}, 0)
    return result


class _Inliner:
    def __init__(self, root: dict[str, Any]) -> None:
        self.root = root
        self.left = MAX_NODES

    def unfold(self, node: Any, within: dict[str, int], depth: int) -> Any:
        """Return ``node`` unfolded; ``within`` counts the references that are being unfolded around it."""
        if not isinstance(node, dict | list):
            return node
        self.left -= 1
        if self.left < 0 or depth > MAX_DEPTH:
            raise ValueError("The schema is too large or nested too deeply. Write it with fewer parts.")
        if isinstance(node, list):
            return [self.unfold(part, within, depth + 1) for part in node]
        reference = node.get("$ref")
        if isinstance(reference, str):
            return self._unfold_reference(node, reference, within, depth)
        out: dict[str, Any] = {}
        for key, part in node.items():
            if key in _DEFINITIONS:
                continue
            if key in _DATA:
                out[key] = part
            elif key in _MAPS and isinstance(part, dict):
                out[key] = {name: self.unfold(inner, within, depth + 1) for name, inner in part.items()}
            else:
                out[key] = self.unfold(part, within, depth + 1)
        return out

    def _unfold_reference(self, node: dict[str, Any], reference: str, within: dict[str, int], depth: int) -> Any:
        rest = self.unfold({key: part for key, part in node.items() if key != "$ref"}, within, depth + 1)
        times = within.get(reference, 0)
        target = self._find(reference)
        if times >= MAX_RECURSION:
            return rest
        found = self.unfold(target, {**within, reference: times + 1}, depth + 1)
        if not rest:
            return found
        if isinstance(found, dict) and found.keys() & rest.keys() <= _WORDS_ONLY:
            return {**found, **rest}
        others = rest.pop("allOf", [])
        return {**rest, "allOf": [found, *(others if isinstance(others, list) else [others])]}

    def _find(self, reference: str) -> Any:
        if not reference.startswith("#"):
            raise ValueError(
                f"The schema refers to “{reference[:80]}”, which is not fetched. Copy the definition into the schema."
            )
        node: Any = self.root
        for step in reference.split("/")[1:]:
            key = unescape(step)
            if isinstance(node, dict) and key in node:
                node = node[key]
            elif isinstance(node, list) and key.isascii() and key.isdigit() and int(key) < len(node):
                node = node[int(key)]
            else:
                node = None
        if not isinstance(node, dict | bool) or reference.split("/")[0] != "#":
            raise ValueError(f"The schema refers to “{reference[:80]}”, which does not exist.")
        return node
