"""Endpoints of models, for administrators. A key is only written: no answer, event or refusal has it."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.pagination import KeysetPagination
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from benchmark.models import Endpoint
from benchmark.services.inference import endpoints
from benchmark.services.inference.endpoints import MAX_KEY, MAX_NAME, MAX_URL


class NewEndpointSerializer(Input):
    """A service with the OpenAI chat API."""

    name = StrictCharField(max_length=MAX_NAME, help_text="For example the provider’s. Runs show it.")
    base_url = StrictCharField(max_length=MAX_URL, help_text="Usually ends in /v1.")
    key = StrictCharField(
        max_length=MAX_KEY, required=False, allow_blank=True, default="", write_only=True,
        help_text="Stored encrypted, and never shown. Blank if the endpoint needs none.",
    )  # fmt: skip


class EndpointKeySerializer(Input):
    """Another key for an endpoint."""

    key = StrictCharField(max_length=MAX_KEY, write_only=True, help_text="Stored encrypted, and never shown.")


class EndpointSerializer(serializers.ModelSerializer[Endpoint]):
    """An endpoint, without its key."""

    has_key = serializers.BooleanField(help_text="Whether a key is stored.")
    requester = serializers.CharField(
        source="requester.public_id", default=None, allow_null=True, help_text="Who added it."
    )

    class Meta:
        model = Endpoint
        fields = ["public_id", "name", "base_url", "has_key", "requester", "created_at"]


class EndpointList(APIView):
    """The endpoints of the project, oldest first; POST to add one."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = "Endpoints: those that were added since."

    @extend_schema(
        responses={200: EndpointSerializer(many=True), 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="endpoints_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = administered_project(request, slug)
        rows = endpoints.list_endpoints(actor=actor(request), project=project).select_related("requester")
        paginator = self.pagination_class()
        page = paginator.paginate_queryset(rows, request, self)
        return paginator.get_paginated_response(EndpointSerializer(page, many=True).data)

    @extend_schema(
        request=NewEndpointSerializer, responses={201: EndpointSerializer, **REFUSALS}, operation_id="endpoints_create"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Add an endpoint with its key."""
        project = administered_project(request, slug)
        sent = read_fields(NewEndpointSerializer, request)
        endpoint = endpoints.add_endpoint(actor=actor(request), project=project, **sent)
        return Response(EndpointSerializer(endpoint).data, status=status.HTTP_201_CREATED)


class EndpointDetail(APIView):
    """One endpoint."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: EndpointSerializer, 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="endpoints_read"
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        return Response(EndpointSerializer(_endpoint(request, slug, public_id)).data)

    @extend_schema(
        request=EndpointKeySerializer, responses={200: EndpointSerializer, **REFUSALS}, operation_id="endpoints_change"
    )
    def patch(self, request: Request, slug: str, public_id: str) -> Response:
        """Replace the key. The name and the address stay: add another endpoint to change them."""
        endpoint = _endpoint(request, slug, public_id)
        sent = read_fields(EndpointKeySerializer, request)
        endpoints.replace_key(actor=actor(request), endpoint=endpoint, key=sent["key"])
        return Response(EndpointSerializer(_endpoint(request, slug, public_id)).data)

    @extend_schema(
        request=None,
        responses={204: None, 403: REFUSALS[403], 404: NOT_FOUND, 409: REFUSALS[409]},
        operation_id="endpoints_remove",
    )
    def delete(self, request: Request, slug: str, public_id: str) -> Response:
        """Remove the endpoint and its key. What was asked there stays; it can’t be continued."""
        endpoints.remove_endpoint(actor=actor(request), endpoint=_endpoint(request, slug, public_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _endpoint(request: Request, slug: str, public_id: str) -> Endpoint:
    project = administered_project(request, slug)
    return endpoints.load_endpoint(actor=actor(request), project=project, public_id=public_id)
