"""What a change of the custom fields means for the dialogues of a project, and the change itself."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.core.fields import CustomField, FieldType, Scope, read_fields
from annotator.core.schema import SchemaProblem
from annotator.errors import Conflict
from annotator.models import Dialogue, Project, User
from annotator.models.content import DialogueStatus
from annotator.services.access.permissions import require_administrator
from annotator.services.custom_fields import fields_of, set_fields

#: Types whose answers are in the column ``labels`` of a dialogue.
_LISTED = (FieldType.CHOICE, FieldType.MULTI, FieldType.SCALE)


@dataclass(frozen=True, slots=True)
class Unfit:
    """Answers that no longer fit a changed field, and in how many dialogues they are at most.

    ``answer``: the title of an option that is gone; blank if no answer to the field fits.
    """

    field: str
    title: str
    answer: str
    dialogues: int


@dataclass(frozen=True, slots=True)
class Effects:
    """``waiting``: how many verified dialogues may lack an answer. ``unfit``: the answers that no longer fit."""

    waiting: int = 0
    unfit: tuple[Unfit, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.waiting or self.unfit)


class Unconfirmed(Conflict):
    """The change has effects that the actor has not confirmed."""

    code = "unconfirmed"

    def __init__(self, effects: Effects) -> None:
        self.effects = effects
        sentences = []
        if effects.waiting:
            sentence = ngettext(
                "Up to %(count)s verified dialogue would lack an answer.",
                "Up to %(count)s verified dialogues would lack an answer.",
                effects.waiting,
            )
            sentences.append(sentence % {"count": f"{effects.waiting:,}"})
        if effects.unfit:
            answers = ", ".join(f"{one.title} {one.answer}".strip() + f" ({one.dialogues:,})" for one in effects.unfit)
            sentence = _("These answers would no longer fit, in up to so many dialogues: %(answers)s.")
            sentences.append(sentence % {"answers": answers})
        sentences.append(_("Send “confirmed”: true to save the change all the same."))
        super().__init__(" ".join(sentences), **asdict(effects))


def change_fields(*, actor: User, project: Project, fields: list[Any], seen: int, confirmed: bool) -> Project:
    """Replace a project's custom fields as ``set_fields`` does.

    Raises what that raises, and Unconfirmed if the change has effects and is not ``confirmed``.
    """
    if not confirmed and seen == project.fields_version:
        effects = foresee_effects(actor=actor, project=project, fields=fields)
        if effects:
            raise Unconfirmed(effects)
    return set_fields(actor=actor, project=project, fields=fields, seen=seen)


def foresee_effects(*, actor: User, project: Project, fields: list[Any]) -> Effects:
    """Return what would follow if the project had these fields; nothing if they can't be saved. Raises Denied.

    The numbers are upper bounds, counted in current revisions from what lists know of a dialogue. Only what the change
    adds counts.
    """
    require_administrator(actor=actor, project=project)
    try:
        new = read_fields(fields)
    except SchemaProblem:
        return Effects()
    now = fields_of(project)
    dialogues = Dialogue.objects.filter(project=project, published=True, archived_at=None).counted()
    return Effects(_count_waiting(dialogues, now, new), tuple(_unfit(dialogues, now, new)))


def _count_waiting(dialogues: QuerySet[Dialogue], now: Sequence[CustomField], new: Sequence[CustomField]) -> int:
    asked_now = {field.key: field for field in now if field.required}
    lacking = Q(pk__in=[])
    for field in new:
        before = asked_now.get(field.key)
        if field.required and (before is None or _asked(before) != _asked(field)):
            lacking |= _lacks(field)
    return dialogues.filter(lacking, status=DialogueStatus.VERIFIED).count()


def _asked(field: CustomField) -> tuple[Any, ...]:
    return field.type, field.scope, field.shown_if


def _lacks(field: CustomField) -> Q:
    """Return which dialogues may lack an answer: those whose condition may be met, and that have none where only one
    part can have it.
    """
    # Not Q(), which “or” would leave out.
    lacking = Q(pk__isnull=False)
    if field.scope in (Scope.TASK, Scope.ANSWER):
        lacking &= ~Q(kind__in=("constrained", "toolset"))
    if field.scope is Scope.CALL:
        lacking &= ~Q(kind="toolset")
    if field.shown_if is not None:
        met = Q(pk__in=[])
        for value in field.shown_if.values:
            met |= _answers(field.shown_if.key, value)
        lacking &= met
    if field.scope is Scope.DIALOGUE and field.choices:
        lacking &= ~_answers_any(field.key)
    return lacking


def _unfit(dialogues: QuerySet[Dialogue], now: Sequence[CustomField], new: Sequence[CustomField]) -> Iterator[Unfit]:
    changed = {field.key: field for field in new}
    for before in now:
        after = changed.get(before.key)
        if after == before or (after is not None and _takes_all(before, after)):
            continue
        same = after is not None and (after.type, after.scope) == (before.type, before.scope)
        if after is None or not same or not _asked_as_often(before, after) or before.type not in _LISTED:
            number = dialogues.filter(_has_answer(before)).count()
            lost = [("", number)]
        else:
            kept = {value for value, _title in after.choices}
            gone = [(value, title) for value, title in before.choices if value not in kept]
            lost = [(title, dialogues.filter(_answers(before.key, value)).count()) for value, title in gone]
        yield from (Unfit(before.key, before.title, answer, number) for answer, number in lost if number)


def _takes_all(before: CustomField, after: CustomField) -> bool:
    """Return whether every answer to the one is an answer to the other, whatever it is."""
    if before.scope is not after.scope or not _asked_as_often(before, after):
        return False
    if after.type is FieldType.TEXT:
        return before.type in (FieldType.TEXT, FieldType.CHOICE)
    return before.type is after.type is FieldType.SPAN and before.of == after.of


def _asked_as_often(before: CustomField, after: CustomField) -> bool:
    """Return whether the one is asked wherever the other is."""
    if after.shown_if is None or before.shown_if is None:
        return after.shown_if is None
    return before.shown_if.key == after.shown_if.key and {*before.shown_if.values} <= {*after.shown_if.values}


def _has_answer(field: CustomField) -> Q:
    """Return which dialogues may have an answer to the field."""
    if field.type in _LISTED:
        return _answers_any(field.key)
    # Lists know nothing of long texts and of spans. In canonical JSON, only a key is written like this.
    return Q(head__content__contains='"labels":') & Q(head__content__contains=f'"{field.key}":')


def _answers(key: str, value: str) -> Q:
    return Q(labels__contains=f"\n{key}={value}\n")


def _answers_any(key: str) -> Q:
    return Q(labels__contains=f"\n{key}=")
