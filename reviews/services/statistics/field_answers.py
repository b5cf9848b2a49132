"""How often each answer to a custom field was given."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from annotator.core.fields import CustomField
from annotator.models import Dialogue, Project, User
from annotator.models.content import DialogueStatus
from annotator.services.access.permissions import OVERSEERS, require_role
from annotator.services.custom_fields import fields_of

#: Rows of the database that are read at once.
_AT_ONCE = 2_000


@dataclass(frozen=True, slots=True)
class AnswerCount:
    """One answer: in how many dialogues it is, and how many of these are verified.

    ``value``: as in documents; blank for the answers together that are no longer possible.
    """

    field: str
    field_title: str
    value: str
    title: str
    dialogues: int
    verified: int


def read_answers(*, actor: User, project: Project) -> list[AnswerCount]:
    """Return the counts of every answer to a choice, a set or a scale, in the order of the fields and their options.

    Only the current revision of each dialogue counts, so nothing of a blind stage shows before it has ended. Gold items
    do not count. Raises Denied for people who do not oversee the project.
    """
    require_role(actor=actor, project=project, roles=OVERSEERS)
    fields = [field for field in fields_of(project) if field.choices]
    if not fields:
        return []
    known = {field.key: {value for value, _ in field.choices} for field in fields}
    found: Counter[tuple[str, str, bool]] = Counter()
    rows = Dialogue.objects.filter(project=project, published=True, archived_at=None).exclude(labels="").counted()
    for labels, status in rows.values_list("labels", "status").iterator(chunk_size=_AT_ONCE):
        # Each of them counts a dialogue once, also if several tasks have it.
        given = {(key, value if value in known[key] else "") for key, value in _answers(labels) if key in known}
        found.update((key, value, status == DialogueStatus.VERIFIED) for key, value in given)
    return [count for field in fields for count in _counted(field, found)]


def _answers(labels: str) -> Iterator[tuple[str, str]]:
    for line in labels.split("\n"):
        key, sign, value = line.partition("=")
        if sign:
            yield key, value


def _counted(field: CustomField, found: Counter[tuple[str, str, bool]]) -> Iterator[AnswerCount]:
    for value, title in [*field.choices, ("", "")]:
        verified = found[field.key, value, True]
        dialogues = verified + found[field.key, value, False]
        if value or dialogues:
            yield AnswerCount(field.key, field.title, value, title, dialogues, verified)
