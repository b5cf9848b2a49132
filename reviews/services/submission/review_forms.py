"""What a reviewer has filled in so far. Two windows at one form keep what each changed; at one place they are asked.

A window sends its whole form, with the version it shows. What differs from that version it has changed; what others
have changed since then, and this window has not, stays.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotator.core.schema.exact_json import dumps
from annotator.errors import Conflict, Invalid
from annotator.models import User
from annotator.services.database.compiled import compiled
from reviews.models import ReviewDraft
from reviews.services.queue.slot_work import Work

#: Longest text of a review's reason.
MAX_REASON = 4000
#: Versions of which is kept what they changed: as old as a window may be to have its form merged.
KEPT_STEPS = 100
#: Bytes of a form as it is stored, and of the steps that are kept with it: autosave brings more with every request.
MAX_FORM = 8 << 20

#: The fields of a form, and how many keys name one place in each.
_DEPTHS = {"reason": 1, "checklist": 3, "notes": 3, "named_errors": 1, "rulings": 2, "review_session": 2}
#: Fields in which nothing and an empty value are the same.
_BLANK = ("reason", "notes", "named_errors")
Place = tuple[str, ...]
_ANYWHERE: Place = ()
#: A window shows what is stored.
_AS_STORED = object()


@dataclass(frozen=True, slots=True)
class Window:
    """What the window that sends a form knows of it."""

    #: The version it shows.
    seen: int
    #: Its own saves since then, this one last: an answer may have been lost on the way.
    edits: tuple[str, ...] = ()
    #: The version of which it has shown what differs, where somebody has decided for what they typed.
    over: int = -1


@dataclass(frozen=True, slots=True)
class Kept:
    """A form as it is stored now."""

    form: dict[str, Any]
    version: int
    #: Whether the window shows it: no other window has changed it since.
    shown: bool


def read_form(*, actor: User, work: Work) -> ReviewDraft:
    """What the actor has filled in of the review so far."""
    draft = next(iter(_drafts(work.slot.pk, actor.pk)), None)
    return draft or ReviewDraft(slot=work.slot, person=actor)


@compiled
def _drafts(slot_id: int, person_id: int) -> QuerySet[ReviewDraft]:
    return ReviewDraft.objects.filter(slot=slot_id, person=person_id)


def keep_form(*, actor: User, work: Work, changes: dict[str, Any], window: Window | None = None) -> Kept:
    """Store what a reviewer has filled in, or part of it; without ``window``, whatever stood there.

    Raises Invalid for what could never be submitted, and Conflict where another window has changed the same place:
    with ``places``, [(place, what is stored, what was sent)], the ``form`` as it would be with that, and the stored
    ``version``.
    """
    unknown = set(changes) - set(_DEPTHS)
    if unknown:
        raise Invalid(f"A review has no field {sorted(unknown)[0]}.")
    if len(changes.get("reason", "")) > MAX_REASON:
        raise Invalid(f"The reason is longer than {MAX_REASON:,} characters; shorten it.")
    if not changes:
        draft = read_form(actor=actor, work=work)
        return Kept(draft.form, draft.version, shown=not _others(draft, window))
    with transaction.atomic():
        draft, _ = ReviewDraft.objects.select_for_update().get_or_create(slot=work.slot, person=actor)
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
                f"What you have filled in has more than {MAX_FORM >> 20} MB in all; this was not stored. Shorten it."
            )
        if disputed and (window is None or window.over != draft.version):
            raise Conflict(
                "This was changed meanwhile in another window. Nothing was overwritten, and what you typed is not "
                "stored yet: choose which version stays.",
                places=disputed,
                form=draft.form,
                version=draft.version,
            )
        if before:
            draft.version += 1
            edit = window.edits[-1] if window and window.edits else ""
            draft.steps = [*draft.steps, {"version": draft.version, "edit": edit, "before": before}][-KEPT_STEPS:]
            while len(dumps(draft.steps)) > MAX_FORM and len(draft.steps) > 1:
                draft.steps = draft.steps[len(draft.steps) // 2 :]
            draft.updated_at = timezone.now()
            draft.save(update_fields=["form", "version", "steps", "updated_at"])
    return Kept(draft.form, draft.version, shown=not others)


def _others(draft: ReviewDraft, window: Window | None) -> dict[Place, Any]:
    """Where other windows have changed the form since this one looked at it, with what it shows there.

    ``_ANYWHERE`` for one whose version is not known any more.
    """
    if window is None or window.seen == draft.version:
        return {}
    if not draft.steps or not draft.steps[0]["version"] - 1 <= window.seen < draft.version:
        return {_ANYWHERE: object()}
    out: dict[Place, Any] = {}
    for step in draft.steps:
        if step["version"] <= window.seen:
            continue
        for place, before in step["before"]:
            if step["edit"] and step["edit"] in window.edits:
                # What it has saved there itself came after the others', and was decided on.
                out.pop(tuple(place), None)
            else:
                out.setdefault(tuple(place), before)
    return out


def _leaves(form: Mapping[str, Any]) -> dict[Place, Any]:
    """Every place of a form with what stands in it; None for nothing."""
    out: dict[Place, Any] = {}

    def read(place: Place, value: Any) -> None:
        if len(place) < _DEPTHS.get(place[0], 1) and isinstance(value, Mapping):
            for key, part in value.items():
                read((*place, key), part)
        else:
            out[place] = None if value == "" or (place == ("named_errors",) and not value) else value

    for name, value in form.items():
        read((name,), value)
    return out


def _put(form: dict[str, Any], place: Place, value: Any) -> None:
    *holders, name = place
    for key in holders:
        form = form.setdefault(key, {})
    if value is None:
        form.pop(name, None)
    else:
        form[name] = value
