"""Checklists: reading and checking the answers of a review, and their labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.core.comparison.anchors import covers
from annotator.errors import Invalid
from annotator.translation import place_name
from reviews.core.protocols import Question, Stage, questions_about
from reviews.core.protocols.questions import WHOLE

MAX_NOTE = 1000

Answers = dict[str, dict[str, bool | None]]
Notes = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer with its labels. ``answer`` is None for “does not apply” and for no answer."""

    place: str
    text: str
    answer: bool | None
    note: str


def read_answers(stage: Stage, document: Mapping[str, Any], given: Mapping[str, Any]) -> Answers:
    """Return the answers about tasks of the submitted document, to the questions that are asked about it.

    An answer to a question that does not apply is left out, as those about other tasks are: the dialogue may have had
    more tasks when it was given. Raises Invalid for malformed answers.
    """
    items = {item.key: item for item in stage.checklist.items}
    asked = _asked(stage, document)
    out: Answers = {}
    for place in _places(document):
        answers = given.get(place)
        if answers is None:
            continue
        if not isinstance(answers, Mapping):
            raise Invalid(
                _("The checklist answers for %(place)s must be an object with true, false or null.") % {"place": place}
            )
        for key, answer in answers.items():
            if key not in items or items[key].per_task is (place == WHOLE):
                raise Invalid(_no_item(key, place))
            if answer is not None and not isinstance(answer, bool):
                raise Invalid(_("The answer to “%(key)s” must be true, false or null.") % {"key": key})
            if (place, key) in asked:
                out.setdefault(place, {})[key] = answer
    return out


def read_notes(stage: Stage, document: Mapping[str, Any], given: Mapping[str, Any], answers: Answers) -> Notes:
    """Return the notes of the answers without the blank ones.

    Raises Invalid for malformed notes, and for a note on a “Yes”, because a note says what is wrong.
    """
    items = {item.key: item for item in stage.checklist.items}
    asked = _asked(stage, document)
    out: Notes = {}
    for place in _places(document):
        notes = given.get(place)
        if notes is None:
            continue
        if not isinstance(notes, Mapping):
            raise Invalid(_("The checklist notes for %(place)s must be an object of texts.") % {"place": place})
        for key, note in notes.items():
            if key not in items or items[key].per_task is (place == WHOLE):
                raise Invalid(_no_item(key, place))
            if not isinstance(note, str) or len(note) > MAX_NOTE or "\x00" in note:
                raise Invalid(
                    _("A note may have at most %(limit)s characters and no NUL character.") % {"limit": f"{MAX_NOTE:,}"}
                )
            if note.strip() and (place, key) in asked:
                out.setdefault(place, {})[key] = note.strip()
    for place, key in ((place, key) for place, notes in out.items() for key in notes):
        if answers.get(place, {}).get(key) is True:
            raise Invalid(
                _("You answered “Yes” to “%(question)s” (%(place)s) with a note. Remove the note, or answer “No”.")
                % {"question": items[key].text, "place": _words(document, place)},
                checklist=[place, key],
            )
    return out


def without_yes(answers: Mapping[str, Any], notes: Mapping[str, Any]) -> Notes:
    """Return the notes without those on a “Yes”."""
    return _notes_on(answers, notes, (False, None))


def only_on_no(answers: Mapping[str, Any], notes: Mapping[str, Any]) -> Notes:
    """Return the notes on a “No”."""
    return _notes_on(answers, notes, (False,))


def _notes_on(answers: Mapping[str, Any], notes: Mapping[str, Any], wanted: tuple[bool | None, ...]) -> Notes:
    kept = {
        place: {key: note for key, note in given.items() if answers.get(place, {}).get(key) in wanted}
        for place, given in notes.items()
    }
    return {place: given for place, given in kept.items() if given}


def contradictions(stage: Stage, document: Mapping[str, Any], answers: Answers) -> list[Invalid]:
    """Return a refusal for every “No” of a review that approves."""
    sentence = _("You answered “No” to “%(question)s” (%(place)s). Fix the problem, or reject or escalate.")
    return _refuse_each(sentence, stage, document, _noes(answers))


