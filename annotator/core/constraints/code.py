"""Analyse validator code without running it: whether it can be read, and which functions it defines."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from annotator.core.python_source import Unreadable, parse_source

#: The prefix of the function that judges one constraint in the published files.
PREFIX = "validate"


@dataclass(frozen=True, slots=True)
class Outline:
    """``functions``: name → whether it can be called with one response. ``problem``: why the code cannot be read."""

    functions: dict[str, bool]
    problem: str = ""

    @property
    def validators(self) -> list[str]:
        """The functions that judge responses, by their names."""
        return [name for name in self.functions if name == PREFIX or name.startswith(f"{PREFIX}_")]


@lru_cache(maxsize=512)
def outline(code: str) -> Outline:
    """Parse code; it is never run."""
    try:
        tree = parse_source(code)
    except Unreadable as error:
        return Outline({}, str(error))
    return Outline({name: _takes_one(given) for name, given in _functions(tree.body)})


def _functions(body: list[ast.stmt]) -> Iterator[tuple[str, ast.arguments]]:
    """Yield what a module's own statements define, including under a condition, and lambdas."""
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, node.args
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Lambda):
            yield from ((target.id, node.value.args) for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.If | ast.Try | ast.With):
            parts = [node.body, getattr(node, "orelse", []), getattr(node, "finalbody", [])]
            parts += [handler.body for handler in getattr(node, "handlers", [])]
            for part in parts:
                yield from _functions(part)


def _takes_one(given: ast.arguments) -> bool:
    places = len(given.posonlyargs) + len(given.args)
    needed = places - len(given.defaults)
    keywords = sum(default is None for default in given.kw_defaults)
    return needed <= 1 and (places >= 1 or given.vararg is not None) and not keywords


def function_for(words: tuple[str | None, ...], found: Outline) -> str | None:
    """Return the function that judges the constraint named by these words (its native label, its category), if obvious.

    The one named after a word (Punctuation → validate_punctuation), else the only validator.
    """
    for word in words:
        name = f"{PREFIX}_{re.sub(r'[^a-z0-9]+', '_', word.strip().lower())}" if word else ""
        if name in found.functions:
            return name
    return found.validators[0] if len(found.validators) == 1 else None
