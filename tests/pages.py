"""Pages as tests read them."""

import re
from typing import Any

_EDGES = re.compile(r"(<(?!input|br)[a-z][^<>]*>) (?=[^<])| (?=>|</)")


def one_line(answer: Any) -> str:
    """The HTML of an answer, or of a text, on one line: where a template breaks its lines is its own affair.

    White space is one blank, and there is none where an element begins or ends.
    """
    html = answer if isinstance(answer, str) else answer.content.decode()
    return _EDGES.sub(r"\1", re.sub(r"\s+", " ", html))
