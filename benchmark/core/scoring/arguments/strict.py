"""Arguments compared as values: equal JSON, whatever the order of keys; 1 and 1.0 are equal, nothing else is alike."""

import json
from typing import Any

from annotator.core.schema import SchemaProblem
from annotator.core.schema.canonical import canonical, without_kinds


def same(predicted: str, reference: Any) -> bool:
    """Return whether a JSON text is the value of the reference."""
    try:
        return canonical(without_kinds([json.loads(predicted)])) == canonical(without_kinds([reference]))
    except (SchemaProblem, ValueError, RecursionError):
        return False
