"""Assignments for programs: who has what, previewed changes, pauses. For administrators only."""

from dataclasses import asdict
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_field
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from annotator.api.inputs import (
    BoundedDictField,
    BoundedListField,
    Input,
    StrictBooleanField,
    StrictCharField,
    read_fields,
)
from annotator.api.pagination import MAX_SIZE, SINCE, SINCE_MEANING, KeysetPagination, answer_page, size_of
from annotator.api.views import NOT_FOUND, actor, administered_project
from annotator.core.scopes import Scope
from annotator.core.tags import MAX_TAGS
from annotator.errors import Invalid
from annotator.models import Dialogue, User
from annotator.services.access.permissions import load_project
from annotator.services.database.filters import moment_of, no_place, refuse_unknown_names
from annotator.services.dialogues import listing
from reviews.api.reviews import REFUSALS
from reviews.api.serializers import LengthField
from reviews.models import AssignmentPlan, Pause, PlanAction, Priority, Slot
from reviews.services.assignments import lists, plans
from reviews.services.assignments.lists import STATES, Filters
from reviews.services.assignments.undo import forecast_undo
from reviews.services.protocols.versions import stage_titles
from reviews.services.queue import pauses


class PlanInputSerializer(Input):
    """Changes ``slots``, ``dialogues``, or the dialogues that match ``filters``."""

    action = serializers.ChoiceField(PlanAction.choices)
    slots = BoundedListField(
        child=StrictCharField(max_length=12),
        required=False,
        default=list,
        max_length=plans.MAX_SLOTS,
        help_text="Ids of slots.",
    )
    dialogues = BoundedListField(
        child=StrictCharField(max_length=12),
        required=False,
        default=list,
        max_length=plans.MAX_SLOTS,
        help_text="Ids of dialogues.",
    )
    filters = BoundedDictField(
        child=StrictCharField(max_length=200),
        required=False,
        default=None,
        allow_null=True,
        help_text="Filters of the list of dialogues. {} means all of them.",
    )
    to = BoundedListField(
        child=StrictCharField(max_length=12),
        required=False,
        default=list,
        max_length=100,
        help_text="Ids of people. With several, each slot goes to the one with the fewest items.",
    )
    priority = serializers.ChoiceField(Priority.choices, required=False, default=None, allow_null=True)
    stage = StrictCharField(
        required=False, default="", allow_blank=True, max_length=40, help_text="Key of the stage to send back to."
    )
    tags = BoundedListField(child=StrictCharField(max_length=160), required=False, default=list, max_length=MAX_TAGS)
    reason = StrictCharField(required=False, default="", allow_blank=True, max_length=500)
    all_the_same = StrictBooleanField(
        default=False, help_text="Reassign also what does not fit people’s languages and skills. The history shows it."
    )


class PauseInputSerializer(Input):
    """Pauses a person or a stage; with neither, the whole project."""

    person = StrictCharField(required=False, default="", allow_blank=True, max_length=12, help_text="Id of a person.")
    stage = StrictCharField(required=False, default="", allow_blank=True, max_length=40, help_text="Key of a stage.")
    reason = StrictCharField(required=False, default="", allow_blank=True, max_length=pauses.MAX_REASON)


class AssignedSlotSerializer(serializers.Serializer[Any]):
    slot = serializers.CharField(source="slot.public_id")
    dialogue = serializers.CharField(source="slot.dialogue.public_id")
    external_id = serializers.CharField(source="slot.dialogue.external_id")
    stage = serializers.CharField(source="slot.stage")
    priority = serializers.IntegerField(source="slot.priority")
    holder = serializers.CharField(source="slot.holder.public_id", allow_null=True)
    reserved_for = serializers.CharField(source="slot.reserved_for.public_id", allow_null=True)
    since = serializers.DateTimeField(source="claim.created_at", allow_null=True)
    expires_at = serializers.DateTimeField(source="claim.expires_at", allow_null=True)


class PersonLoadSerializer(serializers.Serializer[Any]):
    person = serializers.CharField(source="person.public_id")
    name = serializers.CharField(source="person.__str__")
    held = serializers.IntegerField()
    waiting = serializers.IntegerField(help_text=f"Items assigned to them, counted up to {lists.MANY}.")
    done = serializers.IntegerField(
        help_text="Reviews in the last seven days (those of a blind stage after it has ended), counted up to "
        f"{lists.MANY}."
    )
    last_heard_of = serializers.DateTimeField(source="seen_at")
    paused = serializers.SerializerMethodField()

    def get_paused(self, load: lists.PersonLoad) -> bool:
        return load.pause is not None


