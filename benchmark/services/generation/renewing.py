"""Stale places of a language variant, translated again by a model: the result is a revision, which is reviewed."""

from collections import Counter
from dataclasses import replace
from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.comparison.anchors import lookup
from annotator.core.text import message
from annotator.errors import Conflict, DomainError, Invalid
from annotator.models import Dialogue, Revision, User
from annotator.models.content import DialogueStatus
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.revisions import lock_dialogue, revise
from annotator.services.dialogues.variant_comparison import SideBySide, compare_with_variant
from annotator.services.history.events import append_event
from benchmark.core.generation.kinds import Kind
from benchmark.core.generation.purposes import Purpose
from benchmark.core.generation.records import Recorded
from benchmark.core.generation.state import Unusable
from benchmark.core.generation.texts.state import Text, TextSetup, TextState
from benchmark.core.generation.texts.steps import begin
from benchmark.core.generation.texts.translating import KINDS, texts_to_translate, translated_document
from benchmark.models import Chooser, Generation, GenerationStatus
from benchmark.services.generation.authors import authors_in
from benchmark.services.generation.requests import Player, create_generation
from benchmark.services.generation.translating import free_name, provenance_of, writer
from reviews.services.cycles.start import supersede_cycle
from reviews.services.protocols.versions import current_version
from reviews.services.queue.co_authors import store_co_authors
from reviews.services.variant_creation import LANGUAGES


def stale_texts(found: SideBySide, side: int = 0) -> tuple[Text, ...]:
    """Return the texts that a model can translate again in the stale variant, which is one of two (``side``).

    Their text is the other variant's, their places are the stale variant's. Places that are no texts, or that only one
    of the two has, are left to people.
    """
    here, there = found.heads[side], found.heads[1 - side]
    languages = [one.document()["language"] for one in (here, there)]
    if refusal_to_renew((found.dialogue, found.variant.dialogue)[side]) or not _are_two(languages):
        return ()
    mine = here.document()
    marks = [one for one in found.stale if one.side == side and isinstance(lookup(mine, one.place), str)]
    places = {one.change.anchor: one.place for one in marks}
    texts = texts_to_translate(there.document(), there.toolset_revision.tools(), places=places.keys())
    return tuple(replace(one, places=tuple(places[place] for place in one.places)) for one in texts)


def _are_two(languages: list[str | None]) -> bool:
    return languages[0] != languages[1] and all(one in LANGUAGES for one in languages)


def refusal_to_renew(dialogue: Dialogue) -> str:
    """Return why the stale places of a dialogue can't be translated again, as a sentence; blank if they can."""
    if dialogue.kind not in KINDS:
        return _("Models translate dialogues and single tasks. Edit this one by hand.")
    if dialogue.gold_role:
        return _("%(id)s is a known answer. Edit it by hand.") % {"id": dialogue.external_id}
    if dialogue.status == DialogueStatus.REJECTED or dialogue.archived_at is not None:
        return _("%(id)s is rejected or archived.") % {"id": dialogue.external_id}
    return ""


def start_renewal(
    *,
    actor: User,
    dialogue: Dialogue,
    other: str,
    player: Player | None = None,
    records: list[Recorded] | None = None,
    retries: int = 2,
    chooser: Chooser = Chooser.FIRST,
    **more: Any,
) -> Generation:
    """Start to translate the stale places of a dialogue from its variant with the public id ``other``.

    The arguments are those of ``start_translation``. Raises Denied, Hidden, Invalid if there is nothing to translate,
    and Conflict if these places are being translated.
    """
    require_administrator(actor=actor, project=dialogue.project)
    found = compare_with_variant(actor=actor, dialogue=dialogue, other=other)
    texts = stale_texts(found)
    if not texts:
        raise Invalid(refusal_to_renew(dialogue) or _("No stale place of this dialogue has a text to translate."))
    (here, there), source = found.heads, found.variant.dialogue
    name = free_name(dialogue.project, f"{dialogue.external_id}-r{here.number}-r{there.number}")
    anchors = {one.place: one.change.anchor for one in found.stale if one.side == 0}
    origin = {
        "revision": there.public_id, "variant": dialogue.public_id, "variant_revision": here.public_id,
        "anchors": {place: anchors[place] for one in texts for place in one.places},
    }  # fmt: skip
    tools = here.toolset_revision.tools()
    try:
        setup = TextSetup(
            name, Purpose.TRANSLATION, source.language, dialogue.language, texts, tools, retries, origin,
            {one: other for one, other in _terms(found).items() if one not in {text.text for text in texts}},
        )  # fmt: skip
    except Unusable as refusal:
        raise Invalid(refusal.problem.text) from None
    return create_generation(
        actor=actor, project=dialogue.project, name=name, players=writer(player, records),
        recording=b"".join(one.to_line() for one in records or ()).decode(), kind=Kind.RENEWAL.value, source=source,
        target=dialogue, toolset_revision=here.toolset_revision, language=dialogue.language, chooser=chooser,
        setup=setup.to_json(), state=begin(setup).to_json(), **({"idempotent": True} if records else {}) | more,
    )  # fmt: skip


