"""The part of a system prompt that states no constraint: what remains of it for a new case."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence

from annotator.core.constraints.anchoring import Span, find_spans, sentences, stating_spans
from annotator.core.constraints.model import Constraint

#: The context of a case whose source has none.
USUAL = "You solve the user’s task with your tools."
_MARKS = " \t-*•0123456789.)"


def context_of(prompt: str, constraints: Sequence[Constraint]) -> str:
    """Return the prompt without the sentences and list items that state ``constraints``, and without the headings of
    lists that are empty then; blank if nothing remains, or if the words of a constraint do.
    """
    stating = _merged([span for constraint in constraints for span in stating_spans(prompt, constraint)])
    rest = _without(prompt, [one for one in sentences(prompt) if _between(stating, one.start, one.end)])
    texts = [constraint.anchor or constraint.text or "" for constraint in constraints]
    return "" if any(find_spans(rest, text) for text in texts) else rest


def with_rules(context: str, rules: Sequence[str]) -> str:
    """Return a system prompt that states ``rules`` in a list."""
    return f"{context or USUAL}\n\nKeep to these rules:\n" + "".join(f"- {rule}\n" for rule in rules)


def _merged(spans: Iterable[Span]) -> list[Span]:
    """Return disjoint spans in order that cover the same characters."""
    out: list[Span] = []
    for span in sorted(spans, key=lambda one: one.start):
        if out and span.start <= out[-1].end:
            out[-1] = Span(out[-1].start, max(out[-1].end, span.end))
        else:
            out.append(span)
    return out


def _between(spans: Sequence[Span], start: int, end: int) -> Sequence[Span]:
    """Return those of disjoint spans in order that overlap a stretch of text."""
    first = bisect_right(spans, start, key=lambda one: one.end)
    return spans[first : bisect_left(spans, end, key=lambda one: one.start)]


def _without(prompt: str, cut: Sequence[Span]) -> str:
    lines: list[str | None] = []
    start = 0
    for line in prompt.splitlines(keepends=True):
        end = start + len(line)
        dropped = _between(cut, start, end)
        edges = [start, *(edge for one in dropped for edge in (max(start, one.start), min(end, one.end))), end]
        parts = [prompt[one:other].strip() for one, other in zip(edges[::2], edges[1::2], strict=True)]
        left = " ".join(filter(None, parts)) if dropped else line.rstrip()
        lines.append(left if not dropped or left.strip(_MARKS) else None)
        start = end
    return "\n".join(_without_empty_lists(lines)).strip()


def _without_empty_lists(lines: Sequence[str | None]) -> list[str]:
    """Drop the lines that announce a list of which no item is left. Lines that are cut whole are None."""
    kept: list[str] = []
    # From the last line: whether a run of cut lines begins there that ends its paragraph, perhaps after blank lines.
    gone = False
    after: str | None = ""
    for line in reversed(lines):
        if line is None:
            gone = gone or after == ""
        else:
            if not (gone and line.endswith((":", "：")) and after in (None, "")):
                kept.append(line)
            gone = gone and line == ""
        after = line
    return kept[::-1]
