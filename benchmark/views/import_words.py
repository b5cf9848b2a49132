"""What a preview says about a file, in words."""

from collections.abc import Mapping
from typing import Any

from django.contrib.humanize.templatetags.humanize import intcomma
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from annotator.core.checks import all_checks
from benchmark.core.formats import FORMATS
from benchmark.services.imports.report_groups import CheckCount
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

#: The notes that an import itself makes; those of checks have the titles of the checks.
_NOTE_TITLES = {
    "import.conflict": _("A dialogue has changed meanwhile"),
    "import.duplicate": _("An id appears twice"),
    "import.file": _("A file"),
    "import.kept": _("Unchanged"),
    "import.language": _("A record is in another language than its dialogue"),
    "import.line": _("A line can’t be read"),
    "import.merge_conflict": _("People and the record changed the same place"),
    "import.merged": _("Merged"),
    "import.more": _("More findings than the report lists"),
    "import.other_format": _("A record was imported in another format before"),
    "import.reading": _("Something was read in a special way"),
    "import.reopened": _("Reopened"),
    "import.replaced": _("Replaced"),
    "import.suggestion": _("Suggestions were left out"),
    "import.unreadable": _("A record can’t be read"),
    "import.variant_group": _("A record is in another variant group"),
    "import.worked_on": _("People have worked on a dialogue"),
}
#: What each check of missing labels misses.
_LABELS = {
    "label.policy_missing": _("policy"),
    "label.information_missing": _("information"),
    "label.answer_type_missing": _("answer type"),
}


def note_titles() -> dict[str, str]:
    """Return the title of each check and of each note of an import."""
    return {check.id: gettext(check.title) for check in all_checks()} | {
        name: str(title) for name, title in _NOTE_TITLES.items()
    }


def missing_labels(found: CheckCount, dialogues: int) -> str:
    """Return in how many of the checked dialogues which labels are missing, as a sentence."""
    parts = gettext(", ").join(f"{_LABELS.get(one.check, one.check)} {intcomma(one.notes)}" for one in found.parts)
    return ngettext(
        "Labels are missing in %(some)s of %(all)s dialogue: %(parts)s.",
        "Labels are missing in %(some)s of %(all)s dialogues: %(parts)s.",
        dialogues,
    ) % {"some": intcomma(found.dialogues), "all": intcomma(dialogues), "parts": parts}


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
