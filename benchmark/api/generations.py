"""Generations: start, follow, claim, act, pause and continue them."""

from collections.abc import Callable
from typing import Any

from django.db.models import Prefetch
from django.http import StreamingHttpResponse
from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import read_fields
from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.rendering import FileNegotiation
from annotator.api.views import FILE, NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.errors import Hidden, Invalid
from annotator.models import Dialogue, Project, ToolsetRevision, User
from annotator.services.access.permissions import load_dialogue, load_project
from annotator.services.maintenance import works_in_maintenance
from annotator.services.toolsets.details import load_toolset, newest
from benchmark.api import generation_serializers as shapes
from benchmark.core.generation.cells import continued_name, default_name, draw_relations
from benchmark.core.generation.kinds import Kind
from benchmark.core.generation.purposes import Role
from benchmark.models import Generation
from benchmark.services.generation import claims, people
from benchmark.services.generation.claims import live_claims
from benchmark.services.generation.permissions import require_contributor
from benchmark.services.generation.reading import WITHOUT_TEXTS, changed_since, list_generations, load_generation
from benchmark.services.generation.recordings import read_recording, start_from_records
from benchmark.services.generation.records import recorded_answers
from benchmark.services.generation.requests import Player, continue_generation, pause_generation, start_generation
from benchmark.services.generation.revising import replace_plan
from benchmark.services.inference.endpoints import load_endpoint
from benchmark.services.inference.options import Options
from benchmark.services.inference.requests import Budget

_SETUP = ("language", "seed", "candidates", "per_relation", "retries")
_OPTIONS = ("temperature", "seed", "max_tokens", "extra")
_PRICES = ("input_price", "output_price")
_READ = {200: shapes.GenerationDetailSerializer, 403: REFUSALS[403], 404: NOT_FOUND}
_GONE = {204: OpenApiResponse(description="Nobody has claimed it now.")}


class GenerationList(APIView):
    """The generations of a project, oldest first; POST to start one, for administrators."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = "Generations: those that were started, went on, were claimed or were given back since."

    @extend_schema(
        responses={200: shapes.GenerationSerializer(many=True), 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="generations_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        rows = list_generations(actor=actor(request), project=_project(request, slug)).filter(kind=Kind.DIALOGUE)
        rows = rows.select_related("toolset_revision__toolset", "requester", "job", "dialogue", "past__dialogue")
        rows = rows.prefetch_related(Prefetch("claims", live_claims(), to_attr="live_claims"))
        rows = rows.defer("state", "setup", "toolset_revision__content", *WITHOUT_TEXTS)
        return answer_page(self, request, rows, shapes.GenerationSerializer, changed_since)

    @extend_schema(
        request=shapes.GenerationInputSerializer,
        responses={202: shapes.GenerationDetailSerializer, **REFUSALS},
        operation_id="generations_start",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Start to generate a dialogue: poll it until it waits, is paused or has ended."""
        project = administered_project(request, slug)
        sent = read_fields(shapes.GenerationInputSerializer, request)
        if bool(sent["toolset"]) == bool(sent["past"]):
            raise Invalid(_("Name either a toolset or a dialogue to continue."), field="toolset")
        past = _past(actor(request), project, sent["past"])
        given: dict[str, Any] = {
            "actor": actor(request), "project": project, "setup": _setup(sent, past), "chooser": sent["chooser"],
            "toolset": _toolset(project, sent["toolset"], past), "past": past,
            "budget": Budget(sent.get("token_budget"), sent.get("cost_budget")),
        }  # fmt: skip
        if sent["records"]:
            made = start_from_records(records=read_recording(sent["records"].encode()), **given)
        else:
            players = _players(actor(request), project, sent["players"])
            made = start_generation(players=players, idempotent=sent["idempotent"], **given)
        return _answer(request, made, status.HTTP_202_ACCEPTED)


