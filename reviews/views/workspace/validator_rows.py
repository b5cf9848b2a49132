"""The rows of a validator's trial, and the built-in validators that agree with its code."""

from collections.abc import Sequence
from typing import Any

from django.utils.text import Truncator
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from annotator.core.sandbox.results import Status
from annotator.core.validators import FORMS, Suggestion, fitting, suggest
from annotator.core.validators.matrix import RowKind
from annotator.models import ValidatorTrial

#: (label, icon) of what a row expects, and of what the validator returned.
_EXPECTED = {
    True: (gettext_lazy("Accept"), "check"),
    False: (gettext_lazy("Reject"), "cross"),
    None: (gettext_lazy("Either"), "minus"),
}
_ACTUAL = {
    True: (gettext_lazy("Accepts"), "check"),
    False: (gettext_lazy("Rejects"), "cross"),
    None: (gettext_lazy("No verdict"), "error"),
}


def row_views(trial: ValidatorTrial) -> list[dict[str, Any]]:
    """Return the matrix of a trial, problems first."""
    views = [_view(row) for row in trial.matrix.rows]
    return sorted(views, key=lambda view: not view["wrong"])


def text_views(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the verdicts on typed texts, which have no expected verdict."""
    return [
        _view({"key": str(n), "title": _title(row["text"]), "kind": "typed"} | row) for n, row in enumerate(rows, 1)
    ]


def _title(text: str) -> str:
    return Truncator(" ".join(text.split())).chars(60) or _("Empty text")


def _view(row: dict[str, Any]) -> dict[str, Any]:
    """Return a response with the expected and the actual verdict, and the result with its tone and icon."""
    expected, accepted = row.get("expected"), row["accepted"]
    must, must_icon = _EXPECTED[expected]
    status = Status(row["status"])
    does, does_icon = _ACTUAL[accepted]
    word, tone, icon = _judged(row["kind"], expected, accepted)
    message = row["message"]
    if status is not Status.OK and not message.startswith("Not tried"):
        message = f"{status.words} {message}".strip() if message != status.words else message
    return row | {
        "cut": len(row["text"]) < row["length"],
        "must": must,
        "must_icon": must_icon,
        "does": does,
        "does_icon": does_icon,
        "word": word,
        "tone": tone,
        "icon": icon,
        "message": message,
        "wrong": tone in ("bad", "warn"),
        # Whether the response is a stored example, and whether somebody typed it.
        "stored": row["kind"] in (RowKind.REFERENCE, RowKind.GOOD, RowKind.BAD),
        "typed": row["kind"] == "typed",
    }


def _judged(kind: str, expected: bool | None, accepted: bool | None) -> tuple[str, str, str]:
    must = kind in (RowKind.REFERENCE, RowKind.GOOD, RowKind.BAD)
    if accepted is None:
        return (_("No verdict"), "bad" if must else "warn", "error" if must else "warning")
    if expected is None:
        return (_("No expectation"), "neutral", "minus")
    if accepted == expected:
        return (_("Correct"), "good", "check")
    if must:
        return (_("Wrong"), "bad", "error")
    return (_("Too lenient") if accepted else _("Too strict"), "warn", "warning")


def same_as(text: str, trial: ValidatorTrial | None) -> list[Suggestion]:
    """Return the built-in validators that fit the constraint's text and agreed with its code on every response."""
    if trial is None:
        return []
    rows = trial.matrix.rows
    if any(row["accepted"] is None or len(row["text"]) < row["length"] for row in rows):
        return []
    return fitting({row["text"]: row["accepted"] for row in rows}, suggest(text))


def described(suggestion: Suggestion) -> str:
    """Return the title of a built-in validator with its parameters."""
    parts = []
    for name, value in suggestion.parameters.items():
        if value not in (None, [], False):
            shown = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
            parts.append(f"{name.replace('_', ' ')}: {shown}")
    return f"{suggestion.form.title} ({'; '.join(parts)})" if parts else suggestion.form.title


def forms_to_choose(text: str, chosen: str | None) -> list[tuple[str, str, bool]]:
    """Return (key, title, chosen) of every built-in validator; those that fit the constraint's text come first."""
    wanted = [one.form.key for one in suggest(text)]
    order = [*wanted, *(key for key in FORMS if key not in wanted)]
    suggested = _("%(title)s (suggested)")
    return [
        (key, suggested % {"title": FORMS[key].title} if key in wanted else FORMS[key].title, key == chosen)
        for key in order
    ]
