"""Translations by a model: the variant of a dialogue in another language, which is reviewed like any candidate."""

from collections.abc import Mapping
from itertools import chain, count
from typing import Any

from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.schema import SchemaProblem, read_document
from annotator.core.text import Message, message
from annotator.errors import Conflict, DomainError, Invalid
from annotator.models import Dialogue, Project, Revision, User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from benchmark.core.generation.kinds import Kind
from benchmark.core.generation.purposes import Purpose, Role
from benchmark.core.generation.records import Recorded
from benchmark.core.generation.state import Unusable
from benchmark.core.generation.texts.state import TextSetup, TextState
from benchmark.core.generation.texts.steps import begin
from benchmark.core.generation.texts.translating import KINDS, texts_to_translate, translated_document
from benchmark.models import Chooser, Generation, GenerationStatus
from benchmark.services.generation.authors import authors_in
from benchmark.services.generation.players import players_of
from benchmark.services.generation.requests import Player, create_generation
from reviews.services.variant_creation import create_variant, variant_languages

_MAX_NAME = 200


def translatable_languages(dialogue: Dialogue) -> list[str]:
    """Return the languages into which a model can translate a dialogue."""
    return variant_languages(dialogue) if dialogue.kind in KINDS else []


def start_translation(
    *,
    actor: User,
    dialogue: Dialogue,
    language: str,
    player: Player | None = None,
    records: list[Recorded] | None = None,
    retries: int = 2,
    chooser: Chooser = Chooser.FIRST,
    **more: Any,
) -> Generation:
    """Start to translate the newest revision of a dialogue; the result is its variant “ID-LANGUAGE”.

    ``player``: the model; without one and without ``records``, people write the texts. ``chooser``: whether people look
    at the texts before they are used. ``more``: budget, idempotent, work and wake_worker, see ``start_generation``.
    Raises Denied for anyone but administrators; Invalid for a dialogue that can't be translated, Conflict if the
    variant or its translation exists.
    """
    require_administrator(actor=actor, project=dialogue.project)
    if language not in translatable_languages(dialogue):
        raise Invalid(_refusal(dialogue), field="language")
    if dialogue.head_id is None:
        raise Conflict(_("This dialogue has no content yet."))
    head = Revision.objects.select_related("toolset_revision").get(pk=dialogue.head_id)
    tools, variant = head.toolset_revision.tools(), f"{dialogue.external_id}-{language}"
    if Dialogue.objects.filter(project=dialogue.project, external_id=variant).exists():
        raise Conflict(_("The project already has a dialogue with the id “%(id)s”.") % {"id": variant})
    name = free_name(dialogue.project, variant)
    try:
        setup = TextSetup(
            name, Purpose.TRANSLATION, dialogue.language, language, texts_to_translate(head.document(), tools), tools,
            retries, {"revision": head.public_id},
        )  # fmt: skip
    except Unusable as refusal:
        raise Invalid(refusal.problem.text) from None
    return create_generation(
        actor=actor, project=dialogue.project, name=name, players=writer(player, records),
        recording=b"".join(one.to_line() for one in records or ()).decode(), kind=Kind.TRANSLATION.value,
        source=dialogue, toolset_revision=head.toolset_revision, language=language, chooser=chooser,
        setup=setup.to_json(), state=begin(setup).to_json(), **({"idempotent": True} if records else {}) | more,
    )  # fmt: skip


def free_name(project: Project, name: str) -> str:
    """Return the name of a translation: ``name``, with a number after those that failed. Raises Conflict."""
    failed = Generation.objects.filter(project=project, status=GenerationStatus.FAILED, name__startswith=name)
    used = set(failed.values_list("name", flat=True))
    free = next(one for one in chain([name], (f"{name}-{number}" for number in count(2))) if one not in used)
    if len(free) > _MAX_NAME:
        raise Conflict(_("The id “%(id)s” would be too long. Import the variant with an id of its own.") % {"id": free})
    return free


def writer(player: Player | None, records: list[Recorded] | None) -> Mapping[Role, Player]:
    """Return who plays the writer: a model, recorded answers, or people."""
    if records:
        return {Role.WRITER: players_of(records)[Role.WRITER]}
    return {} if player is None else {Role.WRITER: player}


def _refusal(dialogue: Dialogue) -> str:
    if dialogue.kind not in KINDS:
        return _("Models translate dialogues and single tasks. Make a copy of this one and translate it by hand.")
    return _("No variant of this dialogue can be made in this language.")


def finish_translation(generation: Generation, state: TextState) -> None:
    """Store the variant of a complete translation, in the caller's transaction, which has locked the generation.

    If it can't be made any more, because there is another one meanwhile, the generation fails.
    """
    source, actor = generation.source, generation.requester
    if source is None or actor is None:
        raise ValueError("a translation has a dialogue and a requester")
    revision = Revision.objects.get(public_id=state.setup.origin["revision"])
    generation.state, generation.updated_at = state.to_json(), timezone.now()
    try:
        document = read_document(translated_document(revision.document(), list(state.results())))
        made = create_variant(
            actor=actor, dialogue=source, language=generation.language, of=revision, document=document,
            co_authors=authors_in(state),
        )  # fmt: skip
    except DomainError as refusal:
        _fail(generation, refusal.message)
    except SchemaProblem as problem:
        _fail(generation, message("The translation can’t be stored: %(why)s", why=str(problem)))
    else:
        generation.dialogue, generation.status, generation.reason = made, GenerationStatus.DONE, None
        after = {"generation": generation.public_id, "provenance": provenance_of(state)}
        append_event(actor=actor, project=generation.project, dialogue=made, kind="dialogue.translated", after=after)
    generation.save(update_fields=["state", "updated_at", "status", "reason", "dialogue", *Generation.USED])


def provenance_of(state: TextState) -> list[dict[str, Any]]:
    """Return for each place who wrote its text."""
    return [
        {"place": place, "role": Role.WRITER.value, **state.done[text.key]["source"]}
        for text, _written in state.results()
        for place in text.places
    ]


def _fail(generation: Generation, reason: Message) -> None:
    generation.status, generation.reason = GenerationStatus.FAILED, reason
