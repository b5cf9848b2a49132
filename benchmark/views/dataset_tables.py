"""Tables of what dialogues consist of, from ``DatasetStatistics.summary``; for selections and releases."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.core.dataset_statistics.statistics import NONE
from annotator.presentation.components.labels import words_of
from reviews.views.statistics.layout import Column, Table

_KINDS = {
    "multi_turn": gettext_lazy("Multi-turn dialogues"),
    "single_task": gettext_lazy("Single tasks"),
    "composite": gettext_lazy("Composites"),
    "constrained": gettext_lazy("Constrained cases"),
    "toolset": gettext_lazy("Toolsets"),
}
_STEPS = {
    "call": gettext_lazy("Calls"),
    "clarification": gettext_lazy("Clarifications"),
    "answer": gettext_lazy("Answers"),
}
_MESSAGES = {
    "request": gettext_lazy("User’s request"),
    "reply": gettext_lazy("User’s reply"),
    "question": gettext_lazy("Question of the model"),
    "answer": gettext_lazy("Answer of the model"),
    "system": gettext_lazy("System prompt"),
}
_FORMS = {
    "question": gettext_lazy("Question"),
    "command": gettext_lazy("Command"),
    "other": gettext_lazy("Neither"),
}
#: The most columns of a table of which several are side by side.
_NARROW = 3


@dataclass(frozen=True)
class Part:
    """A part of the page: tables under a heading, with its id."""

    key: str
    title: str
    tables: list[Table]
    note: str = ""

    @property
    def narrow(self) -> list[Table]:
        return [table for table in self.tables if len(table.columns) <= _NARROW]

    @property
    def wide(self) -> list[Table]:
        return [table for table in self.tables if len(table.columns) > _NARROW]


def figures_of(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the main numbers with their labels."""
    use, cases = found["tool_use"], found["constraints"]
    numbers = [
        (_("Dialogues"), found["dialogues"]),
        (_("Tasks"), found["tasks"]),
        (_("Calls"), use["calls"]),
        (_("Tools called"), use["tools"]),
    ]
    numbers += [(_("Constraints"), cases["constraints"])] if cases else []
    return [(label, f"{number:,}") for label, number in numbers]


def parts_of(found: Mapping[str, Any]) -> list[Part]:
    """Return the parts that have rows."""
    parts = [_dialogues(found), _tasks(found), _tools(found["tool_use"]), *map(_messages, found["messages"])]
    if found["constraints"]:
        parts.append(_constraints(found["constraints"]))
    return [part for part in parts if part.tables]


def _dialogues(found: Mapping[str, Any]) -> Part:
    tables = [
        _shares("languages", _("Language"), found["languages"], _labels("language")),
        _shares("tasks", _("Tasks"), found["dialogues_by_tasks"], str),
        _shares(
            "toolset_categories", _("Category of the toolset"), found["toolset_categories"],
            lambda name: _(name) if name else _("Without a category"),
        ),
    ]  # fmt: skip
    if len(found["kinds"]) > 1:
        tables.insert(0, _shares("kinds", _("Kind"), found["kinds"], _named(_KINDS)))
    return Part("dialogues", _("Dialogues"), _filled(tables))


def _tasks(found: Mapping[str, Any]) -> Part:
    count = _("Tasks")
    sizes = [
        (_("Steps of a task"), found["steps_per_task"]),
        (_("Calls of a dialogue"), found["calls_per_dialogue"]),
        (_("Rounds of a case"), found["rounds_per_case"]),
    ]
    tables = [
        _shares("policies", _("Policy"), found["policies"], _labels("policy"), count),
        _shares("information", _("Information"), found["information"], _labels("information"), count),
        _shares("topologies", _("Topology of multi-tool tasks"), found["topologies"], _labels("topology"), count),
        _shares("scenarios", _("Scenario"), found["scenarios"], _labels("scenario"), _("Cases")),
        _shares("steps", _("Step"), found["steps"], _named(_STEPS), _("Steps")),
        _sizes("sizes", _("Size"), [(label, one) for label, one in sizes if one["count"]]),
    ]
    return Part("tasks", _("Tasks and steps"), _filled(tables))


