"""Gold items for programs: list, create and retire them, and set how often people get one."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedDictField, Input, StrictBooleanField, StrictCharField, read_fields
from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.services.access.permissions import load_project
from reviews.api.serializers import DocumentField
from reviews.models import GoldItem
from reviews.services.gold import creation, results, settings


class GoldItemSerializer(serializers.ModelSerializer[GoldItem]):
    """A gold item: what people see, and the dialogue that has its known answer."""

    dialogue = serializers.CharField(source="dialogue.public_id")
    source = serializers.CharField(source="source.public_id")  # type: ignore[assignment]
    created_by = serializers.CharField(source="created_by.public_id")
    retired_by = serializers.CharField(source="retired_by.public_id", default=None, allow_null=True)
    submitted = serializers.IntegerField(help_text="Reviews that were scored.")
    right = serializers.IntegerField(help_text="Reviews with the right verdict.")

    class Meta:
        model = GoldItem
        fields = [
            "public_id", "stage", "dialogue", "source", "planted", "errors", "submitted", "right", "created_by",
            "created_at", "retired_by", "retired_at", "retired_why",
        ]  # fmt: skip


class _DocumentsField(BoundedDictField):
    child = DocumentField()
    most = 100


class NewGoldItemSerializer(Input):
    dialogue = StrictCharField(max_length=200, help_text="A verified dialogue: its id in the project or its public id.")
    stage = StrictCharField(max_length=40, help_text="Key of the stage in which people get it.")
    document = DocumentField(
        required=False,
        help_text="The verified document with a planted error. Without it, people see what first came to the stage.",
    )
    variants = _DocumentsField(
        required=False,
        help_text="With a planted error: what the variants in other languages show, by public id of the dialogue. By "
        "default their verified document.",
    )


class RetireSerializer(Input):
    reason = StrictCharField(max_length=500, required=False, allow_blank=True, default="")


class GoldRateInputSerializer(Input):
    stage = StrictCharField(max_length=40)
    rate = serializers.FloatField(
        min_value=0, max_value=settings.MAX_RATE, help_text="Share of each person's claims; 0: none."
    )
    reveal = StrictBooleanField(required=False, help_text="Whether people see their results on retired items.")


class GoldRateSerializer(serializers.Serializer[Any]):
    """A stage of the current protocol and its rate of gold items."""

    stage = serializers.CharField(source="stage.key")
    rate = serializers.FloatField()
    reveal = serializers.BooleanField()
    barred = serializers.CharField(help_text="Why it can have none; blank if it can.")
    items = serializers.IntegerField(help_text="Items in use.")


class GoldRatesSerializer(serializers.Serializer[Any]):
    stages = GoldRateSerializer(many=True)


class GoldItems(APIView):
    """The gold items, oldest first, for administrators and senior reviewers; POST to create one."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = "Gold items: those that were created, retired or reviewed since."

    @extend_schema(
        responses={200: GoldItemSerializer(many=True), 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="gold_items_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        rows = results.list_gold_items(actor=actor(request), project=project)
        return answer_page(self, request, rows, GoldItemSerializer, since=results.gold_changed_since)

    @extend_schema(
        request=NewGoldItemSerializer, responses={201: GoldItemSerializer, **REFUSALS}, operation_id="gold_items_create"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Create a gold item from a verified dialogue, and one from each of its variants in other languages."""
        project = administered_project(request, slug)
        sent = read_fields(NewGoldItemSerializer, request)
        item = creation.make_gold_item(
            actor=actor(request),
            project=project,
            source=results.find_source(actor=actor(request), project=project, name=sent["dialogue"]),
            stage=sent["stage"],
            document=sent.get("document"),
            variants=sent.get("variants"),
        )
        return Response(_shown(request, item), status=status.HTTP_201_CREATED)


class GoldItemDetail(APIView):
    """One gold item."""

    @extend_schema(
        responses={200: GoldItemSerializer, 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="gold_items_read"
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        item = results.load_gold_item(actor=actor(request), project=project, public_id=public_id)
        return Response(GoldItemSerializer(item).data)


class GoldItemRetire(APIView):
    """The end of a gold item."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=RetireSerializer, responses={200: GoldItemSerializer, **REFUSALS}, operation_id="gold_items_retire"
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Retire an item and those of its variants. Reviews in progress can go on but are not scored."""
        project = administered_project(request, slug)
        sent = read_fields(RetireSerializer, request)
        item = settings.retire_gold_item(
            actor=actor(request), project=project, public_id=public_id, reason=sent["reason"]
        )
        return Response(_shown(request, item))


class GoldRates(APIView):
    """How often people get a gold item in each stage of the current protocol."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: GoldRatesSerializer, 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="gold_rates_read"
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        found = results.read_gold(actor=actor(request), project=project)
        return Response(GoldRatesSerializer({"stages": found.stages}).data)

    @extend_schema(
        request=GoldRateInputSerializer,
        responses={200: GoldRatesSerializer, **REFUSALS},
        operation_id="gold_rates_set",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Set the rate of one stage."""
        project = administered_project(request, slug)
        sent = read_fields(GoldRateInputSerializer, request)
        settings.set_gold_rate(
            actor=actor(request),
            project=project,
            stage=sent["stage"],
            rate=sent["rate"],
            reveal=sent.get("reveal", False),
            keep=[] if "reveal" in sent else ["reveal"],
        )
        found = results.read_gold(actor=actor(request), project=project)
        return Response(GoldRatesSerializer({"stages": found.stages}).data)


def _shown(request: Request, item: GoldItem) -> Any:
    found = results.load_gold_item(actor=actor(request), project=item.project, public_id=item.public_id)
    return GoldItemSerializer(found).data
