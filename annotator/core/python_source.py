"""Python source as a syntax tree; it is never run."""

import ast
import re
import warnings

#: Python takes a minute to parse an imported name of the longest allowed length.
_MAX_DOTS = 1_000
#: Python reads an f-string again from the beginning for each expression in it.
_MAX_VALUES = 2_000
_WITH_VALUES = re.compile(r"""[fF][rR]?['"]""")
_CONTINUED = re.compile(r"\\\r?\n")


class Unreadable(Exception):
    """The source cannot be parsed; the text says why, as the end of a sentence."""


def parse_source(code: str) -> ast.Module:
    """Return the syntax tree of a source, in time and memory proportional to its length. Raises Unreadable."""
    if any("import" in line and line.count(".") > _MAX_DOTS for line in _CONTINUED.sub("", code).split("\n")):
        raise Unreadable(f"it imports a name with more than {_MAX_DOTS:,} dots")
    if code.count("{") > _MAX_VALUES and _WITH_VALUES.search(code):
        raise Unreadable(f"it has f-strings and more than {_MAX_VALUES:,} opening braces")
    try:
        with warnings.catch_warnings():
            # An invalid escape in a pattern is not a problem.
            warnings.simplefilter("ignore")
            return ast.parse(code.removeprefix("\ufeff"))
    except SyntaxError as error:
        place = f" (line {error.lineno})" if error.lineno else ""
        raise Unreadable(f"{error.msg}{place}") from None
    except (ValueError, RecursionError, MemoryError):
        raise Unreadable("it is nested too deeply, or contains characters that are not allowed in code") from None
