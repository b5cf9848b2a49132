"""Blindness: people who may review a dialogue blind must not learn who wrote what in it, and why.

``veil`` replaces names by pseudonyms, which differ between dialogues, and removes what was said about a change.
``reviews`` registers where people are blind.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.utils.crypto import salted_hmac
from django.utils.translation import gettext as _

from annotator.models import Dialogue, Project, User

Row = TypeVar("Row")

#: Each returns the dialogues (by key) among the given ones whose authors a person must not know now.
BLIND: list[Callable[[User, Sequence[int]], set[int]]] = []

#: Each returns the unsettled dialogues (by key) of a project that a person reviews blind.
REVIEWED_BLIND: list[Callable[[User, Project], QuerySet[Any, int]]] = []


def blind_to(*, actor: User, dialogues: Sequence[int]) -> set[int]:
    """Return the dialogues (by key) among the given ones whose authors the actor must not know now."""
    return {key for ask in BLIND for key in ask(actor, dialogues)} if dialogues else set()


def is_blind(*, actor: User, dialogue: Dialogue) -> bool:
    """Return whether the actor must not know now who wrote what in the dialogue."""
    return bool(blind_to(actor=actor, dialogues=[dialogue.pk]))


def colleague(person: User, dialogue_id: int) -> User:
    """Return a stand-in for a person: the same within a dialogue, different in others. Never saved."""
    code = salted_hmac("annotator.blindness", f"{dialogue_id}:{person.pk}", algorithm="sha256").hexdigest()[:4]
    name = _("Colleague %(code)s") % {"code": code}
    return User(public_id=f"colleague-{code}", username=f"colleague-{code}", display_name=name)


def veil(
    rows: Iterable[Row],
    *,
    actor: User,
    blind: set[int],
    people: Sequence[str] = ("author",),
    words: Sequence[str] = (),
    of: str = "dialogue_id",
) -> list[Row]:
    """Return the rows with colleagues' names and texts hidden where they belong to a ``blind`` dialogue.

    ``people``: fields that hold a person. ``words``: fields with texts of the first of them. ``of``: the field with the
    dialogue's key. The actor's own names and texts stay. Do not save the rows.
    """
    out: list[Any] = list(rows)
    for row in out:
        key = getattr(row, of)
        if key not in blind:
            continue
        others = [name for name in people if (person := getattr(row, name)) is not None and person.pk != actor.pk]
        if people[0] in others:
            for name in words:
                setattr(row, name, "")
        for name in others:
            setattr(row, name, colleague(getattr(row, name), key))
    return out
