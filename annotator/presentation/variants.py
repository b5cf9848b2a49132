"""Two language variants side by side, arranged for a page."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.core.comparison.anchor_wording import part_words
from annotator.core.comparison.anchors import lineage
from annotator.core.comparison.change_lines import short_value
from annotator.core.comparison.variant_alignment import Pair, Row
from annotator.core.comparison.variant_staleness import Stale
from annotator.core.comparison.variant_values import Comparison, Found, Problem
from annotator.presentation.changes import value_as_text
from annotator.translation import place_name, translated_text

Documents = tuple[dict[str, Any], dict[str, Any]]
#: Fields that a page shows; characters of each text.
MAX_ROWS, MAX_TEXT = 1500, 4000
_QUOTE = 120

_PROBLEMS = {
    Problem.MISSING: gettext_lazy("Only one variant has this"),
    Problem.DIFFERS: gettext_lazy("Must be equal"),
    Problem.INCONSISTENT: gettext_lazy("Translated in two ways"),
    Problem.UNTRANSLATED: gettext_lazy("Not translated yet"),
}


@dataclass(slots=True)
class Line:
    """A field of both variants. ``key``: its id on the page; ``texts``: None where a variant does not have it."""

    key: str
    label: str
    texts: tuple[str | None, str | None]
    problems: list[str] = field(default_factory=list)
    #: Whether it is stale in each of the two.
    stale: list[bool] = field(default_factory=lambda: [False, False])

    @property
    def is_same(self) -> bool:
        """Return whether one text says everything about both."""
        return self.texts[0] == self.texts[1] and not self.problems and not any(self.stale)


@dataclass(slots=True)
class Group:
    """The fields of corresponding tasks or steps."""

    title: str
    is_task: bool
    lines: list[Line]


@dataclass(slots=True)
class Mark:
    """A stale place or a problem, as a sentence. ``key``: the field on the page, blank if it is not shown. ``side``: in
    which variant it is stale; ``place``: the anchor there.
    """

    sentence: str
    key: str
    side: int = 0
    place: str = ""
    before: str = ""
    after: str = ""


@dataclass(slots=True)
class VariantsView:
    """A page of two variants. ``left_out``: fields that are not shown, because there are too many."""

    stale: list[Mark]
    problems: list[Mark]
    groups: list[Group]
    terms: list[tuple[str, list[tuple[str, int]]]]
    left_out: int


def present_variants(comparison: Comparison, stale: Sequence[Stale], documents: Documents) -> VariantsView:
    """Arrange a comparison; ``stale``: what is stale in each, ``documents``: the content of both."""
    wrong = {id(found.row) for found in comparison.found}
    said = [row for row in comparison.rows if id(row) in wrong or not _says_nothing(row)]
    shown = said[:MAX_ROWS]
    groups, lines = _groups(comparison.pairs, shown, documents)
    places = [_index((row.one, line.key) for row, line in zip(shown, lines, strict=True))]
    places.append(_index((row.other, line.key) for row, line in zip(shown, lines, strict=True)))
    by_key = {line.key: line for line in lines}
    marks = []
    for one in stale:
        mark = _stale_mark(one, documents, places)
        marks.append(mark)
        if mark.key and one.place in places[one.side]:
            by_key[mark.key].stale[one.side] = True
    by_row = {id(row): line for row, line in zip(shown, lines, strict=True)}
    problems = []
    for found in comparison.found:
        line = by_row.get(id(found.row))
        if line is not None:
            line.problems.append(str(_PROBLEMS[found.problem]))
        problems.append(_problem_mark(found, line.key if line is not None else "", documents))
    terms = [
        (term.text, [(text, len(at)) for text, at in term.translations.items()]) for term in comparison.terms[:MAX_ROWS]
    ]
    return VariantsView(marks, problems, groups, terms, len(said) - len(shown))


def _says_nothing(row: Row) -> bool:
    """Return whether neither variant has a value there, or the title of the step has it."""
    empty = row.value in (None, [], {}) and row.other_value in (None, [], {})
    return empty or (row.pair.step > 0 and row.one[len(row.pair.one) :] in ("/type", "/name"))


def _groups(pairs: Sequence[Pair], rows: Sequence[Row], documents: Documents) -> tuple[list[Group], list[Line]]:
    by_pair: dict[Pair, list[Row]] = {pair: [] for pair in pairs}
    for row in rows:
        by_pair[row.pair].append(row)
    groups: list[Group] = []
    lines: list[Line] = []
    for pair, held in by_pair.items():
        if not held:
            continue
        group = Group(_title(pair, documents), pair.step == 0, [])
        for row in held:
            label = capfirst(translated_text(part_words(row.one or row.other)))
            line = Line(
                f"field-{len(lines) + 1}", label, (_text(row.one, row.value), _text(row.other, row.other_value))
            )
            group.lines.append(line)
            lines.append(line)
        groups.append(group)
    return groups, lines


def _title(pair: Pair, documents: Documents) -> str:
    if pair.task == 0:
        return _("The whole dialogue")
    side = 0 if pair.one else 1
    return capfirst(place_name(documents[side], pair.one or pair.other))


def _text(anchor: str, value: Any) -> str | None:
    if not anchor:
        return None
    text = value_as_text(anchor, value)
    return text if len(text) <= MAX_TEXT else f"{text[:MAX_TEXT]}…"


def _index(places: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return {a place and every place above it: the first field there}."""
    out: dict[str, str] = {}
    for anchor, key in places:
        for above in lineage(anchor) if anchor else ():
            out.setdefault(above, key)
    return out


def _nearest(place: str, known: dict[str, str]) -> str:
    return next((known[above] for above in lineage(place) if above in known), "")


def _stale_mark(one: Stale, documents: Documents, places: Sequence[dict[str, str]]) -> Mark:
    change, source = one.change, 1 - one.side
    sentence = capfirst(place_name(documents[source], change.anchor))
    texts = [_quoted(change.anchor, value) for value in (change.before, change.after)]
    return Mark(sentence, _nearest(one.place, places[one.side]), one.side, one.place, *texts)


def _quoted(anchor: str, value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else value_as_text(anchor, value)
    return short_value(text, _QUOTE) if len(text) > _QUOTE or "\n" in text else text


def _problem_mark(found: Found, key: str, documents: Documents) -> Mark:
    row = found.row
    where = place_name(documents[0], row.one) if row.one else place_name(documents[1], row.other)
    sentence = _("%(place)s: %(problem)s") % {"place": capfirst(where), "problem": _PROBLEMS[found.problem]}
    return Mark(sentence, key, found.side or 0, row.other if found.side else row.one)
