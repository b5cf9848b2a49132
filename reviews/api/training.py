"""The training for programs: its settings and one's own progress, everybody's progress, and decisions about people."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictBooleanField, StrictCharField, read_fields
from annotator.api.views import NOT_FOUND, REFUSALS, actor, administered_project
from annotator.core.scopes import Scope
from annotator.models import Project
from annotator.services.access.permissions import OVERSEERS, load_project, require_role
from annotator.services.members import load_person
from reviews.models import TraineeState, TrainingResult
from reviews.services.queue import trainees
from reviews.services.training import comparison, decisions

_DECISIONS = [TraineeState.TRAINING.value, TraineeState.PASSED.value, TraineeState.EXEMPT.value]


class TrainingStandingSerializer(serializers.Serializer[Any]):
    """How far a person is in their current attempt."""

    person = serializers.CharField(source="person.public_id")
    state = serializers.ChoiceField(choices=TraineeState.choices)
    attempt = serializers.IntegerField(help_text="Counts from 1 since an administrator last started it again.")
    left = serializers.IntegerField(help_text="Attempts that the person can still begin alone.")
    done = serializers.IntegerField(help_text="Items submitted in this attempt.")
    right = serializers.IntegerField(help_text="Items of them that were right.")
    total = serializers.IntegerField(help_text="Items of an attempt.")
    mark = serializers.IntegerField(help_text="Items that must be right.")


class TrainingSerializer(serializers.Serializer[Any]):
    """The training of a project, and where the reader is in it."""

    enabled = serializers.BooleanField(help_text="Whether people get only training items until they have passed.")
    stage = serializers.CharField(help_text="Key of the stage that people practise; blank: none yet.")
    length = serializers.IntegerField(help_text="Items in one attempt.")
    pass_mark = serializers.IntegerField(help_text="Items that must be right.")
    attempts = serializers.IntegerField(help_text="Attempts before an administrator decides.")
    mine = TrainingStandingSerializer(allow_null=True, help_text="Null: you need no training.")


class TrainingPeopleSerializer(serializers.Serializer[Any]):
    people = TrainingStandingSerializer(many=True)


class TrainingDecisionSerializer(Input):
    state = serializers.ChoiceField(choices=_DECISIONS, help_text="training: the person starts from the beginning.")


class TrainingSettingsSerializer(Input):
    """All settings of a training."""

    enabled = StrictBooleanField(help_text="Whether people get only training items until they have passed.")
    stage = StrictCharField(max_length=40, help_text="Key of the stage that people practise.")
    length = serializers.IntegerField(min_value=1, max_value=decisions.MAX_LENGTH, help_text="Items in one attempt.")
    pass_mark = serializers.IntegerField(min_value=1, max_value=decisions.MAX_LENGTH)
    attempts = serializers.IntegerField(min_value=1, max_value=decisions.MAX_ATTEMPTS)
    exempt_experienced = StrictBooleanField(
        default=True, help_text="When it is switched on: members who have submitted reviews are exempt."
    )


class TrainingResultSerializer(serializers.ModelSerializer[TrainingResult]):
    """How a submitted training item compares with its known answer."""

    dialogue = serializers.CharField(source="item.dialogue.external_id")

    class Meta:
        model = TrainingResult
        fields = [
            "dialogue", "attempt", "right", "verdict_right", "errors", "found", "false_changes", "places", "created_at",
        ]  # fmt: skip


class TrainingResultsSerializer(serializers.Serializer[Any]):
    results = TrainingResultSerializer(many=True)


class TrainingDetail(APIView):
    """The training of the project, and where you are in it; POST to set it up."""

    scope = Scope.ADMINISTER

    @extend_schema(responses={200: TrainingSerializer, 404: NOT_FOUND}, operation_id="training_read")
    def get(self, request: Request, slug: str) -> Response:
        return _answer(request, load_project(actor=actor(request), slug=slug))

    @extend_schema(
        request=TrainingSettingsSerializer,
        responses={200: TrainingSerializer, **REFUSALS},
        operation_id="training_change",
    )
    def post(self, request: Request, slug: str) -> Response:
        """Change all settings, and switch the training on or off. Items are added on its page."""
        project = administered_project(request, slug)
        sent = read_fields(TrainingSettingsSerializer, request)
        decisions.change_training(actor=actor(request), project=project, **sent)
        return _answer(request, project)


class TrainingAgain(APIView):
    """Your next attempt in the training."""

    scope = Scope.ANNOTATE

    @extend_schema(request=None, responses={200: TrainingSerializer, **REFUSALS}, operation_id="training_again")
    def post(self, request: Request, slug: str) -> Response:
        """Begin the next attempt after you have failed. A repeated request changes nothing."""
        project = load_project(actor=actor(request), slug=slug)
        decisions.try_again(actor=actor(request), project=project)
        return _answer(request, project)


def _answer(request: Request, project: Project) -> Response:
    found = trainees.read_training(project)
    names = ("length", "pass_mark", "attempts")
    shown = {
        "enabled": bool(found and found.enabled),
        "stage": found.stage if found else "",
        **{name: getattr(found, name, 0) for name in names},
        "mine": trainees.standing_of(project=project, person=actor(request)),
    }
    return Response(TrainingSerializer(shown).data)


class TrainingPeople(APIView):
    """Everybody's progress in the training, by name, for administrators and senior reviewers."""

    @extend_schema(
        responses={200: TrainingPeopleSerializer, 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="training_people_read",
    )
    def get(self, request: Request, slug: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        require_role(actor=actor(request), project=project, roles=OVERSEERS)
        return Response(TrainingPeopleSerializer({"people": trainees.standings(project)}).data)


class TrainingPerson(APIView):
    """One person's submitted training items; POST to decide whether they need training."""

    scope = Scope.ADMINISTER

    @extend_schema(
        responses={200: TrainingResultsSerializer, 403: REFUSALS[403], 404: NOT_FOUND},
        operation_id="training_results_read",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        project = load_project(actor=actor(request), slug=slug)
        person = load_person(project=project, public_id=public_id)
        found = comparison.list_results(actor=actor(request), project=project, person=person)
        return Response(TrainingResultsSerializer({"results": found}).data)

    @extend_schema(
        request=TrainingDecisionSerializer,
        responses={200: TrainingPeopleSerializer, **REFUSALS},
        operation_id="training_people_decide",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Let a person need training from the beginning, or be passed or exempt. Training in progress ends."""
        project = administered_project(request, slug)
        sent = read_fields(TrainingDecisionSerializer, request)
        decisions.decide_trainee(actor=actor(request), project=project, public_id=public_id, state=sent["state"])
        person = load_person(project=project, public_id=public_id)
        return Response(TrainingPeopleSerializer({"people": trainees.standings(project, [person])}).data)
