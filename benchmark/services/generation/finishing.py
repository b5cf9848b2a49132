"""A complete generation becomes a candidate, as if it had been imported; its history says where each part is from."""

from django.utils import timezone

from annotator.core.text import message
from annotator.models import Dialogue
from annotator.models.content import DialogueStatus
from annotator.services.dialogues.creation import write_dialogues
from annotator.services.dialogues.revisions import check_settings, latest_guideline
from annotator.services.history.events import append_event
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.generation.pipeline import finished_document
from benchmark.core.generation.state import State
from benchmark.models import Generation, GenerationStatus
from benchmark.services.imports.preparing import Preparer, Setup
from reviews.services.cycles.start import begin_cycles
from reviews.services.protocols.versions import current_version
from reviews.services.statistics.counters import write_deltas

_FORMAT = "neutral"


def store_candidate(generation: Generation, state: State) -> None:
    """Store the dialogue of a complete state, in the caller's transaction, which has locked the generation.

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
    generation.save(update_fields=["state", "updated_at", "status", "reason", "dialogue"])


def _write(generation: Generation, state: State) -> Dialogue:
    project, revision, actor = generation.project, generation.toolset_revision, generation.requester
    document = finished_document(state)
    read = ReadDialogue(
        generation.name, generation.language, "", document, revision.tools(), implementation=revision.implementation()
    )
    row = Preparer(Setup(_FORMAT, check_settings(project))).describe(read, {})
    row.toolset_revision_id = revision.pk
    guideline = latest_guideline(project)
    written = write_dialogues(
        actor=actor, project=project, rows=[row], native_format=_FORMAT, batch=None, published=True,
        guideline_id=guideline.pk if guideline else None,
    )  # fmt: skip
    if current_version(project) is not None:
        begin_cycles(actor=actor, project=project, dialogues=written, hidden=False)
    else:
        write_deltas(project_id=project.pk, deltas={f"status:{DialogueStatus.CANDIDATE}": 1})
    dialogue = Dialogue.objects.get(pk=written[0].dialogue_id)
    after = {"generation": generation.public_id, "provenance": state.provenance}
    append_event(actor=actor, project=project, dialogue=dialogue, kind="dialogue.generated", after=after)
    return dialogue