def _tools(use: Mapping[str, Any]) -> Part:
    columns = [
        Column("tool", _("Tool")), Column("parameter", _("Parameter")), Column("values", _("Values"), "count"),
        Column("distinct", _("Different values"), "count"), Column("share", _("Share"), "share"),
    ]  # fmt: skip
    rows = [[*row, row[3] / row[2]] for row in use["by_parameter"]]
    tables = [
        _shares("tools", _("Most called tools"), use["most_called"], str, _("Calls"), use["calls"]),
        _shares(
            "types", _("Type of the tools’ parameters"), use["parameter_types"], _labels("parameter_type"),
            _("Parameters"),
        ),
        Table("values", _("Values of parameters"), columns, rows),
    ]  # fmt: skip
    notes = [
        _("%(count)s different values in %(values)s arguments.")
        % {"count": f"{use['distinct_values']:,}", "values": f"{use['values']:,}"}
    ]
    if use["unknown"]:
        notes.append(_("Calls of tools that the toolset does not have: %(count)s.") % {"count": f"{use['unknown']:,}"})
    if not use["exact"]:
        notes.append(_estimated())
    return Part("tools", _("Tools"), _filled(tables), " ".join(notes) if use["calls"] else "")


def _messages(row: Sequence[Any]) -> Part:
    language, found = row
    lengths: list[tuple[str, Mapping[str, Any]]] = []
    for kind, one in found["lengths"]:
        name = str(_MESSAGES[kind])
        lengths += [
            (_("%(message)s, characters") % {"message": name}, one["characters"]),
            (_("%(message)s, words") % {"message": name}, one["words"]),
        ]
    openings = found["openings"]
    tables = [
        _sizes(f"lengths-{language}", _("Length"), lengths),
        _shares(
            f"forms-{language}", _("Form of the user’s requests"), [row for row in found["forms"] if row[1]],
            _named(_FORMS), _("Requests"),
        ),
        _shares(
            f"openings-{language}", _("Most common openings"),
            [row for row in openings["most_common"] if row[1] > 1], str, _("Requests"),
            sum(count for _form, count in found["forms"]),
        ),
    ]  # fmt: skip
    notes = []
    if found["distinct_1"] is not None:
        notes.append(
            _("Lexical diversity of the user’s requests: distinct-1 %(one)s, distinct-2 %(two)s, in %(words)s words.")
            % {
                "one": f"{found['distinct_1']:.3f}",
                "two": "–" if found["distinct_2"] is None else f"{found['distinct_2']:.3f}",
                "words": f"{found['words']:,}",
            }
        )
        notes.append(_("%(count)s different openings.") % {"count": f"{openings['distinct']:,}"})
    if not (found["exact"] and openings["exact"]):
        notes.append(_estimated())
    title = _("Messages: %(language)s") % {"language": _labels("language")(language)}
    return Part(f"messages-{language}", title, _filled(tables), " ".join(notes))


def _constraints(found: Mapping[str, Any]) -> Part:
    cases = _("Cases")
    tables = [
        _shares(
            "categories", _("Category"), [row for row in found["cases_by_category"] if row[1]], _labels("category"),
            cases, found["cases"],
        ),
        _shares("categories-per-case", _("Categories of a case"), found["cases_by_categories"], str, cases),
        _shares("constraints-per-case", _("Constraints of a case"), found["cases_by_constraints"], str, cases),
        _shares("dimensions", _("Dimension"), found["by_dimension"], _labels("dimension"), _("Constraints")),
        _sizes("constraint-lengths", _("Length"), [(_("Constraint, characters"), found["lengths"])]),
    ]  # fmt: skip
    unlabelled = _("Constraints without a category: %(count)s.") % {"count": f"{found['unlabelled']:,}"}
    return Part("constraints", _("Constraints"), _filled(tables), unlabelled if found["unlabelled"] else "")


def _estimated() -> str:
    return _("There are so many different ones that some figures are estimates from a sample.")


def _filled(tables: Iterable[Table]) -> list[Table]:
    return [table for table in tables if table.rows]


def _labels(kind: str) -> Callable[[str], str]:
    return lambda value: words_of(kind, "" if value == NONE else value)


def _named(names: Mapping[str, Any]) -> Callable[[str], str]:
    return lambda value: str(names.get(value, value))


def _shares(
    key: str, head: str, rows: Sequence[Sequence[Any]], label: Callable[[Any], str], counted: str = "", total: int = 0
) -> Table:
    """Return a table of names, counts and shares: of ``total``, by default of the sum."""
    total = total or sum(count for _name, count in rows)
    columns = [
        Column("name", head), Column("count", counted or _("Dialogues"), "count"), Column("share", _("Share"), "share"),
    ]  # fmt: skip
    return Table(key, head, columns, [[label(name), count, count / total] for name, count in rows])


def _sizes(key: str, head: str, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Table:
    columns = [
        Column("name", head), Column("count", _("Number"), "count"), Column("median", _("Median"), "count"),
        Column("p90", _("90 % at most"), "count"), Column("largest", _("Largest"), "count"),
    ]  # fmt: skip
    names = ("count", "median", "p90", "largest")
    return Table(key, head, columns, [[label, *(one[name] for name in names)] for label, one in rows])
