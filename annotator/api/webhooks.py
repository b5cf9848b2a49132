"""Webhooks and their messages, with the same services as the pages. For administrators."""

from typing import Any

from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, StrictBooleanField, StrictCharField, read_fields
from annotator.api.pagination import KeyPagination, answer_page
from annotator.api.serializers import ErrorSerializer
from annotator.api.views import NOT_FOUND, actor
from annotator.core.scopes import Scope
from annotator.models import CHOSEN_EVENTS, DeliveryState, Webhook, WebhookDelivery
from annotator.services.access.permissions import load_project
from annotator.services.database.filters import one_of
from annotator.services.webhooks import deliveries, hooks

_DENIED = OpenApiResponse(ErrorSerializer, "Administrators only.")
_CONFLICT = OpenApiResponse(ErrorSerializer, "The current state does not allow this; the message gives the reason.")
_INVALID = OpenApiResponse(ErrorSerializer, "The address or the events are not valid; the message gives the reason.")
_MALFORMED = OpenApiResponse(ErrorSerializer, "Fields are missing or invalid; see details.")
_EVENTS = [value for value, _label in CHOSEN_EVENTS]
_SECRET = "The secret. It is shown only this once."  # noqa: S105 - a description


class WebhookInputSerializer(Input):
    """A new webhook."""

    url = StrictCharField(max_length=hooks.MAX_URL, help_text="The address to which messages are posted.")
    events = BoundedListField(
        child=serializers.ChoiceField(choices=_EVENTS),
        allow_empty=False,
        max_length=len(_EVENTS),
        help_text="The types of messages that it gets.",
    )
    description = StrictCharField(
        max_length=hooks.MAX_DESCRIPTION, required=False, allow_blank=True, default="", help_text="What receives them."
    )


class WebhookChangeSerializer(Input):
    """What to change; a field that is left out keeps its value."""

    url = StrictCharField(max_length=hooks.MAX_URL, required=False)
    events = BoundedListField(
        child=serializers.ChoiceField(choices=_EVENTS), allow_empty=False, max_length=len(_EVENTS), required=False
    )
    description = StrictCharField(max_length=hooks.MAX_DESCRIPTION, required=False, allow_blank=True)
    active = StrictBooleanField(required=False, help_text="Whether messages are written and sent.")


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    """A webhook, without its secret."""

    events = serializers.ListField(child=serializers.ChoiceField(choices=_EVENTS))
    why_off = serializers.CharField(help_text="Why Assay switched it off; blank if it did not.")

    class Meta:
        model = Webhook
        fields = ["public_id", "url", "description", "events", "active", "why_off", "old_secret_until", "created_at"]


class WebhookWithSecretSerializer(WebhookSerializer):
    """A webhook with a new secret."""

    secret = serializers.SerializerMethodField(help_text=_SECRET)

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]

    def get_secret(self, webhook: Webhook) -> str:
        return str(self.context.get("secret", ""))


class DeliverySerializer(serializers.ModelSerializer[WebhookDelivery]):
    """A message to a webhook and the result of its last attempt."""

    message_id = serializers.CharField(help_text="The header webhook-id: the same in each attempt.")
    error = serializers.CharField(help_text="Why the last attempt failed, as a sentence; blank if it did not.")

    class Meta:
        model = WebhookDelivery
        fields = [
            "public_id", "message_id", "event", "state", "attempts", "status", "milliseconds", "error", "tried_at",
            "next_try_at", "created_at",
        ]  # fmt: skip


class DeliveryDetailSerializer(DeliverySerializer):
    """A message with its body and the beginning of the last reply."""

    class Meta(DeliverySerializer.Meta):
        fields = [*DeliverySerializer.Meta.fields, "body", "reply"]


def _webhook(request: Request, slug: str, public_id: str) -> Webhook:
    project = load_project(actor=actor(request), slug=slug)
    return hooks.load_webhook(actor=actor(request), project=project, public_id=public_id)


def _delivery(request: Request, slug: str, public_id: str, delivery: str) -> WebhookDelivery:
    webhook = _webhook(request, slug, public_id)
    return deliveries.load_delivery(actor=actor(request), webhook=webhook, public_id=delivery)