def ungrounded(
    stage: Stage, document: Mapping[str, Any], answers: Answers, notes: Notes, error_anchors: Sequence[str]
) -> list[Invalid]:
    """Return a refusal for every “No” without a note or an error in that task (or the dialogue)."""
    named = {
        place: any(covers("" if place == WHOLE else f"/tasks/{place}", anchor) for anchor in error_anchors)
        for place in answers
    }
    sentence = _("Explain your “No” to “%(question)s” (%(place)s) in a note, or tag an error there.")
    bare = [(place, key) for place, key in _noes(answers) if not named[place] and not notes.get(place, {}).get(key)]
    return _refuse_each(sentence, stage, document, bare)


def _noes(answers: Answers) -> list[tuple[str, str]]:
    return [(place, key) for place, given in answers.items() for key, answer in given.items() if answer is False]


def _refuse_each(
    sentence: str, stage: Stage, document: Mapping[str, Any], asked: list[tuple[str, str]]
) -> list[Invalid]:
    texts = {item.key: item.text for item in stage.checklist.items}
    return [
        Invalid(sentence % {"question": texts[key], "place": _words(document, place)}, checklist=[place, key])
        for place, key in asked
    ]


def unanswered(stage: Stage, document: Mapping[str, Any], answers: Mapping[str, Any]) -> list[Question]:
    """Return every question that is asked about the document and has no yes or no, in order."""
    return [
        question
        for question in questions_about(stage.checklist, document)
        if not isinstance(answers.get(question.place, {}).get(question.item.key), bool)
    ]


def require_answers(stage: Stage, document: Mapping[str, Any], answers: Answers) -> None:
    """Raise Invalid with the required questions that have no answer."""
    missing = [question for question in unanswered(stage, document, answers) if question.required]
    if not missing:
        return
    first = missing[0]
    if stage.checklist.required:
        sentence = ngettext(
            "Answer every question of the checklist. %(count)s is still open: “%(question)s” (%(place)s).",
            "Answer every question of the checklist. %(count)s are still open. The first is “%(question)s” "
            "(%(place)s).",
            len(missing),
        )
    else:
        sentence = ngettext(
            "Answer the required questions of the checklist. %(count)s is still open: “%(question)s” (%(place)s).",
            "Answer the required questions of the checklist. %(count)s are still open. The first is “%(question)s” "
            "(%(place)s).",
            len(missing),
        )
    raise Invalid(
        sentence % {"count": len(missing), "question": first.item.text, "place": _words(document, first.place)},
        checklist=[first.place, first.item.key],
        unanswered=[[one.place, one.item.key] for one in missing],
    )


def answer_rows(
    stage: Stage, document: Mapping[str, Any], answers: Mapping[str, Any], notes: Mapping[str, Any]
) -> list[AnswerRow]:
    """Return a reviewer's answers with labels; those about removed tasks or items keep their ids."""
    texts = {item.key: item.text for item in stage.checklist.items}
    notes = without_yes(answers, notes)
    return [
        AnswerRow(_words(document, place), texts.get(key, key), answer, notes.get(place, {}).get(key, ""))
        for place, given in answers.items()
        for key, answer in given.items()
    ]


def _asked(stage: Stage, document: Mapping[str, Any]) -> set[tuple[str, str]]:
    return {(question.place, question.item.key) for question in questions_about(stage.checklist, document)}


def _no_item(key: object, place: str) -> str:
    return _("This stage’s checklist has no question “%(key)s” for %(place)s. Reload the page.") % {
        "key": key,
        "place": place,
    }


def _places(document: Mapping[str, Any]) -> list[str]:
    return [WHOLE, *(task["id"] for task in document.get("tasks", ()))]


def _words(document: Mapping[str, Any], place: str) -> str:
    return _("the whole dialogue") if place == WHOLE else place_name(dict(document), f"/tasks/{place}")
