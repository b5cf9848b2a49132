"""Compare two texts side by side, word by word."""

import re
from collections.abc import Sequence
from enum import StrEnum

#: With more differences, the texts are compared by lines instead of words.
MAX_DIFFERENCES = 500
#: The budget for comparing all texts of a page: words and compared positions. It takes a second or two.
MAX_EFFORT = 2_000_000

# A word, one Chinese, Japanese or Korean character, a run of white space, or any other single character.
_CJK = "\u3005\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_TOKENS = re.compile(rf"[{_CJK}]|[^\W{_CJK}]+|\s+|[^\w\s]")
_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class Part(StrEnum):
    SAME = "same"
    REMOVED = "removed"
    ADDED = "added"


Side = list[tuple[Part, str]]


class Effort:
    """The budget left for comparing the texts of one page."""

    def __init__(self, left: int = MAX_EFFORT) -> None:
        self.left = left


def word_diff(left: str, right: str, effort: Effort | None = None) -> tuple[Side, Side]:
    """Return both texts in parts: the left one as same and removed parts, the right one as same and added parts."""
    effort = effort or Effort()
    if left == right:
        return _sides([(Part.SAME, left)])
    for pattern in (_TOKENS, _LINES):
        if effort.left <= 0:
            break
        kept = _common(pattern.findall(left), pattern.findall(right), effort)
        if kept is not None:
            return kept
    return _sides([(Part.REMOVED, left), (Part.ADDED, right)])


def _common(left: list[str], right: list[str], effort: Effort) -> tuple[Side, Side] | None:
    effort.left -= len(left) + len(right)
    start = 0
    shorter = min(len(left), len(right))
    while start < shorter and left[start] == right[start]:
        start += 1
    end = 0
    while end < shorter - start and left[-1 - end] == right[-1 - end]:
        end += 1
    middle = _shortest_script(left[start : len(left) - end], right[start : len(right) - end], effort)
    if middle is None:
        return None
    same = [(Part.SAME, token) for token in left[:start]]
    tail = [(Part.SAME, token) for token in left[len(left) - end :]]
    return _sides([*same, *_without_islands(middle), *tail])


def _shortest_script(left: Sequence[str], right: Sequence[str], effort: Effort) -> list[tuple[Part, str]] | None:
    """Return the shortest list of parts for both texts; None if it has more than MAX_DIFFERENCES or takes too long."""
    n, m = len(left), len(right)
    furthest = {1: 0}
    trace: list[dict[int, int]] = []
    for d in range(min(n + m, MAX_DIFFERENCES) + 1):
        if effort.left <= 0:
            return None
        effort.left -= d + 1
        trace.append(dict(furthest))
        for k in range(-d, d + 1, 2):
            down = k == -d or (k != d and furthest[k - 1] < furthest[k + 1])
            x = furthest[k + 1] if down else furthest[k - 1] + 1
            y = x - k
            begun = x
            while x < n and y < m and left[x] == right[y]:
                x, y = x + 1, y + 1
            effort.left -= x - begun
            furthest[k] = x
            if x >= n and y >= m:
                return _walk_back(left, right, trace)
    return None


def _walk_back(left: Sequence[str], right: Sequence[str], trace: list[dict[int, int]]) -> list[tuple[Part, str]]:
    x, y = len(left), len(right)
    parts: list[tuple[Part, str]] = []
    for d in range(len(trace) - 1, -1, -1):
        furthest, k = trace[d], x - y
        down = k == -d or (k != d and furthest[k - 1] < furthest[k + 1])
        from_k = k + 1 if down else k - 1
        from_x = furthest[from_k]
        from_y = from_x - from_k
        while x > from_x and y > from_y:
            x, y = x - 1, y - 1
            parts.append((Part.SAME, left[x]))
        if d:
            parts.append((Part.ADDED, right[from_y]) if down else (Part.REMOVED, left[from_x]))
            x, y = from_x, from_y
    parts.reverse()
    return parts


def _without_islands(parts: list[tuple[Part, str]]) -> list[tuple[Part, str]]:
    """Mark white space between two differences as different; a single unchanged blank does not help readers."""
    out: list[tuple[Part, str]] = []
    for index, (kind, text) in enumerate(parts):
        between = 0 < index < len(parts) - 1 and Part.SAME not in (parts[index - 1][0], parts[index + 1][0])
        if kind is Part.SAME and between and text.isspace():
            out += [(Part.REMOVED, text), (Part.ADDED, text)]
        else:
            out.append((kind, text))
    return out


def _sides(parts: list[tuple[Part, str]]) -> tuple[Side, Side]:
    return _joined(parts, Part.ADDED), _joined(parts, Part.REMOVED)


def _joined(parts: list[tuple[Part, str]], without: Part) -> Side:
    out: Side = []
    run: list[str] = []
    kind = Part.SAME
    for part, text in parts:
        if part is without or not text:
            continue
        if run and part is not kind:
            out.append((kind, "".join(run)))
            run = []
        kind = part
        run.append(text)
    return [*out, (kind, "".join(run))] if run else out
