"""The sections of a release's card about what its dialogues consist of: sizes, tools, messages, constraints."""

from collections.abc import Mapping, Sequence
from typing import Any

from benchmark.core.archives.quoting import markdown_text

#: Tools and openings that the card names; the manifest has more.
_NAMED = 10
_LANGUAGES = {"en": "English", "zh": "Chinese", "none": "no language"}
_SIZES = (
    ("steps_per_task", "Steps of a task"),
    ("calls_per_dialogue", "Calls of a dialogue"),
    ("rounds_per_case", "Rounds of a case"),
)
_MESSAGES = {
    "request": "user's request",
    "reply": "user's reply",
    "question": "question of the model",
    "answer": "answer of the model",
    "system": "system prompt",
}


def statistics_sections(found: Mapping[str, Any] | None) -> list[str]:
    """Return the sections, in Markdown, from ``DatasetStatistics.summary``; none without it."""
    if found is None:
        return []
    use = found["tool_use"]
    lengths = [
        (f"{_LANGUAGES.get(language, language)}: {_MESSAGES[kind]}, {unit}", one[unit])
        for language, messages in found["messages"]
        for kind, one in messages["lengths"]
        for unit in ("characters", "words")
    ]
    return [
        "## Dataset statistics",
        "Counted when the release was frozen; `manifest.json` has them under `statistics`. Median and 90 % are numbers "
        "that occur. A Chinese character counts as a word.",
        *_table(
            "Sizes",
            ("", "number", "median", "90 % at most", "largest"),
            [
                _size(title, one)
                for title, one in [*((title, found[name]) for name, title in _SIZES), *lengths]
                if one["count"]
            ],
        ),
        *_counts("Steps", found["steps"]),
        *_counts(f"Most called of {use['tools']:,} tools", use["most_called"][:_NAMED]),
        *_counts("Types of the called tools' parameters", use["parameter_types"]),
        *_diversity(found),
        *_constraints(found["constraints"]),
    ]


def _diversity(found: Mapping[str, Any]) -> list[str]:
    use = found["tool_use"]
    lines = []
    if use["values"]:
        lines.append(f"- {use['distinct_values']:,} different values in {use['values']:,} arguments.")
    for language, messages in found["messages"]:
        forms = ", ".join(f"{form} {count:,}" for form, count in messages["forms"] if count)
        if not forms:
            continue
        openings = messages["openings"]
        common = ", ".join(
            f"“{markdown_text(text)}” {count:,}" for text, count in openings["most_common"][:_NAMED] if count > 1
        )
        lines += [
            f"- {_LANGUAGES.get(language, language)}: requests by form: {forms}.",
            f"  Distinct-1 {_share(messages['distinct_1'])}, distinct-2 {_share(messages['distinct_2'])} in "
            f"{messages['words']:,} words. {openings['distinct']:,} different openings"
            + (f"; most common: {common}." if common else "."),
        ]
    return ["### Diversity", "\n".join(lines)] if lines else []


def _constraints(found: Mapping[str, Any] | None) -> list[str]:
    if found is None:
        return []
    without = f", {found['unlabelled']:,} of them without a category" if found["unlabelled"] else ""
    return [
        *_counts(
            f"Cases by category of their constraints ({found['constraints']:,} constraints in {found['cases']:,} "
            f"cases{without})",
            [row for row in found["cases_by_category"] if row[1]],
        ),
        *_counts("Cases by number of categories", found["cases_by_categories"]),
        *_counts("Cases by number of constraints", found["cases_by_constraints"]),
        *_counts("Constraints by dimension", found["by_dimension"]),
    ]


def _size(title: str, one: Mapping[str, Any]) -> list[str]:
    return [title, *(f"{one[name]:,}" for name in ("count", "median", "p90", "largest"))]


def _counts(title: str, rows: Sequence[Sequence[Any]]) -> list[str]:
    return _table(title, ("", "number"), [[markdown_text(str(name)) or "–", f"{count:,}"] for name, count in rows])


def _table(title: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}", *(f"| {' | '.join(row)} |" for row in rows)]
    return [f"### {title}", "\n".join(lines)]


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f}"