class AssignmentsSerializer(serializers.Serializer[Any]):
    slots = AssignedSlotSerializer(source="rows", many=True)
    next = serializers.URLField(allow_null=True, help_text="The next page; null on the last one.")
    people = PersonLoadSerializer(many=True)


class UndoForecastSerializer(serializers.Serializer[Any]):
    undoable = serializers.IntegerField()
    revealed = serializers.IntegerField()
    answers = serializers.IntegerField()


class PlanSerializer(serializers.Serializer[Any]):
    """A previewed change and, after it was carried out, its result."""

    public_id = serializers.CharField(help_text="The token that carries it out.")
    action = serializers.CharField()
    items = LengthField()
    refused = serializers.ListField(child=serializers.ListField(child=serializers.CharField()))
    undoes = serializers.CharField(
        source="undoes.public_id", default=None, allow_null=True, help_text="The change that this one undoes."
    )
    confirmed_at = serializers.DateTimeField(allow_null=True)
    confirmed_by = serializers.CharField(
        source="confirmed_by.public_id", default=None, allow_null=True, help_text="Who carried it out."
    )
    undo = serializers.SerializerMethodField(
        help_text="Of a preview of sending back: how many items an undo could restore, how many it could not because "
        "blind reviews become visible, and how many are known answers of gold items, which stay retired. Otherwise "
        "null."
    )
    job = serializers.CharField(source="job.public_id", allow_null=True)
    result = serializers.DictField()

    @extend_schema_field(UndoForecastSerializer(allow_null=True))
    def get_undo(self, plan: AssignmentPlan) -> dict[str, int] | None:
        forecast = forecast_undo(plan)
        return None if forecast is None else asdict(forecast)


class PauseSerializer(serializers.ModelSerializer[Pause]):
    person = serializers.CharField(source="person.public_id", default=None, allow_null=True)

    class Meta:
        model = Pause
        fields = ["public_id", "person", "stage", "reason", "created_at", "ended_at"]


FILTERS = [
    OpenApiParameter(
        "state",
        str,
        enum=list(STATES),
        default=Filters.state,
        description="Only slots in this state: claimed, assigned to somebody, or open to everyone.",
    ),
    OpenApiParameter("stage", str),
    OpenApiParameter("person", str),
    OpenApiParameter("priority", str, enum=[str(one.value) for one in Priority]),
    OpenApiParameter(
        "q",
        str,
        description=f"The id of a dialogue, or words in it. Only the oldest {lists.MANY} matches are listed.",
    ),
    OpenApiParameter("cursor", str, description="From “next” of the previous page."),
    OpenApiParameter("size", {"type": "integer", "minimum": 1, "maximum": MAX_SIZE}),
]
_SLOTS_SINCE = "Slots: those that were opened or claimed since, and those whose dialogue has an event since."