def _terms(found: SideBySide) -> dict[str, str]:
    """Return the values of arguments of the other variant that have one translation in the dialogue."""
    pairs = [(theirs, term.text) for term in found.comparison.terms for theirs in term.translations]
    times = Counter(text for text, _mine in pairs)
    return {text: mine for text, mine in pairs if times[text] == 1}


def finish_renewal(generation: Generation, state: TextState) -> None:
    """Store the texts of a complete state as a revision, in the caller's transaction, which has locked the generation.

    A place stays as it is if its text, or the text that was translated, has changed meanwhile. If none is left, the
    generation fails; while somebody has claimed the dialogue, it is paused, so that it can be continued later.
    """
    generation.state, generation.updated_at = state.to_json(), timezone.now()
    generation.status, generation.reason = GenerationStatus.DONE, None
    try:
        with transaction.atomic():
            _store(generation, state)
    except Conflict as refusal:
        generation.status, generation.reason = GenerationStatus.PAUSED, refusal.message
    except DomainError as refusal:
        generation.status, generation.reason = GenerationStatus.FAILED, refusal.message
    generation.save(update_fields=["state", "updated_at", "status", "reason", *Generation.USED])


def _store(generation: Generation, state: TextState) -> None:
    origin, actor, source = state.setup.origin, generation.requester, generation.source
    target = generation.target_id
    if source is None or target is None:
        raise ValueError("a renewal has a dialogue whose texts it translates, and one that it changes")
    # In the order of their keys, to avoid deadlocks.
    locked = {key: lock_dialogue(key) for key in sorted((target, source.pk))}
    dialogue, head, theirs = locked[target], locked[target].head, locked[source.pk].head
    if head is None or theirs is None:
        raise Invalid(message("This dialogue has no content any more."))
    if refusal := refusal_to_renew(dialogue):
        raise Invalid(refusal)
    seen = Revision.objects.get(public_id=origin["variant_revision"]).document()
    now, there = head.document(), theirs.document()
    results = []
    for text, written in state.results():
        places = tuple(
            place for place in text.places
            if lookup(now, place) == lookup(seen, place) and lookup(there, origin["anchors"][place]) == text.text
        )  # fmt: skip
        results.append((replace(text, places=places), written))
    document = translated_document(now, results)
    if document == now:
        raise Invalid(message("All these places have changed meanwhile. Nothing was stored."))
    reason = f"Stale places were translated again from revision {theirs.number} of {source.external_id}."
    store_co_authors(dialogue=dialogue, people=authors_in(state))
    revision = revise(actor=actor, dialogue=dialogue, seen=head, document=document, message=reason)
    kept = {place for text, _written in results for place in text.places}
    append_event(
        actor=actor, project=generation.project, dialogue=dialogue, kind="dialogue.translated_again",
        before={"content_hash": head.content_hash},
        after={
            "variant": source.external_id, "generation": generation.public_id, "content_hash": revision.content_hash,
            "provenance": [one for one in provenance_of(state) if one["place"] in kept],
        },
    )  # fmt: skip
    if current_version(generation.project) is not None:
        supersede_cycle(actor=actor, dialogue=dialogue, reason=reason, if_idle=True)
