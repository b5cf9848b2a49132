"""Checklists: what is still to be answered before a review can be handed in, and the answers in words."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.comparison import describe
from annotator.core.comparison.anchors import covers
from annotator.errors import Invalid
from reviews.core.protocols import Stage

#: In a checklist's answers, beside the ids of tasks: the dialogue as a whole.
WHOLE = "dialogue"
MAX_NOTE = 1000

Answers = dict[str, dict[str, bool | None]]
Notes = dict[str, dict[str, str]]


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """One answer in words. ``answer`` is None where the reviewer said that it does not apply, or said nothing."""

    place: str
    text: str
    answer: bool | None
    note: str


def read_answers(stage: Stage, document: Mapping[str, Any], given: Mapping[str, Any], *, passing: bool) -> Answers:
    """The answers that mean something, of tasks that are there. They speak of what is handed in.

    ``passing``: the verdict approves, so a “no” contradicts it. Raises Invalid for what cannot be kept, and, where the
    stage wants every item answered, for the first one that is not.
    """
    items = {item.key: item for item in stage.checklist.items}
    out: Answers = {}
    for place in _places(document):
        answers = given.get(place)
        if answers is None:
            continue
        if not isinstance(answers, Mapping):
            raise Invalid(f"The checklist's answers for {place} must be an object of yes (true), no (false) or null.")
        for key, answer in answers.items():
            if key not in items or items[key].per_task is (place == WHOLE):
                raise Invalid(f"This stage's checklist has no item “{key}” for {place}; load the page again.")
            if answer is not None and not isinstance(answer, bool):
                raise Invalid(f"The answer to “{key}” is true, false or null.")
            if answer is False and passing:
                raise Invalid(
                    f"The checklist says no to “{items[key].text}” ({place}): mend it, or reject or escalate."
                )
            out.setdefault(place, {})[key] = answer
    if stage.checklist.required:
        _require_all(stage, document, out)
    return out


def read_notes(stage: Stage, document: Mapping[str, Any], given: Mapping[str, Any], answers: Answers) -> Notes:
    """The notes beside the answers; blank ones are left away.

    Raises Invalid for one that cannot be kept, and for one beside a “yes”: it says what is wrong.
    """
    items = {item.key: item for item in stage.checklist.items}
    out: Notes = {}
    for place in _places(document):
        notes = given.get(place)
        if notes is None:
            continue
        if not isinstance(notes, Mapping):
            raise Invalid(f"The checklist's notes for {place} must be an object of texts.")
        for key, note in notes.items():
            if key not in items or items[key].per_task is (place == WHOLE):
                raise Invalid(f"This stage's checklist has no item “{key}” for {place}; load the page again.")
            if not isinstance(note, str) or len(note) > MAX_NOTE or "\x00" in note:
                raise Invalid(f"A note is a text of at most {MAX_NOTE:,} characters, none of them NUL.")
            if note.strip():
                out.setdefault(place, {})[key] = note.strip()
    for place, key in ((place, key) for place, notes in out.items() for key in notes):
        if answers.get(place, {}).get(key) is True:
            raise Invalid(
                f"The checklist says yes to “{items[key].text}” for {_words(document, place)}, and a note says what is "
                "wrong: leave the note away, or answer no.",
                checklist=[place, key],
            )
    return out


def without_yes(answers: Mapping[str, Any], notes: Mapping[str, Any]) -> Notes:
    """The notes without those beside a “yes”: a note explains a “no”."""
    kept = {
        place: {key: note for key, note in given.items() if answers.get(place, {}).get(key) is not True}
        for place, given in notes.items()
    }
    return {place: given for place, given in kept.items() if given}


def require_grounds(
    stage: Stage, document: Mapping[str, Any], answers: Answers, notes: Notes, error_anchors: Sequence[str]
) -> None:
    """Every “no” says what is wrong: in a note of its own, or by an error named in that task (or of the dialogue).

    Raises Invalid, naming the first that does not.
    """
    items = {item.key: item for item in stage.checklist.items}
    for place, given in answers.items():
        task = "" if place == WHOLE else f"/tasks/{place}"
        named = any(covers(task, anchor) for anchor in error_anchors)
        for key, answer in given.items():
            if answer is False and not named and not notes.get(place, {}).get(key):
                raise Invalid(
                    f"The checklist says no to “{items[key].text}” for {_words(document, place)}: say in its note what "
                    f"is wrong, or name an error there.",
                    checklist=[place, key],
                )


def unanswered(stage: Stage, document: Mapping[str, Any], answers: Mapping[str, Any]) -> list[tuple[str, str]]:
    """(task id or "dialogue", item key) of everything that has no yes or no yet, in order."""
    return [
        (place, item.key)
        for place in _places(document)
        for item in stage.checklist.items
        if item.per_task is not (place == WHOLE) and not isinstance(answers.get(place, {}).get(item.key), bool)
    ]


def answer_rows(
    stage: Stage, document: Mapping[str, Any], answers: Mapping[str, Any], notes: Mapping[str, Any]
) -> list[AnswerRow]:
    """What a reviewer answered, in words; answers about tasks or items that are gone bear their ids."""
    texts = {item.key: item.text for item in stage.checklist.items}
    notes = without_yes(answers, notes)
    return [
        AnswerRow(_words(document, place), texts.get(key, key), answer, notes.get(place, {}).get(key, ""))
        for place, given in answers.items()
        for key, answer in given.items()
    ]


def _require_all(stage: Stage, document: Mapping[str, Any], answers: Answers) -> None:
    open_items = unanswered(stage, document, answers)
    if not open_items:
        return
    place, key = open_items[0]
    text = next(item.text for item in stage.checklist.items if item.key == key)
    rest = f" {len(open_items) - 1} more have none either." if len(open_items) > 1 else ""
    raise Invalid(
        f"“{stage.title}” wants its whole checklist answered. {_words(document, place).capitalize()} has no answer to "
        f"“{text}”.{rest}",
        checklist=[place, key],
        unanswered=[list(one) for one in open_items],
    )


def _places(document: Mapping[str, Any]) -> list[str]:
    return [WHOLE, *(task["id"] for task in document.get("tasks", ()))]


def _words(document: Mapping[str, Any], place: str) -> str:
    return "the dialogue" if place == WHOLE else describe(dict(document), f"/tasks/{place}")