class Assignments(APIView):
    """List the slots in one state, the most urgent first, and each person's load."""

    @extend_schema(
        parameters=[
            *FILTERS,
            OpenApiParameter(SINCE, OpenApiTypes.DATETIME, description=f"{SINCE_MEANING} {_SLOTS_SINCE}"),
        ],
        responses={200: AssignmentsSerializer, **REFUSALS},
        operation_id="assignments_list",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = administered_project(request, slug)
        filters = Filters.of(request.query_params, project=project, stages=stage_titles(project))
        size, since = size_of(request, lists.PAGE_SIZE), moment_of(request.query_params, SINCE)
        cursor = request.query_params.get("cursor", "")
        if cursor and not lists.is_place(cursor):
            raise no_place("cursor")
        page = lists.list_slots(project=project, filters=filters, after=cursor, size=size, since=since)
        following = replace_query_param(request.build_absolute_uri(), "cursor", page.after) if page.after else None
        found = {"rows": page.rows, "next": following, "people": lists.read_people(project)}
        return Response(AssignmentsSerializer(found).data)


class Plans(APIView):
    """Preview a change of many items. Nothing changes yet."""

    scope = Scope.ADMINISTER

    @extend_schema(
        request=PlanInputSerializer, responses={201: PlanSerializer, **REFUSALS}, operation_id="assignments_plan"
    )
    def post(self, request: Request, slug: str) -> Response:
        project = administered_project(request, slug)
        sent = read_fields(PlanInputSerializer, request)
        slots, dialogues, filters = sent["slots"], sent["dialogues"], sent["filters"]
        if sum((bool(slots), bool(dialogues), filters is not None)) > 1:
            raise Invalid(_("Send only one of “slots”, “dialogues” and “filters”."))
        known = _keys(Slot.objects.filter(project=project), slots)
        if filters is None:
            found = _keys(Dialogue.objects.filter(project=project, published=True), dialogues)
        else:
            refuse_unknown_names(filters, listing.NAMES)
            asked = listing.Filters.of(filters, project=project, stages=lambda: stage_titles(project))
            found = listing.matching_dialogues(
                actor=actor(request), project=project, filters=asked, limit=plans.MAX_SLOTS
            )
        plan = plans.make_plan(
            actor=actor(request),
            project=project,
            action=sent["action"],
            slots=known,
            dialogues=found,
            to=sent["to"],
            priority=sent["priority"],
            stage=sent["stage"],
            tags=sent["tags"],
            reason=sent["reason"],
            all_the_same=sent["all_the_same"],
        )
        return Response(PlanSerializer(plan).data, status=status.HTTP_201_CREATED)


def _keys(rows: QuerySet[Any], names: list[str]) -> list[int]:
    """Return the keys of the rows with these public ids. Raises Invalid if there are ids without a row."""
    known = dict(rows.filter(public_id__in=names).values_list("public_id", "pk"))
    unknown = [name for name in dict.fromkeys(names) if name not in known]
    if unknown:
        sentence = _("The project doesn’t have %(names)s. Leave out what doesn’t exist, or correct the ids.")
        raise Invalid(sentence % {"names": ", ".join(f"“{name}”" for name in unknown[:10])}, unknown=unknown)
    return list(known.values())


class PlanDetail(APIView):
    """Read a previewed change, or carry it out exactly as previewed."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: PlanSerializer, 404: NOT_FOUND}, operation_id="assignments_plan_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        plan = plans.load_plan(actor=actor(request), project=project, public_id=public_id)
        return Response(PlanSerializer(plan).data)

    @extend_schema(
        request=None,
        responses={200: PlanSerializer, 202: PlanSerializer, **REFUSALS},
        operation_id="assignments_plan_confirm",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        plan = plans.confirm_plan(actor=actor(request), project=project, public_id=public_id)
        code = status.HTTP_200_OK if plan.job is None else status.HTTP_202_ACCEPTED
        return Response(PlanSerializer(plan).data, status=code)


class PlanUndo(APIView):
    """Preview the undo of a change. Confirm it like any other plan."""

    scope = Scope.ADMINISTER

    @extend_schema(request=None, responses={201: PlanSerializer, **REFUSALS}, operation_id="assignments_plan_undo")
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        project = administered_project(request, slug)
        plan = plans.make_undo(actor=actor(request), project=project, public_id=public_id)
        return Response(PlanSerializer(plan).data, status=status.HTTP_201_CREATED)


class Pauses(APIView):
    """List the pauses in force, oldest first; pause a person, a stage or the project."""

    scope = Scope.ADMINISTER
    pagination_class = KeysetPagination
    since_meaning = "Pauses: with this, those that have ended since are listed as well."

    @extend_schema(responses={200: PauseSerializer(many=True), **REFUSALS}, operation_id="pauses_list")
    def get(self, request: Request, slug: str) -> Response:
        project = administered_project(request, slug)
        rows = Pause.objects.filter(project=project).select_related("person")
        if not request.query_params.get(SINCE):
            rows = rows.filter(ended_at=None)
        return answer_page(self, request, rows, PauseSerializer, since=pauses.changed_since)

    @extend_schema(
        request=PauseInputSerializer, responses={201: PauseSerializer, **REFUSALS}, operation_id="pauses_begin"
    )
    def post(self, request: Request, slug: str) -> Response:
        project = administered_project(request, slug)
        sent = read_fields(PauseInputSerializer, request)
        person = None
        if sent["person"]:
            people = User.objects.filter(public_id=sent["person"], memberships__project=project)
            person = people.distinct().first()
            if person is None:
                raise Invalid(_("This person isn’t a member of this project."))
        made, _created = pauses.pause(
            actor=actor(request), project=project, person=person, stage=sent["stage"], reason=sent["reason"]
        )
        return Response(PauseSerializer(made).data, status=status.HTTP_201_CREATED)


class PauseEnd(APIView):
    """End a pause."""

    scope = Scope.ADMINISTER

    @extend_schema(request=None, responses={200: PauseSerializer, **REFUSALS}, operation_id="pauses_end")
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        return Response(PauseSerializer(pauses.resume(actor=actor(request), project=project, public_id=public_id)).data)
