"""What the workbench of a validator shows of a trial: rows with words, and the form that says the same."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.text import Truncator

from annotator.core.sandbox.results import Status
from annotator.core.validators import FORMS, Suggestion, fitting, suggest
from annotator.core.validators.matrix import RowKind
from annotator.models import ValidatorTrial

#: What each kind of row demands, in words.
_MUST = {True: ("Accept it", "check"), False: ("Reject it", "cross"), None: ("Either", "minus")}


@dataclass(frozen=True)
class RowView:
    """A response, what the validator must say of it, what it said, and whether that is right."""

    key: str
    title: str
    text: str
    cut: bool
    must: str
    must_icon: str
    does: str
    does_icon: str
    #: Right, Wrong, Survives, Too strict, No verdict; with its tone and icon.
    word: str
    tone: str
    icon: str
    message: str
    wrong: bool
    #: Whether it is a stored example already, and whether somebody typed it.
    stored: bool
    typed: bool


def row_views(trial: ValidatorTrial) -> list[RowView]:
    """The matrix of a trial, what is wrong first."""
    views = [_view(row) for row in trial.matrix.rows]
    return sorted(views, key=lambda view: not view.wrong)


def text_views(rows: Sequence[dict[str, Any]]) -> list[RowView]:
    """Verdicts on typed texts, of which nothing is demanded."""
    return [
        _view(
            {"key": str(n), "title": Truncator(" ".join(row["text"].split())).chars(60) or "Nothing", "kind": "typed"}
            | row
        )
        for n, row in enumerate(rows, 1)
    ]


def _view(row: dict[str, Any]) -> RowView:
    expected, accepted = row.get("expected"), row["accepted"]
    must, must_icon = _MUST[expected]
    status = Status(row["status"])
    does, does_icon = {True: ("Accepts it", "check"), False: ("Rejects it", "cross")}.get(
        accepted, ("Gives no verdict", "error")
    )
    word, tone, icon = _judged(row["kind"], expected, accepted)
    message = row["message"]
    if status is not Status.OK and not message.startswith("Not tried"):
        message = f"{status.words} {message}".strip() if message != status.words else message
    return RowView(
        key=row["key"],
        title=row["title"],
        text=row["text"],
        cut=len(row["text"]) < row["length"],
        must=must,
        must_icon=must_icon,
        does=does,
        does_icon=does_icon,
        word=word,
        tone=tone,
        icon=icon,
        message=message,
        wrong=tone in ("bad", "warn"),
        stored=row["kind"] in (RowKind.REFERENCE, RowKind.GOOD, RowKind.BAD),
        typed=row["kind"] == "typed",
    )


def _judged(kind: str, expected: bool | None, accepted: bool | None) -> tuple[str, str, str]:
    must = kind in (RowKind.REFERENCE, RowKind.GOOD, RowKind.BAD)
    if accepted is None:
        return ("No verdict", "bad" if must else "warn", "error" if must else "warning")
    if expected is None:
        return ("As it likes", "neutral", "minus")
    if accepted == expected:
        return ("Right", "good", "check")
    if must:
        return ("Wrong", "bad", "error")
    return ("Survives", "warn", "warning") if accepted else ("Too strict", "warn", "warning")


def same_as(text: str, trial: ValidatorTrial | None) -> list[Suggestion]:
    """Ready forms that a constraint's words ask for and that judged every response as its code did."""
    if trial is None:
        return []
    rows = trial.matrix.rows
    if any(row["accepted"] is None or len(row["text"]) < row["length"] for row in rows):
        return []
    return fitting({row["text"]: row["accepted"] for row in rows}, suggest(text))


def described(suggestion: Suggestion) -> str:
    """A form with its parameters in a few words."""
    parts = []
    for name, value in suggestion.parameters.items():
        if value not in (None, [], False):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            parts.append(f"{name.replace('_', ' ')}: {shown}")
    return f"{suggestion.form.title} ({'; '.join(parts)})" if parts else suggestion.form.title


def forms_to_choose(text: str, chosen: str | None) -> list[tuple[str, str, bool]]:
    """(key, title, chosen) of every ready form; those that the constraint's words ask for come first."""
    wanted = [one.form.key for one in suggest(text)]
    order = [*wanted, *(key for key in FORMS if key not in wanted)]
    return [(key, FORMS[key].title + (" (the sentence asks for it)" if key in wanted else ""), key == chosen)
            for key in order]  # fmt: skip
