"""Analyse validator code without running it: whether it can be read, and which functions it defines."""

import ast
import re
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

#: The prefix of the function that judges one constraint in the published files.
PREFIX = "validate"
#: Python takes a minute to parse an imported name of the longest allowed length.
_MAX_DOTS = 1_000
#: Python reads an f-string again from the beginning for each expression in it.
_MAX_VALUES = 2_000
_WITH_VALUES = re.compile(r"""[fF][rR]?['"]""")
_CONTINUED = re.compile(r"\\\r?\n")


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
    if any("import" in line and line.count(".") > _MAX_DOTS for line in _CONTINUED.sub("", code).split("\n")):
        return Outline({}, f"it imports a name with more than {_MAX_DOTS:,} dots")
    if code.count("{") > _MAX_VALUES and _WITH_VALUES.search(code):
        return Outline({}, f"it has f-strings and more than {_MAX_VALUES:,} opening braces")
    try:
        with warnings.catch_warnings():
            # An invalid escape in a pattern is not a problem.
            warnings.simplefilter("ignore")
            tree = ast.parse(code.removeprefix("\ufeff"))
    except SyntaxError as error:
        place = f" (line {error.lineno})" if error.lineno else ""
        return Outline({}, f"{error.msg}{place}")
    except (ValueError, RecursionError, MemoryError):
        return Outline({}, "it is nested too deeply, or contains characters that are not allowed in code")
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
