"""Constrained cases made from others."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, StrictBooleanField, StrictCharField, read_fields
from annotator.api.serializers import JobStateSerializer
from annotator.api.views import NOT_FOUND, actor, administered_project
from annotator.core.case_construction import DRAWN, CannotConstruct
from annotator.core.scopes import Scope
from annotator.errors import Invalid
from benchmark.api.views import CONFLICT, DENIED, INVALID, MALFORMED
from benchmark.core.constructing import MAX_SEED, Options
from benchmark.core.formats.interface import MAX_ID
from benchmark.services.constructing import requests as constructing
from benchmark.services.constructing.sources import MAX_SOURCES
from benchmark.services.constructing.sources import Request as Asked


class ConstructInputSerializer(Input):
    """From what to make cases, and how."""

    seed = serializers.IntegerField(
        min_value=0, max_value=MAX_SEED, help_text="The same seed gives the same cases from the same sources."
    )
    probability = serializers.FloatField(
        required=False, default=0.5, min_value=0.01, max_value=1, help_text="Of each category."
    )
    without = BoundedListField(
        child=serializers.ChoiceField(choices=list(DRAWN)), required=False, default=list, max_length=len(DRAWN),
        help_text="Categories to leave out.",
    )  # fmt: skip
    sources = BoundedListField(
        child=StrictCharField(max_length=MAX_ID), required=False, default=list, max_length=MAX_SOURCES,
        help_text="Ids of the source cases; default: all.",
    )  # fmt: skip
    only_verified = StrictBooleanField(default=True, help_text="Use verified cases only.")
    dry_run = StrictBooleanField(default=False, help_text="Return one case, but save nothing.")


class RefusedSourceSerializer(serializers.Serializer[Any]):
    """A source from which no case can be made."""

    id = serializers.CharField()
    reason = serializers.CharField()


class ConstructedCaseSerializer(serializers.Serializer[Any]):
    """A case that would be made: its id, its record in the neutral format, and how it was made."""

    id = serializers.CharField(source="name")
    record = serializers.DictField(child=serializers.JSONField(), help_text="“constructed” says how it was made.")


class ConstructSerializer(serializers.Serializer[Any]):
    """The job that makes the cases; of a dry run the sources, the cases that exist already, and one example."""

    job = JobStateSerializer(allow_null=True)
    sources = serializers.IntegerField(allow_null=True)
    there = serializers.IntegerField(allow_null=True, help_text="Cases that exist already.")
    example = ConstructedCaseSerializer(allow_null=True)
    refused = RefusedSourceSerializer(many=True)


class Construct(APIView):
    """Making constrained cases from those of the project. For administrators."""

    scope = Scope.IMPORT

    @extend_schema(
        request=ConstructInputSerializer,
        responses={
            200: ConstructSerializer, 202: ConstructSerializer, 400: MALFORMED, 403: DENIED, 404: NOT_FOUND,
            409: CONFLICT, 422: INVALID,
        },
        operation_id="cases_construct",
    )  # fmt: skip
    def post(self, request: Request, slug: str) -> Response:
        """Make cases and import them in the background; a dry run shows one."""
        project = administered_project(request, slug)
        sent = read_fields(ConstructInputSerializer, request)
        try:
            options = Options(sent["seed"], sent["probability"], tuple(sent["without"]))
        except CannotConstruct as problem:
            raise Invalid(str(problem)) from None
        asked = Asked(options, tuple(dict.fromkeys(sent["sources"])), sent["only_verified"])
        if not sent["dry_run"]:
            job = constructing.start_constructing(actor=actor(request), project=project, request=asked)
            found: dict[str, Any] = {"job": job, "sources": None, "there": None, "example": None, "refused": []}
            return Response(ConstructSerializer(found).data, status=status.HTTP_202_ACCEPTED)
        shown = constructing.preview(actor=actor(request), project=project, request=asked)
        refused = [{"id": source, "reason": reason} for source, reason in shown.refused]
        found = {
            "job": None, "sources": shown.sources, "there": shown.there, "example": shown.example, "refused": refused,
        }  # fmt: skip
        return Response(ConstructSerializer(found).data)