class GenerationDetail(APIView):
    """One generation: what it waits for, its candidates, its claim, its cost, and the dialogue so far."""

    @extend_schema(responses=_READ, operation_id="generations_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        return _answer(request, _generation(request, slug, public_id))


class GenerationAnswers(APIView):
    """The recorded answers of a generation as JSON lines, from which it runs again. For administrators."""

    content_negotiation_class = FileNegotiation

    @extend_schema(
        responses={(200, "application/jsonl"): FILE, 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="generations_answers",
    )
    def get(self, request: Request, slug: str, public_id: str) -> StreamingHttpResponse:
        administered_project(request, slug)
        generation = _generation(request, slug, public_id)
        lines = (one.to_line() for one in recorded_answers(generation))
        return StreamingHttpResponse(lines, content_type="application/jsonl")


class GenerationNext(APIView):
    """Claim the generation that has waited longest; your own claim comes first."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=None,
        responses={
            201: shapes.GenerationDetailSerializer, 204: OpenApiResponse(description="None waits for you."), **REFUSALS
        },
        operation_id="generations_next",
    )  # fmt: skip
    def post(self, request: Request, slug: str) -> Response:
        claim = claims.claim_next(actor=actor(request), project=_project(request, slug), kinds=[Kind.DIALOGUE])
        if claim is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return _answer(request, claim.generation, status.HTTP_201_CREATED)


class GenerationClaims(APIView):
    """Claim a generation; again, to extend your claim."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=shapes.GenerationClaimInputSerializer,
        responses={201: shapes.GenerationDetailSerializer, **REFUSALS},
        operation_id="generations_claim",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        generation = _generation(request, slug, public_id)
        sent = read_fields(shapes.GenerationClaimInputSerializer, request)
        claims.claim_generation(actor=actor(request), generation=generation, take_over=sent["take_over"])
        return _answer(request, generation, status.HTTP_201_CREATED)


class GenerationRelease(APIView):
    """Give your claim back; administrators also end a colleague’s."""

    scope = Scope.ANNOTATE

    @extend_schema(request=None, responses=_GONE | REFUSALS, operation_id="generations_release")
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        claims.release_claim(actor=actor(request), generation=_generation(request, slug, public_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


@works_in_maintenance
class GenerationHeartbeat(APIView):
    """Keep your claim alive."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=None,
        responses={200: shapes.GenerationClaimSerializer, **REFUSALS},
        operation_id="generations_heartbeat",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        claim = claims.heartbeat(actor=actor(request), generation=_generation(request, slug, public_id))
        return Response(shapes.GenerationClaimSerializer(claim).data)


class GenerationAct(APIView):
    """Choose a request, reject all, write an answer, change the actions, ask again, or go back.

    A free generation is claimed with it. ``seen`` is the number of events that you have read; if there are others
    meanwhile, also because the same request was sent before, it is refused (409).
    """

    scope = Scope.ANNOTATE

    @extend_schema(
        request=shapes.GenerationActInputSerializer,
        responses={200: shapes.GenerationDetailSerializer, **REFUSALS},
        operation_id="generations_act",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        generation = _generation(request, slug, public_id)
        sent = read_fields(shapes.GenerationActInputSerializer, request)
        _ACTS[sent["act"]](sent, actor=actor(request), generation=generation, seen=sent["seen"])
        return _answer(request, generation)


class GenerationPause(APIView):
    """Pause a generation. The answer to a request on its way is still stored."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=None, responses={200: shapes.GenerationDetailSerializer, **REFUSALS}, operation_id="generations_pause"
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        generation = _generation(request, slug, public_id)
        pause_generation(actor=actor(request), generation=generation)
        return _answer(request, generation)


class GenerationContinue(APIView):
    """Let a paused generation go on, within the same limits or others; they are totals."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=shapes.GenerationContinueInputSerializer,
        responses={202: shapes.GenerationDetailSerializer, **REFUSALS},
        operation_id="generations_continue",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        administered_project(request, slug)
        generation = _generation(request, slug, public_id)
        sent = read_fields(shapes.GenerationContinueInputSerializer, request)
        budget = Budget(
            sent.get("token_budget", generation.token_budget), sent.get("cost_budget", generation.cost_budget)
        )
        continue_generation(actor=actor(request), generation=generation, budget=budget, send_again=sent["send_again"])
        return _answer(request, generation, status.HTTP_202_ACCEPTED)


_ACTS: dict[str, Callable[..., Generation]] = {
    "choose": lambda sent, **given: people.choose_candidate(candidate=sent["candidate"], text=sent["text"], **given),
    "reject": lambda sent, **given: people.reject_candidates(reason=sent["reason"], **given),
    "write": lambda sent, **given: people.write_answer(text=sent["text"], **given),
    "plan": lambda sent, **given: replace_plan(text=sent["text"], **given),
    "retry": lambda sent, **given: people.retry_step(**given),
    "back": lambda sent, **given: people.go_back(events=sent["events"], **given),
}


def _past(person: User, project: Project, public_id: str) -> Dialogue | None:
    return load_dialogue(actor=person, project=project, public_id=public_id) if public_id else None


def _toolset(project: Project, public_id: str, past: Dialogue | None) -> ToolsetRevision:
    """Return the tools of what is continued; else the newest of the named toolset."""
    if past is not None and past.head is not None:
        return past.head.toolset_revision
    return newest(load_toolset(project=project, public_id=public_id))


def _setup(sent: dict[str, Any], past: Dialogue | None) -> dict[str, Any]:
    policies, seed = sent["policies"], sent["seed"]
    if past is None:
        name = default_name(policies, sent["language"], seed)
    else:
        name = continued_name(past.external_id, policies[len(past.policy_list) :], seed)
    return {one: sent[one] for one in _SETUP} | {
        "name": sent["name"] or name,
        "policies": policies,
        "relations": sent.get("relations") or [list(one) for one in draw_relations(policies, seed)],
        "env_info": sent["env_info"].strip() or None,
    }


def _players(person: User, project: Project, sent: list[dict[str, Any]]) -> dict[Role, Player]:
    named = {one["role"]: _player(person, project, one) for one in sent}
    common = named.pop(shapes.ALL, None)
    everybody = {} if common is None else dict.fromkeys(Role, common)
    return everybody | {Role(role): player for role, player in named.items()}


def _player(person: User, project: Project, sent: dict[str, Any]) -> Player:
    return Player(
        model=sent["model"],
        endpoint=load_endpoint(actor=person, project=project, public_id=sent["endpoint"]),
        options=Options(**{name: sent[name] for name in _OPTIONS if name in sent}),
        **{name: sent[name] for name in _PRICES if name in sent},
    )


def _project(request: Request, slug: str) -> Project:
    """Return the project. Raises Hidden, or Denied for people who can't act in generations."""
    project = load_project(actor=actor(request), slug=slug)
    require_contributor(actor=actor(request), project=project)
    return project


def _generation(request: Request, slug: str, public_id: str) -> Generation:
    found = load_generation(actor=actor(request), project=_project(request, slug), public_id=public_id)
    if found.kind != Kind.DIALOGUE:
        raise Hidden(_("This generation makes no dialogue. It has no API; use its page."))
    return found


def _answer(request: Request, generation: Generation, code: int = status.HTTP_200_OK) -> Response:
    """Return the generation as it is now."""
    found = load_generation(actor=actor(request), project=generation.project, public_id=generation.public_id)
    return Response(shapes.GenerationDetailSerializer(found).data, status=code)
