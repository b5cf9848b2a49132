"""People who wrote or chose parts of a dialogue before its first revision: they may not review it."""

from collections.abc import Iterable

from annotator.models import Dialogue, User
from reviews.models import CoAuthor


def store_co_authors(*, dialogue: Dialogue, people: Iterable[int]) -> None:
    """Let these people (keys) not review a dialogue. Before its next cycle, in the caller's transaction."""
    rows = [CoAuthor(dialogue=dialogue, person_id=key) for key in sorted(set(people))]
    CoAuthor.objects.bulk_create(rows, ignore_conflicts=True)


def co_written(person: User, dialogues: Iterable[int]) -> set[int]:
    """Return those of the dialogues (keys) of which the person wrote or chose a part."""
    rows = CoAuthor.objects.filter(person=person, dialogue__in=set(dialogues))
    return set(rows.values_list("dialogue_id", flat=True))
