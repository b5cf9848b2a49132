"""Suggestions of models and scripts: posted by administrators, brought by imports, copied to check items.

A suggestion is never a label: until somebody accepts it (``suggestion_decisions``), it is in no document, so nothing
counts or exports it.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.comparison.changes import same_value
from annotator.core.fields import CustomField
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.suggestion_shape import Suggested, SuggestionProblem, read_suggestion
from annotator.core.suggestions import fitted
from annotator.errors import Invalid
from annotator.models import (
    Dialogue,
    Job,
    Project,
    Revision,
    StoredSuggestion,
    SuggestionDecision,
    User,
)
from annotator.models.content import GoldRole
from annotator.models.keys import new_public_id, new_public_ids
from annotator.services.access.blindness import blind_to
from annotator.services.access.permissions import require_administrator
from annotator.services.custom_fields import fields_of
from annotator.services.database.bulk_insert import as_json, insert_rows
from annotator.services.dialogues.revisions import lock_dialogues
from annotator.services.history.events import append_event

#: Suggestions of one request.
MAX_AT_ONCE = 1_000
#: Suggestions that a dialogue can have. Every page of the workspace reads them.
MAX_OF_DIALOGUE = 1_000

STORED, REPLACED, UNCHANGED, DECIDED, REFUSED = "stored", "replaced", "unchanged", "decided", "refused"
#: What can happen to a posted suggestion.
RESULTS = (STORED, REPLACED, UNCHANGED, DECIDED, REFUSED)


@dataclass(slots=True)
class Posted:
    """What happened to one posted suggestion. ``field`` and ``message``: what is wrong, if it was refused."""

    dialogue: str
    place: str
    result: str = STORED
    field: str = ""
    message: str = ""


def post_suggestions(*, actor: User, project: Project, items: Sequence[Any]) -> list[Posted]:
    """Store suggestions, each ``{"dialogue": external id, "place", "value", "source" [, "score"]}``.

    Returns what happened to each, in order: a bad one does not stop the others. One that somebody has decided is never
    replaced. A hidden check item gets the suggestions of the dialogue whose id it has, so that it looks like any other.
    Raises Denied for anyone but administrators, Invalid for none or too many.
    """
    require_administrator(actor=actor, project=project)
    if not 0 < len(items) <= MAX_AT_ONCE:
        raise Invalid(_("Send 1 to %(most)s suggestions at a time.") % {"most": f"{MAX_AT_ONCE:,}"})
    out: list[Posted] = []
    wanted: dict[str, list[tuple[Posted, Suggested]]] = {}
    for item in items:
        name = item.get("dialogue") if isinstance(item, dict) else None
        place = item.get("place") if isinstance(item, dict) else None
        posted = Posted(name if isinstance(name, str) else "", place if isinstance(place, str) else "")
        out.append(posted)
        try:
            if not posted.dialogue:
                raise SuggestionProblem("dialogue", "Name the dialogue by its id in the project.")
            one = read_suggestion({key: value for key, value in item.items() if key != "dialogue"})
            wanted.setdefault(posted.dialogue, []).append((posted, one))
        except SuggestionProblem as problem:
            _refuse(posted, problem.field, problem.message)
    with transaction.atomic():
        _store_posted(actor, project, wanted)
        stored = [one for one in out if one.result in (STORED, REPLACED)]
        if stored:
            given = [pair for pairs in wanted.values() for pair in pairs]
            sources = {one.source for posted, one in given if posted.result in (STORED, REPLACED)}
            after = {"suggestions": len(stored), "sources": sorted(sources)[:20]}
            append_event(actor=actor, project=project, kind="suggestions.posted", after=after)
    return out


def _store_posted(actor: User, project: Project, wanted: dict[str, list[tuple[Posted, Suggested]]]) -> None:
    named = Dialogue.objects.visible_to(actor).filter(project=project, external_id__in=wanted)
    # Everybody who changes suggestions of a dialogue holds its lock.
    lock_dialogues(named)
    rows = named.defer("search_text").select_related(None).order_by("pk")
    known = {one.external_id: one for one in rows if one.gold_role != GoldRole.GOLD}
    copies = _copies(project, known)
    blind = blind_to(actor=actor, dialogues=[one.pk for one in known.values()])
    for name, given in wanted.items():
        dialogue = known.get(name)
        head = dialogue.head_id if dialogue is not None else None
        if dialogue is None or head is None:
            sentence = _("The project has no dialogue “%(id)s”. Import it first.") % {"id": name[:80]}
            refusal = "dialogue", sentence
        elif dialogue.pk in blind:
            # What is replaced here, and what is not, would tell what colleagues decided.
            sentence = _("You review %(id)s in a blind stage. Post its suggestions when the stage has ended.")
            refusal = "dialogue", sentence % {"id": name[:80]}
        else:
            allowed = _allowed(head, given, fields_of(project))
            _write(dialogue, allowed)
            for copy in copies.get(name, ()):
                changed = [one for posted, one in allowed if posted.result in (STORED, REPLACED)]
                _write(copy, [(Posted(name, one.place), one) for one in changed])
            continue
        for posted, _one in given:
            _refuse(posted, *refusal)


def _copies(project: Project, names: Iterable[str]) -> dict[str, list[Dialogue]]:
    """Return the hidden check items that have these ids."""
    found: dict[str, list[Dialogue]] = {}
    gold = Dialogue.objects.filter(project=project, external_id__in=list(names), gold_role=GoldRole.GOLD)
    for one in gold.only("external_id").order_by("pk"):
        found.setdefault(one.external_id, []).append(one)
    return found


def _allowed(
    head_id: int, given: list[tuple[Posted, Suggested]], fields: Sequence[CustomField]
) -> list[tuple[Posted, Suggested]]:
    """Return the suggestions whose place this revision has, with the kind of their place."""
    head = Revision.objects.select_related("toolset_revision").get(pk=head_id)
    document, tools = head.document(), CompiledToolset.of(head.toolset_revision.content).tools
    out = []
    for posted, one in given:
        try:
            out.append((posted, fitted(document, one, tools, fields)))
        except SuggestionProblem as problem:
            _refuse(posted, problem.field, problem.message)
    return out


def _write(dialogue: Dialogue, given: Sequence[tuple[Posted, Suggested]]) -> None:
    """Store suggestions of one dialogue; the caller has locked it, or its original."""
    stored = StoredSuggestion.objects.filter(dialogue=dialogue, published=True)
    # Locked, so that no decision is made on one of them while it is replaced.
    held = {(one.place, one.source): one for one in stored.select_for_update(of=("self",), no_key=True)}
    decided = set(SuggestionDecision.objects.filter(dialogue=dialogue).values_list("suggestion_id", flat=True))
    new: list[StoredSuggestion] = []
    for posted, one in given:
        before = held.get((one.place, one.source))
        if before is None and len(held) >= MAX_OF_DIALOGUE:
            sentence = _("%(id)s has %(most)s suggestions already. It can’t have more.")
            _refuse(posted, "dialogue", sentence % {"id": posted.dialogue[:80], "most": f"{MAX_OF_DIALOGUE:,}"})
        elif before is None:
            fresh = StoredSuggestion(
                dialogue=dialogue, place=one.place, kind=one.kind, value=one.value, source=one.source, score=one.score
            )
            held[one.place, one.source] = fresh
            new.append(fresh)
        elif same_value(before.value, one.value) and before.score == one.score:
            posted.result = UNCHANGED
        elif before.pk in decided:
            posted.result = DECIDED
            posted.message = _("Somebody has decided this suggestion, so it was not replaced.")
        else:
            posted.result = REPLACED
            # With a new id, a page that shows the replaced value cannot accept another one.
            before.value, before.score, before.public_id = one.value, one.score, new_public_id()
            if before.pk is not None:
                before.save(update_fields=["value", "score", "public_id"])
    StoredSuggestion.objects.bulk_create(new)


def _refuse(posted: Posted, field: str, message: str) -> None:
    posted.result, posted.field, posted.message = REFUSED, field, message


def copy_suggestions(*, source: Dialogue, copy: Dialogue) -> None:
    """Give a copy of a dialogue the same suggestions, undecided."""
    rows = StoredSuggestion.objects.filter(dialogue=source, published=True).order_by("pk")
    StoredSuggestion.objects.bulk_create(
        StoredSuggestion(
            dialogue=copy, place=one.place, kind=one.kind, value=one.value, source=one.source, score=one.score,
            created_at=one.created_at,
        )
        for one in rows
    )  # fmt: skip


# --- imports ----------------------------------------------------------------------------------------------------------


def hold_suggestions(*, project: Project, batch: Job, given: Sequence[tuple[int, str, Sequence[Suggested]]]) -> None:
    """Write the suggestions of imported records, invisible until ``publish_suggestions``.

    ``given``: (key of the dialogue, its id, suggestions). Check items with these ids get them as well.
    """
    copies = _copies(project, [name for _key, name, _found in given])
    rows = [
        (key, one.place, one.kind, as_json(one.value), one.source, one.score)
        for original, name, found in given
        for key in (original, *(copy.pk for copy in copies.get(name, ())))
        for one in found
    ]
    insert_rows(
        StoredSuggestion,
        ("public_id", "dialogue_id", "place", "kind", "value", "source", "score"),
        [(public_id, *row) for public_id, row in zip(new_public_ids(len(rows)), rows, strict=True)],
        constants={"batch_id": batch.pk, "published": False, "created_at": timezone.now()},
    )


def suggested_dialogues(*, batch: Job) -> list[int]:
    """Return the keys of the visible dialogues that get suggestions of an import, in their order."""
    held = StoredSuggestion.objects.filter(batch=batch, published=False, dialogue__published=True).order_by("dialogue")
    return list(held.values_list("dialogue", flat=True).distinct())


def publish_suggestions(*, batch: Job) -> None:
    """Make the suggestions of an import visible, in the caller's transaction.

    A caller with locks of other dialogues has locked ``suggested_dialogues`` with smaller keys before them. The new
    suggestions replace undecided ones of the same place and source; decided ones stay as they are.
    """
    held = StoredSuggestion.objects.filter(batch=batch, published=False)
    if not held.exists():
        return
    lock_dialogues(Dialogue.objects.filter(Exists(held.filter(dialogue=OuterRef("pk"))), published=True))
    same = {"dialogue": OuterRef("dialogue"), "place": OuterRef("place"), "source": OuterRef("source")}
    before = StoredSuggestion.objects.filter(Exists(held.filter(**same)), published=True)
    # Locked before their decisions are looked up, so that none is made while they are replaced.
    list(before.select_for_update(no_key=True, of=("self",)).order_by("pk").values_list("pk", flat=True))
    decisions = SuggestionDecision.objects.filter(suggestion=OuterRef("pk"))
    kept = StoredSuggestion.objects.filter(Exists(decisions), published=True, **same)
    for rows in (held.filter(Exists(kept)), before.filter(~Exists(decisions))):
        # Nothing refers to these rows: the first were never visible, the second are locked.
        rows._raw_delete(rows.db)
    held.update(published=True)
