"""Read generations and their states."""

from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any

from django.db.models import Q, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Hidden
from annotator.models import Dialogue, Project, User
from annotator.models.content import GoldRole
from benchmark.core.generation.kinds import core_of
from benchmark.core.generation.purposes import ROLE_OF
from benchmark.core.generation.state import Setup, State
from benchmark.core.generation.texts.state import TextState
from benchmark.models import Chooser, Generation, GenerationClaim, GenerationStatus, ModelCall, Sampling
from benchmark.services.generation.permissions import require_contributor

#: Long texts of the dialogues that a generation has become and continues.
WITHOUT_TEXTS = ("dialogue__search_text", "past__content", "past__dialogue__search_text")
#: The dialogues whose texts a generation shows.
_SHOWN = ("dialogue", "past__dialogue", "source", "target", "query__source")


def list_generations(*, actor: User, project: Project) -> QuerySet[Generation]:
    """Return the generations of a project that the actor may see, newest first, without states. Raises Denied."""
    require_contributor(actor=actor, project=project)
    return visible_generations(actor=actor, project=project).defer("state", "setup").order_by("-pk")


def changed_since(rows: QuerySet[Generation], moment: datetime) -> QuerySet[Generation]:
    """Narrow generations down to those that began, changed, or were claimed or given back since."""
    claims = GenerationClaim.objects.filter(Q(created_at__gte=moment) | Q(ended_at__gte=moment))
    return rows.filter(Q(created_at__gte=moment) | Q(updated_at__gte=moment) | Q(pk__in=claims.values("generation")))


def load_generation(*, actor: User, project: Project, public_id: str) -> Generation:
    """Return a generation; its state and setup are read when they are used. Raises Denied and Hidden."""
    require_contributor(actor=actor, project=project)
    rows = visible_generations(actor=actor, project=project).filter(public_id=public_id)
    rows = rows.select_related("toolset_revision__toolset", "dialogue", "job", "past__dialogue")
    found = rows.defer("state", "setup", "toolset_revision__content", *WITHOUT_TEXTS).first()
    if found is None:
        raise Hidden(_("There is no such generation in the project."))
    return found


def visible_generations(*, actor: User, project: Project) -> QuerySet[Generation]:
    """Return the generations of a project without those of known answers on which the actor may be tested."""
    shown = Dialogue.objects.filter(project=project).shown_to(actor)
    rules = [Q(**{one: None}) | Q(**{f"{one}__in": shown}) for one in _SHOWN]
    return Generation.objects.filter(*rules, project=project)


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
    """Return where the generation of a dialogue stands."""
    return State.from_json(generation.state, read_setup(generation))


def waits_for_people(generation: Generation, state: Any) -> bool:
    """Return whether a person must act next, because of a choice, used-up retries, or a role without a model."""
    core = core_of(generation.kind)
    turn = core.waits_for(state)
    if turn is None:
        return False
    if turn.purpose is None:
        return generation.chooser != Chooser.FIRST or core.decide(state) is None
    return not generation.role_models.filter(role=ROLE_OF[turn.purpose]).exists()


def shows_known_answer(generation: Generation) -> bool:
    """Return whether a generation shows a known answer, which only overseers may see; see ``visible_generations``."""
    answer = reduce(or_, (Q(**{f"{one}__gold_role": GoldRole.ANSWER}) for one in _SHOWN))
    return Generation.objects.filter(answer, pk=generation.pk).exists()


def in_sampling(generation: Generation) -> bool:
    """Return whether a sampling works on its attempts now, of which the generation is one."""
    key = generation.query_id
    return key is not None and Sampling.objects.in_progress().filter(queries=key).exists()


def is_busy(generation: Generation) -> bool:
    """Return whether a job works on a generation, or will."""
    job = generation.job
    return generation.status == GenerationStatus.RUNNING and job is not None and not job.ended


def read_texts(generation: Generation) -> TextState:
    """Return where a translation or a rewriting stands."""
    found = read_any_state(generation)
    if not isinstance(found, TextState):
        raise TypeError("a dialogue is generated, not texts")
    return found


def read_any_state(generation: Generation) -> Any:
    """Return where a generation of any kind stands, for ``core.generation.kinds``."""
    tools = generation.toolset_revision.tools()
    return core_of(generation.kind).read(generation.setup, generation.state, tools)
