"""The stored form of a review. Changes from two windows are merged; if both changed the same place, the person is
asked.

A window sends its whole form with the version it shows. It has changed what differs from that version; what other
windows have changed since then stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.schema.exact_json import dumps
from annotator.errors import Conflict, Invalid
from annotator.models import User
from annotator.services.database.compiled import compiled
from reviews.models import ReviewDraft, Slot
from reviews.services.queue.slot_work import Work

#: Characters of a review's reason.
MAX_REASON = 4000
#: Versions whose changes are kept; the form of an older window cannot be merged.
MAX_STEPS = 100
#: Bytes of a stored form, and of its kept steps.
MAX_FORM = 8 << 20

#: The fields of a form, and the number of keys of a place in each.
_DEPTHS = {
    "reason": 1,
    "checklist": 3,
    "notes": 3,
    "named_errors": 1,
    "dropped_errors": 2,
    "rulings": 2,
    "review_session": 2,
}
FieldPath = tuple[str, ...]
_ANYWHERE: FieldPath = ()
#: A window shows what is stored.
_AS_STORED = object()


@dataclass(frozen=True, slots=True)
class FormWindow:
    """What the sending window knows about the form."""

    #: The version it shows.
    seen: int
    #: Its own saves since then, this one last; their responses may be lost.
    edits: tuple[str, ...] = ()
    #: The version over which the person chose what they typed.
    over: int = -1


@dataclass(frozen=True, slots=True)
class StoredForm:
    """A stored form."""

    form: dict[str, Any]
    version: int
    #: Whether the window shows it, because no other window has changed it since.
    shown: bool


def read_form(*, actor: User, work: Work) -> ReviewDraft:
    """Return the actor's stored form of the review."""
    draft = next(iter(_drafts(work.slot.pk, actor.pk)), None)
    return draft or ReviewDraft(slot=work.slot, person=actor)


@compiled
def _drafts(slot_id: int, person_id: int) -> QuerySet[ReviewDraft]:
    return ReviewDraft.objects.filter(slot=slot_id, person=person_id)


def store_form(*, actor: User, work: Work, changes: dict[str, Any], window: FormWindow | None = None) -> StoredForm:
    """Store changes to the form of a review; without ``window``, overwrite what is there.

    Raises Invalid for what could never be submitted, and Conflict if another window has changed the same place: with
    ``places``, [(place, stored value, sent value)], the merged ``form``, and the stored ``version``.
    """
    unknown = set(changes) - set(_DEPTHS)
    if unknown:
        raise Invalid(_("A review has no field %(name)s.") % {"name": sorted(unknown)[0]})
    if len(changes.get("reason", "")) > MAX_REASON:
        raise Invalid(_("The reason is longer than %(limit)s characters. Shorten it.") % {"limit": f"{MAX_REASON:,}"})
    if not changes:
        draft = read_form(actor=actor, work=work)
        return StoredForm(draft.form, draft.version, shown=not _others(draft, window))
    with transaction.atomic():
        draft = _locked_form(work.slot, actor)
        stored, others = _leaves(draft.form), _others(draft, window)
        unknown_before = others.get(_ANYWHERE, _AS_STORED)
        disputed, before = [], []
        for place, value in _leaves(changes).items():
            now, shown = stored.get(place), others.get(place, unknown_before)
            if value == now:
                others.pop(place, None)
                continue
            if value == shown:
                continue
            others.pop(place, None)
            if shown is not _AS_STORED:
                disputed.append((place, now, value))
            before.append((place, now))
            _put(draft.form, place, value)
        if before and len(dumps(draft.form)) > MAX_FORM:
            raise Invalid(
                _("The form is larger than %(size)s MB and wasn’t saved. Shorten it.") % {"size": MAX_FORM >> 20}
            )
        if disputed and (window is None or window.over != draft.version):
            raise Conflict(
                _("Another window has changed the same place. Your change isn’t saved. Choose which version to keep."),
                places=disputed,
                form=draft.form,
                version=draft.version,
            )
        if before:
            draft.version += 1
            edit = window.edits[-1] if window and window.edits else ""
            draft.steps = [*draft.steps, {"version": draft.version, "edit": edit, "before": before}][-MAX_STEPS:]
            while len(dumps(draft.steps)) > MAX_FORM and len(draft.steps) > 1:
                draft.steps = draft.steps[len(draft.steps) // 2 :]
            draft.updated_at = timezone.now()
            draft.save(update_fields=["form", "version", "steps", "updated_at"])
    return StoredForm(draft.form, draft.version, shown=not others)


def _locked_form(slot: Slot, person: User) -> ReviewDraft:
    for draft in _lock_form(slot.pk, person.pk):
        return draft
    draft, _created = ReviewDraft.objects.select_for_update().get_or_create(slot=slot, person=person)
    return draft


@compiled
def _lock_form(slot_id: int, person_id: int) -> QuerySet[ReviewDraft]:
    return ReviewDraft.objects.select_for_update().filter(slot=slot_id, person=person_id)


def _others(draft: ReviewDraft, window: FormWindow | None) -> dict[FieldPath, Any]:
    """Return the places that other windows have changed since the window's version, with the value that it shows.

    ``_ANYWHERE`` if the window's version is too old.
    """
    if window is None or window.seen == draft.version:
        return {}
    if not draft.steps or not draft.steps[0]["version"] - 1 <= window.seen < draft.version:
        return {_ANYWHERE: object()}
    out: dict[FieldPath, Any] = {}
    for step in draft.steps:
        if step["version"] <= window.seen:
            continue
        for place, before in step["before"]:
            if step["edit"] and step["edit"] in window.edits:
                # Its own later save there has replaced the others' changes.
                out.pop(tuple(place), None)
            else:
                out.setdefault(tuple(place), before)
    return out


def _leaves(form: Mapping[str, Any]) -> dict[FieldPath, Any]:
    """Return every place of a form with its value; None if it is empty."""
    out: dict[FieldPath, Any] = {}

    def read(place: FieldPath, value: Any) -> None:
        if len(place) < _DEPTHS.get(place[0], 1) and isinstance(value, Mapping):
            for key, part in value.items():
                read((*place, key), part)
        else:
            out[place] = None if value == "" or (place == ("named_errors",) and not value) else value

    for name, value in form.items():
        read((name,), value)
    return out


def _put(form: dict[str, Any], place: FieldPath, value: Any) -> None:
    *holders, name = place
    for key in holders:
        form = form.setdefault(key, {})
    if value is None:
        form.pop(name, None)
    else:
        form[name] = value