class WebhookList(APIView):
    """The project's webhooks; POST to add one."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: WebhookSerializer(many=True), 403: _DENIED, 404: NOT_FOUND}, operation_id="webhooks_list"
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = hooks.list_webhooks(actor=actor(request), project=project)
        return Response(WebhookSerializer(rows, many=True).data)

    @extend_schema(
        request=WebhookInputSerializer,
        responses={
            201: WebhookWithSecretSerializer, 400: _MALFORMED, 403: _DENIED, 404: NOT_FOUND, 409: _CONFLICT,
            422: _INVALID,
        },
        operation_id="webhooks_add",
    )  # fmt: skip
    def post(self, request: Request, slug: str) -> Response:
        """Add a webhook. The response has its secret, which is shown only this once."""
        project = load_project(actor=actor(request), slug=slug)
        # Before the body is read, so that others learn nothing about it.
        hooks.list_webhooks(actor=actor(request), project=project)
        sent = read_fields(WebhookInputSerializer, request)
        webhook, secret = hooks.add_webhook(actor=actor(request), project=project, **sent)
        return Response(_with_secret(webhook, secret), status=status.HTTP_201_CREATED)


class WebhookDetail(APIView):
    """One webhook."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: WebhookSerializer, 403: _DENIED, 404: NOT_FOUND}, operation_id="webhooks_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        return Response(WebhookSerializer(_webhook(request, slug, public_id)).data)

    @extend_schema(
        request=WebhookChangeSerializer,
        responses={
            200: WebhookSerializer, 400: _MALFORMED, 403: _DENIED, 404: NOT_FOUND, 409: _CONFLICT, 422: _INVALID,
        },
        operation_id="webhooks_change",
    )  # fmt: skip
    def patch(self, request: Request, slug: str, public_id: str) -> Response:
        """Change a webhook, or switch it on or off."""
        webhook = _webhook(request, slug, public_id)
        sent = read_fields(WebhookChangeSerializer, request)
        return Response(
            WebhookSerializer(hooks.change_webhook(actor=actor(request), webhook=webhook, **sent)).data
        )  # fmt: skip

    @extend_schema(
        request=None, responses={204: None, 403: _DENIED, 404: NOT_FOUND}, operation_id="webhooks_remove"
    )  # fmt: skip
    def delete(self, request: Request, slug: str, public_id: str) -> Response:
        """Remove a webhook and its secret. Messages that still wait are not sent."""
        hooks.remove_webhook(actor=actor(request), webhook=_webhook(request, slug, public_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class WebhookRotate(APIView):
    """The secret of a webhook."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=None,
        responses={200: WebhookWithSecretSerializer, 403: _DENIED, 404: NOT_FOUND, 409: _CONFLICT},
        operation_id="webhooks_rotate",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Make another secret. The one before signs too for 24 hours."""
        webhook, secret = hooks.rotate_secret(actor=actor(request), webhook=_webhook(request, slug, public_id))
        return Response(_with_secret(webhook, secret))


class WebhookTest(APIView):
    """A test of a webhook."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=None,
        responses={202: DeliverySerializer, 403: _DENIED, 404: NOT_FOUND, 409: _CONFLICT},
        operation_id="webhooks_test",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Send a message of the type ping."""
        webhook = _webhook(request, slug, public_id)
        sent = deliveries.send_test(actor=actor(request), webhook=webhook)
        return Response(DeliverySerializer(sent).data, status=status.HTTP_202_ACCEPTED)


class DeliveryList(APIView):
    """The messages of a webhook, oldest first."""

    pagination_class = KeyPagination
    since_meaning = "Messages: those that were written or last sent since."

    @extend_schema(
        parameters=[OpenApiParameter("state", enum=DeliveryState.values, description="Only messages in this state.")],
        responses={200: DeliverySerializer(many=True), 403: _DENIED, 404: NOT_FOUND},
        operation_id="webhook_deliveries_list",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        webhook = _webhook(request, slug, public_id)
        state = one_of(request.query_params, "state", DeliveryState.values)
        rows = deliveries.list_deliveries(actor=actor(request), webhook=webhook, state=state).defer("body", "reply")
        return answer_page(self, request, rows, DeliverySerializer, since=deliveries.changed_since)


class DeliveryDetail(APIView):
    """One message of a webhook."""

    @extend_schema(
        responses={200: DeliveryDetailSerializer, 403: _DENIED, 404: NOT_FOUND}, operation_id="webhook_deliveries_read"
    )
    def get(self, request: Request, slug: str, public_id: str, delivery: str) -> Response:
        return Response(DeliveryDetailSerializer(_delivery(request, slug, public_id, delivery)).data)


class DeliveryAgain(APIView):
    """A message that is sent again."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=None,
        responses={202: DeliverySerializer, 403: _DENIED, 404: NOT_FOUND, 409: _CONFLICT},
        operation_id="webhook_deliveries_send_again",
    )
    def post(self, request: Request, slug: str, public_id: str, delivery: str) -> Response:
        """Send a message again, with the same id and body."""
        found = _delivery(request, slug, public_id, delivery)
        again = deliveries.send_again(actor=actor(request), delivery=found)
        return Response(DeliverySerializer(again).data, status=status.HTTP_202_ACCEPTED)


def _with_secret(webhook: Webhook, secret: str) -> Any:
    return WebhookWithSecretSerializer(webhook, context={"secret": secret}).data
