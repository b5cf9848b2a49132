"""A complete generation becomes a candidate, as if it had been imported; its history says where each part is from.

Translated texts become a variant, rewritten sentences those of constructed cases.
"""

from collections.abc import Callable
from typing import Any

from django.utils import timezone

from annotator.core.text import message
from annotator.models import Dialogue
from annotator.services.history.events import append_event
from benchmark.core.generation.kinds import Kind
from benchmark.core.generation.pipeline import finished_document
from benchmark.core.generation.state import State
from benchmark.models import Generation, GenerationStatus
from benchmark.services.generation.attempts import store_attempt
from benchmark.services.generation.authors import authors_of
from benchmark.services.generation.claims import end_claim
from benchmark.services.generation.layers import hold_past, keep_continuation
from benchmark.services.generation.notices import tell_requester
from benchmark.services.generation.renewing import finish_renewal
from benchmark.services.generation.translating import finish_translation
from benchmark.services.similarity.search import compare_new
from benchmark.services.similarity.settings import lock_searches
from reviews.services.cycles.candidates import NewDialogue, add_dialogues


def store_candidate(generation: Generation, state: Any) -> None:
    """Store what a complete state became, in the caller's transaction, which has locked the generation."""
    if generation.query_id is not None:
        store_attempt(generation, state)
        return
    # Before any dialogue, as in the job that searches near-duplicates.
    lock_searches(generation.project)
    FINISHERS[generation.kind](generation, state)
    if generation.dialogue is not None:
        compare_new(generation.dialogue)
    end_claim(generation)
    tell_requester(generation)


def _store_dialogue(generation: Generation, state: State) -> None:
    """Store the dialogue of a complete state.

    If the project has got a dialogue with this id meanwhile, the generation fails.
    """
    project = generation.project
    generation.state, generation.updated_at = state.to_json(), timezone.now()
    if Dialogue.objects.filter(project=project, external_id=generation.name).exists():
        generation.status = GenerationStatus.FAILED
        generation.reason = message("The project already has a dialogue “%(name)s”.", name=generation.name)
    else:
        generation.dialogue = _write(generation, state)
        generation.status, generation.reason = GenerationStatus.DONE, None
    generation.save(update_fields=["state", "updated_at", "status", "reason", "dialogue", *Generation.USED])


def _write(generation: Generation, state: State) -> Dialogue:
    project, revision, actor = generation.project, generation.toolset_revision, generation.requester
    hold_past(generation)
    new = NewDialogue(generation.name, finished_document(state), revision, co_authors=authors_of(generation, state))
    [written] = add_dialogues(actor=actor, project=project, dialogues=[new])
    dialogue = Dialogue.objects.get(pk=written.dialogue_id)
    after = {"generation": generation.public_id, "provenance": state.provenance}
    after |= keep_continuation(generation, dialogue)
    append_event(actor=actor, project=project, dialogue=dialogue, kind="dialogue.generated", after=after)
    return dialogue


#: Kind of generation → what uses its complete state. Other folders add theirs.
FINISHERS: dict[str, Callable[[Generation, Any], None]] = {
    Kind.DIALOGUE: _store_dialogue,
    Kind.TRANSLATION: finish_translation,
    Kind.RENEWAL: finish_renewal,
}
