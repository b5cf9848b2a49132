"""The stage in which an import starts the review of a reviewed dialogue again."""

from django.utils.translation import gettext as _

from annotator.errors import Invalid
from annotator.models import Project
from benchmark.models import ImportBatch
from reviews.services.cycles.start import no_stage_message
from reviews.services.protocols.versions import current_protocol


def require_reopening_stage(project: Project, stage: str) -> None:
    """Raise Invalid unless a cycle can start in this stage of the current protocol. Blank: the first stage."""
    if not stage:
        return
    protocol = current_protocol(project)
    if protocol is None:
        raise Invalid(
            _("The project has no review protocol yet, so it has no stage to reopen at. Leave the stage out."),
            field="reopen_at",
        )
    if stage not in [one.key for one in protocol.entry_stages]:
        raise Invalid(no_stage_message(stage, protocol), field="reopen_at")


def reopening_titles(batch: ImportBatch) -> tuple[str, str]:
    """Return the title of the first stage, and of the one in which reviewed dialogues start again.

    Both are blank in a project without a protocol.
    """
    protocol = current_protocol(batch.project)
    if protocol is None:
        return "", ""
    first = protocol.stages[0].title
    return first, next((one.title for one in protocol.entry_stages if one.key == batch.reopen_at), first)
