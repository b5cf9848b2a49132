"""What a preview says about a file, in words."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from benchmark.core.formats import FORMATS
from benchmark.views.forms import FORMAT_TITLES, ROLES

#: What becomes of a known dialogue, by the name of the outcome.
OUTCOME_WORDS = {
    "kept": _("Unchanged"),
    "replaced": _("Replaced"),
    "merged": _("Merged"),
    "reopened": _("Reopened"),
    "asks": _("Asks before reopening"),
    "conflict": _("Conflicts"),
}


def preview_words(found: Mapping[str, Any], filename: str) -> dict[str, Any]:
    """Return the title of the format, the fields with what each becomes, and what is lost."""
    name = found["format"]
    if not name:
        return {"title": "", "columns": [(column, example, "") for column, example in found["columns"]], "losses": []}
    own = {column: role for role, column in FORMATS[name].roles.items()}
    mapped = {column: role for role, column in found["mapping"].items()}
    kept = set(found["kept"])
    columns = []
    for column, example in found["columns"]:
        role = mapped.get(column) or (own.get(column) if own.get(column) not in found["mapping"] else None)
        if role is not None:
            becomes = str(ROLES[role][0])
        elif column in kept:
            becomes = gettext("Kept with the record, not shown")
        else:
            becomes = gettext("Read as part of the format") if found["dialogues"] else gettext("Not read")
        columns.append((column, example, becomes))
    losses = [(sentence, None) for sentence in FORMATS[name].losses]
    return {
        "title": FORMAT_TITLES.get(name, name),
        "columns": columns,
        "losses": losses + [(sentence, number) for sentence, number in found["warnings"]],
    }
