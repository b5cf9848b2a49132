"""Before a release is frozen: validators that nobody has tried as they stand are tried, here in the worker."""

from collections.abc import Iterator

from annotator.core.validators.trial import Subject, subjects_of
from annotator.errors import Conflict
from annotator.models import Dialogue, Project, Revision
from annotator.models.content import DialogueStatus
from annotator.services.dialogues.trials import ensure_tried
from annotator.services.jobs.jobs import Running
from benchmark.services.releases.trails import verified_cycles

_SLICE = 100


def try_what_waits(running: Running, project: Project) -> None:
    """Try the validators of verified cases. Where no code can be run they stay untried, and their cases are left out
    with that reason.
    """
    try:
        for subject in _subjects(project):
            if ensure_tried([subject]):
                running.beat()
    except Conflict:
        return


def _subjects(project: Project) -> Iterator[Subject]:
    rows = Dialogue.objects.filter(project=project, status=DialogueStatus.VERIFIED, policies="", archived_at=None)
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), _SLICE):
        verified = [cycle.revision for cycle in verified_cycles(keys[start : start + _SLICE]).values()]
        for revision in Revision.objects.filter(pk__in=verified).order_by("dialogue_id"):
            yield from subjects_of(revision.document())
