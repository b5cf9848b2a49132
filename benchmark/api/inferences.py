"""Running models on a release, and human baselines, for administrators: start, follow, stop and continue."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import read_fields
from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.services.jobs.jobs import cancel_job
from benchmark.api import inference_serializers as shapes
from benchmark.models import Inference, Mode, Release
from benchmark.services.inference import baselines, endpoints, requests
from benchmark.services.inference.options import OPTIONS, Options, require_known_options
from benchmark.services.inference.requests import Budget
from benchmark.services.releases.requests import load_release
from benchmark.services.runs.uploads import families_of

_MODE = ("history", "language", "tool_mode", "thinking")
_CANCEL = {status: REFUSALS[status] for status in (403, 404, 409)}
_SINCE = "Inferences: those that were started, stopped or answered since, and those in progress."


class InferenceList(APIView):
    """The inferences over a release, oldest first, also human baselines; POST to run a model."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = _SINCE

    @extend_schema(
        responses={200: shapes.InferenceSerializer(many=True), 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="inferences_list",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        release = _release(request, slug, public_id)
        rows = requests.list_inferences(actor=actor(request), release=release)
        return answer_page(self, request, rows, shapes.InferenceSerializer, requests.changed_since)

    @extend_schema(
        request=shapes.InferenceInputSerializer,
        responses={202: shapes.InferenceSerializer, **REFUSALS},
        operation_id="inferences_start",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Start to ask a model about all entries: poll the inference until its jobs have ended."""
        release = _release(request, slug, public_id)
        sent = read_fields(shapes.InferenceInputSerializer, request)
        inference = requests.start_inference(
            actor=actor(request),
            endpoint=endpoints.load_endpoint(
                actor=actor(request), project=release.project, public_id=sent["endpoint"]
            ),
            budget=Budget(sent.get("token_budget"), sent.get("cost_budget")),
            model=sent["model"],
            **{name: sent[name] for name in ("input_price", "output_price") if name in sent},
            **_asked(release, sent),
        )  # fmt: skip
        return Response(shapes.InferenceSerializer(inference).data, status=status.HTTP_202_ACCEPTED)


class InferenceDetail(APIView):
    """One inference or human baseline: its progress, its cost, and what was refused."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: shapes.InferenceDetailSerializer, 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="inferences_read",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        return Response(shapes.InferenceDetailSerializer(_inference(request, slug, public_id)).data)


class InferenceCancel(APIView):
    """The end of an inference in progress."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=None, responses={202: shapes.InferenceSerializer, **_CANCEL}, operation_id="inferences_cancel"
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Stop to ask. Replies that are there stay, and “continue” asks for the others."""
        cancel_job(actor=actor(request), job=_inference(request, slug, public_id).job)
        found = _inference(request, slug, public_id)
        return Response(shapes.InferenceSerializer(found).data, status=status.HTTP_202_ACCEPTED)


class InferenceContinue(APIView):
    """Going on with an inference that has stopped."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=shapes.BudgetInputSerializer,
        responses={202: shapes.InferenceSerializer, **REFUSALS},
        operation_id="inferences_continue",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Ask for what is missing, within the same limits or others; they are totals."""
        inference = _inference(request, slug, public_id)
        sent = read_fields(shapes.BudgetInputSerializer, request)
        budget = Budget(
            sent.get("token_budget", inference.token_budget), sent.get("cost_budget", inference.cost_budget)
        )
        requests.continue_inference(actor=actor(request), inference=inference, budget=budget)
        found = _inference(request, slug, public_id)
        return Response(shapes.InferenceSerializer(found).data, status=status.HTTP_202_ACCEPTED)


class BaselineList(APIView):
    """The human baselines over a release, oldest first; POST to ask a member of the project."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = _SINCE

    @extend_schema(
        responses={200: shapes.InferenceSerializer(many=True), 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="baselines_list",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        release = _release(request, slug, public_id)
        rows = baselines.list_baselines(actor=actor(request), release=release)
        return answer_page(self, request, rows, shapes.InferenceSerializer, requests.changed_since)

    @extend_schema(
        request=shapes.BaselineInputSerializer,
        responses={202: shapes.InferenceSerializer, **REFUSALS},
        operation_id="baselines_start",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Ask a member to answer the entries. They get a notice; inferences/ID has the progress."""
        release = _release(request, slug, public_id)
        sent = read_fields(shapes.BaselineInputSerializer, request)
        inference = baselines.start_baseline(
            actor=actor(request),
            person=baselines.find_person(project=release.project, public_id=sent["person"]),
            **_asked(release, sent),
        )
        return Response(shapes.InferenceSerializer(inference).data, status=status.HTTP_202_ACCEPTED)


def _asked(release: Release, sent: dict[str, Any]) -> dict[str, Any]:
    """Return what is asked, and how, as arguments of a service. Raises Invalid for options of another family."""
    family = sent.get("family") or families_of(release)[0]
    require_known_options(family, sent)
    options = {name: sent[name] for name in OPTIONS if name in sent}
    if "delays" in options:
        options["delays"] = tuple(options["delays"])
    return {
        "release": release,
        "family": family,
        "name": sent["name"],
        "mode": Mode(**{name: sent[name] for name in _MODE if name in sent}),
        "options": Options(**options),
    }


def _release(request: Request, slug: str, public_id: str) -> Release:
    """Return the release. Raises Hidden, or Denied for everyone but administrators."""
    project = administered_project(request, slug)
    return load_release(actor=actor(request), project=project, public_id=public_id)


def _inference(request: Request, slug: str, public_id: str) -> Inference:
    project = administered_project(request, slug)
    return requests.load_inference(actor=actor(request), project=project, public_id=public_id)
