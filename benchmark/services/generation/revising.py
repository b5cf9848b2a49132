"""Changes that a person makes to what is there already."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.errors import Conflict
from annotator.models import User
from benchmark.core.generation.state import State
from benchmark.core.generation.tracing import Traced, latest_plan, trace
from benchmark.models import Generation
from benchmark.services.generation.claims import lock_contributor
from benchmark.services.generation.people import go_back, write_answer
from benchmark.services.generation.reading import lock_generation, read_state


def replace_plan(*, actor: User, generation: Generation, text: str, seen: int, work: bool = True) -> Generation:
    """Replace the planner's latest actions, as long as nothing has followed from them; ``text``: as JSON.

    Raises Denied, Conflict and Invalid, as ``write_answer``.
    """
    with transaction.atomic():
        # Before the generation, as everywhere.
        lock_contributor(actor=actor, project=generation.project)
        generation = lock_generation(generation.pk)
        status, plan = generation.status, _latest_plan(read_state(generation))
        if plan is None:
            raise Conflict(_("There are no actions that can be changed now."))
        generation = go_back(actor=actor, generation=generation, events=plan.number, seen=seen)
        # The step back is a part of the change, and no pause.
        generation.status = status
        generation.save(update_fields=["status"])
        return write_answer(actor=actor, generation=generation, text=text, work=work)


def _latest_plan(state: State) -> Traced | None:
    try:
        return latest_plan(trace(state.setup, state.events, state.setup.settings))
    except ValueError:
        return None
