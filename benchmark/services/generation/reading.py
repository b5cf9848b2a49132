"""Read generations and their states."""

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Hidden
from annotator.models import Dialogue, Project, User
from benchmark.core.generation.state import Setup, State
from benchmark.models import Generation, ModelCall
from benchmark.services.generation.permissions import require_contributor


def list_generations(*, actor: User, project: Project) -> QuerySet[Generation]:
    """Return the generations of a project that the actor may see, newest first, without states. Raises Denied."""
    require_contributor(actor=actor, project=project)
    return _visible(actor, project).defer("state", "setup").order_by("-pk")


def load_generation(*, actor: User, project: Project, public_id: str) -> Generation:
    """Return a generation. Raises Denied and Hidden."""
    require_contributor(actor=actor, project=project)
    rows = _visible(actor, project).filter(public_id=public_id)
    found = rows.select_related("toolset_revision__toolset", "dialogue", "job").first()
    if found is None:
        raise Hidden(_("There is no such generation in the project."))
    return found


def _visible(actor: User, project: Project) -> QuerySet[Generation]:
    """Return the generations of a project without those of known answers on which the actor may be tested."""
    shown = Dialogue.objects.filter(project=project).shown_to(actor)
    return Generation.objects.filter(Q(dialogue=None) | Q(dialogue__in=shown), project=project)


def list_calls(generation: Generation) -> QuerySet[ModelCall]:
    """Return the calls of a generation, in order."""
    return generation.calls.select_related("template", "endpoint").defer("template__content").order_by("number")


def lock_generation(pk: int) -> Generation:
    """Return a generation, locked until the transaction ends."""
    rows = Generation.objects.select_for_update(of=("self",), no_key=True)
    return rows.select_related("project", "toolset_revision").get(pk=pk)


def read_setup(generation: Generation) -> Setup:
    """Return what a generation shall make."""
    return Setup.from_json(generation.setup, generation.toolset_revision.tools())


def read_state(generation: Generation) -> State:
    """Return where a generation stands."""
    return State.from_json(generation.state, read_setup(generation))
