"""Why a review was refused, field by field: the list with its links, and the sentence beside each field."""

from dataclasses import dataclass, field
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.errors import DomainError
from reviews.core.protocols import questions_about
from reviews.services.submission.refusals import refusals_of
from reviews.services.submission.validation import offered_verdicts
from reviews.services.submission.workbench import Workbench
from reviews.views.workspace.form_versions import refusal_words

#: Questions without an answer that the list names.
MAX_QUESTIONS = 10


#: The order of the fields in the tab, by the first word of their ids; what belongs to none comes first.
_KINDS = {"go": 1, "error": 2, "q": 3, "reason": 4, "verdict": 5}


@dataclass(frozen=True, slots=True)
class RefusedFields:
    """What a person has to fix before a review can be submitted."""

    #: (sentence, id of the field or blank)
    rows: list[tuple[str, str]] = field(default_factory=list)
    #: Id of a field → sentence beside it.
    by_field: dict[str, str] = field(default_factory=dict)


def refused_fields(error: DomainError, bench: Workbench, seen: int) -> RefusedFields:
    """Return what was refused; ``seen``: the version of the draft that the person sent."""
    refused = RefusedFields()
    one_by_one = refusals_of(error)
    for refusal in one_by_one:
        _add(refused, refusal["sentence"], refusal["details"], bench)
    asked = [f"q-{one.place}-{one.item.key}" for one in questions_about(bench.stage.checklist, bench.document)]
    places = {name: number for number, name in enumerate(asked)}
    refused.rows.sort(key=lambda row: _place_in_tab(row[1].removesuffix("-note"), places))
    whole = refusal_words(error, bench, seen)
    if not one_by_one or whole != error.sentence:
        refused.rows.insert(0, (whole if not one_by_one else whole.removeprefix(error.sentence).strip(), ""))
    return refused


def _place_in_tab(name: str, questions: dict[str, int]) -> tuple[int, int]:
    return _KINDS.get(name.split("-")[0], 0), questions.get(name, 0)


def show_beside(context: dict[str, Any], refused: RefusedFields) -> None:
    """Put the sentences into the context of the Review tab, beside the fields that they are about."""
    said = refused.by_field
    for item in (item for row in context["checklist"] for item in row["items"]):
        item |= {"error": said.get(item["id"], ""), "note_error": said.get(f"{item['id']}-note", "")}
    for number, row in enumerate(context["named_error_rows"], 1):
        row["error"] = said.get(f"error-type-{number}", "")
    context |= {
        "refused": refused,
        "reason_error": said.get("reason", ""),
        "verdict_error": next((sentence for name, sentence in said.items() if name.startswith("verdict-")), ""),
    }


def _add(refused: RefusedFields, sentence: str, details: dict[str, Any], bench: Workbench) -> None:
    if "unanswered" in details:
        _add_questions(refused, details["unanswered"], bench)
        return
    name = ""
    if "checklist" in details:
        place, key = details["checklist"]
        answered_yes = bench.form["checklist"].get(place, {}).get(key) is True
        name = f"q-{place}-{key}" if answered_yes else f"q-{place}-{key}-note"
    elif "named_error" in details:
        name = f"error-type-{details['named_error'] + 1}"
    elif "findings" in details:
        name = "go-to-findings"
    elif details.get("field") == "verdict":
        name = f"verdict-{offered_verdicts(bench.stage, changed=bench.changed)[0]}"
    elif "field" in details:
        name = details["field"]
    refused.rows.append((sentence, name))
    if name:
        refused.by_field.setdefault(name, sentence)


def _add_questions(refused: RefusedFields, unanswered: list[list[str]], bench: Workbench) -> None:
    texts = {item.key: item.text for item in bench.stage.checklist.items}
    places = {task.id: _("task %(number)s") % {"number": task.number} for task in bench.view.tasks}
    for number, (place, key) in enumerate(unanswered):
        name = f"q-{place}-{key}"
        refused.by_field[name] = _("This question needs an answer.")
        if number < MAX_QUESTIONS:
            words = {"question": texts[key], "place": places.get(place, _("the whole dialogue"))}
            refused.rows.append((_("Answer “%(question)s” (%(place)s).") % words, name))
    if (rest := len(unanswered) - MAX_QUESTIONS) > 0:
        sentence = ngettext(
            "%(count)s more question needs an answer.", "%(count)s more questions need an answer.", rest
        )
        place, key = unanswered[MAX_QUESTIONS]
        refused.rows.append((sentence % {"count": rest}, f"q-{place}-{key}"))
