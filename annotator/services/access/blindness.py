"""Who wrote what, and why, is hidden from whoever may review a dialogue blind. ``reviews`` says where that is.

What is loaded to be shown goes through ``veil``: names become pseudonyms that hold for one dialogue alone, and what was
said beside a change is left out.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from django.db.models import QuerySet
from django.utils.crypto import salted_hmac

from annotator.models import Dialogue, Project, User

Row = TypeVar("Row")

#: Each says, of these dialogues (by key), whose authors a person must not know now.
BLIND: list[Callable[[User, Sequence[int]], set[int]]] = []

#: Each gives the dialogues (by key) of a project that a person reviews blind and that have not settled.
REVIEWED_BLIND: list[Callable[[User, Project], QuerySet[Any, int]]] = []


def blind_to(*, actor: User, dialogues: Sequence[int]) -> set[int]:
    """Those of the dialogues (by key) whose authors the actor must not know at this moment."""
    return {key for ask in BLIND for key in ask(actor, dialogues)} if dialogues else set()


def is_blind(*, actor: User, dialogue: Dialogue) -> bool:
    """Whether the actor must not know at this moment who wrote what of the dialogue."""
    return bool(blind_to(actor=actor, dialogues=[dialogue.pk]))


def colleague(person: User, dialogue_id: int) -> User:
    """Who stands for a person: the same throughout a dialogue, another in every other. Never saved."""
    code = salted_hmac("annotator.blindness", f"{dialogue_id}:{person.pk}", algorithm="sha256").hexdigest()[:4]
    return User(public_id=f"colleague-{code}", username=f"colleague-{code}", display_name=f"Colleague {code}")


def veil(
    rows: Iterable[Row],
    *,
    actor: User,
    blind: set[int],
    people: Sequence[str] = ("author",),
    words: Sequence[str] = (),
    of: str = "dialogue_id",
) -> list[Row]:
    """The rows with colleagues' names and words hidden where they belong to a ``blind`` dialogue.

    ``people``: fields that hold a person; ``words``: texts of theirs, emptied with the first of these. ``of``: where a
    row has the dialogue's key. One's own stay. The rows are not to be saved.
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
