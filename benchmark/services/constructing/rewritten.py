"""Constructed cases are imported when their sentences are rewritten."""

from django.utils import timezone

from annotator.errors import DomainError
from benchmark.core.constructing import Options
from benchmark.core.generation.texts.state import TextState
from benchmark.core.rewritten_cases import rewrite_sentences
from benchmark.models import Generation, GenerationStatus
from benchmark.services.constructing.runner import Construction, make_cases, nothing_made, store_cases
from benchmark.services.constructing.sources import Request


def finish_rewriting(generation: Generation, state: TextState) -> None:
    """Make the cases again, with their sentences, and start their import, in the caller's transaction.

    If none can be made any more, the generation fails.
    """
    origin = state.setup.origin
    options = Options.from_json(origin["options"])
    request = Request(options, tuple(origin["names"]), origin["only_verified"])
    found = Construction(options)
    make_cases(generation.project, request, list(request.names), found)
    found.made = [rewrite_sentences(one, state) for one in found.made]
    generation.state, generation.updated_at = state.to_json(), timezone.now()
    generation.status, generation.reason = GenerationStatus.DONE, None
    try:
        if not found.made:
            generation.status, generation.reason = GenerationStatus.FAILED, nothing_made(list(map(list, found.refused)))
        else:
            store_cases(
                actor=generation.requester, project=generation.project, found=found,
                wake_worker=origin["wake_worker"], generation=generation.public_id,
            )  # fmt: skip
    except DomainError as refusal:
        generation.status, generation.reason = GenerationStatus.FAILED, refusal.message
    generation.save(update_fields=["state", "updated_at", "status", "reason", *Generation.USED])
