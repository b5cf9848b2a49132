"""Daily goals for programs: one's own, and those of a team."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.models import Membership, Project, User
from annotator.services.access.permissions import OVERSEERS, load_project, require_role
from annotator.services.members import load_person
from reviews.models.goals import MAX_GOAL
from reviews.services.queue.goals import read_goals, set_goal


class GoalInputSerializer(Input):
    goal = serializers.IntegerField(
        min_value=1, max_value=MAX_GOAL, allow_null=True, help_text="Reviews a day; null: no goal."
    )


class PersonGoalInputSerializer(GoalInputSerializer):
    person = StrictCharField(max_length=12, help_text="Id of a member.")


class PersonGoalSerializer(serializers.Serializer[Any]):
    """How many reviews a person wants to submit, or should, in a day."""

    person = serializers.CharField(source="person.public_id")
    goal = serializers.IntegerField(allow_null=True, help_text="Null: no goal.")


class GoalsSerializer(serializers.Serializer[Any]):
    people = PersonGoalSerializer(many=True)


class OwnGoal(APIView):
    """Your daily goal in the project."""

    scope = Scope.ANNOTATE

    @extend_schema(responses={200: PersonGoalSerializer, 404: NOT_FOUND}, operation_id="goal_read")
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        return Response(_rows(project, [actor(request)])[0])

    @extend_schema(
        request=GoalInputSerializer, responses={200: PersonGoalSerializer, **REFUSALS}, operation_id="goal_set"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Set your goal, or remove it. The last change counts, whoever made it."""
        who = actor(request)
        project = load_project(actor=who, slug=slug)
        sent = read_fields(GoalInputSerializer, request)
        set_goal(actor=who, project=project, person=who, reviews=sent["goal"])
        return Response(_rows(project, [who])[0])


class Goals(APIView):
    """The daily goals of all active members, by name, for administrators and senior reviewers."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: GoalsSerializer, 403: REFUSALS[403], 404: NOT_FOUND}, operation_id="goals_read"
    )  # fmt: skip
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        require_role(actor=actor(request), project=project, roles=OVERSEERS)
        people = sorted(
            Membership.objects.active().filter(project=project).people(), key=lambda one: (str(one), one.pk)
        )
        return Response({"people": _rows(project, people)})

    @extend_schema(
        request=PersonGoalInputSerializer, responses={200: PersonGoalSerializer, **REFUSALS}, operation_id="goals_set"
    )
    def post(self, request: Request, slug: str) -> Response:
        """Set the goal of a member, or remove it."""
        project = administered_project(request, slug)
        sent = read_fields(PersonGoalInputSerializer, request)
        person = load_person(project=project, public_id=sent["person"])
        set_goal(actor=actor(request), project=project, person=person, reviews=sent["goal"])
        return Response(_rows(project, [person])[0])


def _rows(project: Project, people: list[User]) -> list[Any]:
    goals = read_goals(project=project, people=[one.pk for one in people])
    rows = [{"person": one, "goal": goals.get(one.pk)} for one in people]
    return list(PersonGoalSerializer(rows, many=True).data)
