"""Trials of validators, with the same services as the pages."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import BoundedListField, Input, StrictCharField, read_fields
from annotator.api.serializers import ErrorSerializer, JobStateSerializer
from annotator.api.views import NOT_FOUND, actor, requested_dialogue, requested_revision
from annotator.core.scopes import Scope
from annotator.core.validators import Subject, subject_of, subjects_of
from annotator.errors import Hidden
from annotator.models import Job
from annotator.services.dialogues.trials import (
    MAX_TEXTS,
    known_outcomes,
    load_trial,
    read_trial,
    start_trials_of,
    subjects_of_trial,
)

_CONFLICT = OpenApiResponse(ErrorSerializer, "You have too many trials in progress. Wait until one has ended.")
_INVALID = OpenApiResponse(ErrorSerializer, "Nothing can be tried; the message gives the reason.")
_MALFORMED = OpenApiResponse(ErrorSerializer, "Fields are missing or invalid. See details.")


class TrialInputSerializer(Input):
    """The validators to try."""

    revision = StrictCharField(required=False, max_length=20, help_text="The revision; default: the newest.")
    constraint = StrictCharField(
        required=False,
        default="",
        allow_blank=True,
        max_length=100,
        help_text="Id of a constraint, to try only its validator; default: all validators of the case.",
    )
    responses = BoundedListField(
        child=serializers.CharField(allow_blank=True, trim_whitespace=False),
        max_length=MAX_TEXTS,
        required=False,
        default=list,
        help_text="More responses for the constraint’s validator to judge; only you see them.",
    )


class VerdictSerializer(serializers.Serializer[Any]):
    """The verdict of a validator on one response."""

    text = serializers.CharField(help_text="The response; a long one is shortened.")
    length = serializers.IntegerField(help_text="Characters of the whole response.")
    status = serializers.CharField(help_text="ok, or the kind of failure (docs/sandbox.md).")
    accepted = serializers.BooleanField(allow_null=True, help_text="Null without a verdict.")
    message = serializers.CharField()


class RowSerializer(VerdictSerializer):
    """One row of the matrix."""

    key = serializers.CharField()
    title = serializers.CharField(help_text="How the reference was changed.")
    kind = serializers.CharField(help_text="The reference, a stored example, or the kind of mutation.")
    expected = serializers.BooleanField(allow_null=True, help_text="The expected verdict; null if both are right.")


class OutcomeSerializer(serializers.Serializer[Any]):
    """A validator and its known outcome."""

    constraint = serializers.CharField()
    validator = serializers.CharField(help_text="code, or the name of a built-in validator.")
    trial_sha256 = serializers.CharField(help_text="Hash of everything that determines the outcome.")
    tried = serializers.BooleanField()
    errors = serializers.ListField(  # type: ignore[assignment]  # errors of the validator, not of a request
        child=serializers.CharField(), help_text="Sentences; empty if it passes."
    )
    warnings = serializers.ListField(child=serializers.CharField())


class TrialSerializer(serializers.Serializer[Any]):
    """A trial with its progress and the known outcomes of its validators."""

    public_id = serializers.CharField(allow_null=True, help_text="Null if there was nothing to try.")
    job = JobStateSerializer(allow_null=True)
    validators = OutcomeSerializer(many=True)  # type: ignore[assignment]  # those of the case, not of this field
    left = serializers.IntegerField(help_text="Validators not tried within the time limit; start another trial.")
    responses = VerdictSerializer(many=True, help_text="Verdicts on the responses you sent.")


class ValidatorSerializer(serializers.Serializer[Any]):
    """The validator of one constraint."""

    why_not = serializers.CharField(help_text="Why it cannot be tried; blank if it can.")
    outcome = OutcomeSerializer(allow_null=True)
    rows = RowSerializer(many=True, help_text="The matrix; empty until it is tried.")


class TrialStart(APIView):
    """Trials of a constrained case."""

    scope = Scope.ANNOTATE

    @extend_schema(
        request=TrialInputSerializer,
        responses={
            200: OpenApiResponse(TrialSerializer, "All outcomes are already known."),
            202: TrialSerializer,
            400: _MALFORMED,
            404: NOT_FOUND,
            409: _CONFLICT,
            422: _INVALID,
        },
        operation_id="trials_start",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Try the validators that have no known outcome. It runs in the background: poll until its job has ended."""
        dialogue = requested_dialogue(request, slug, public_id)
        fields = read_fields(TrialInputSerializer, request)
        revision = requested_revision(request, dialogue, fields.get("revision", ""))
        job = start_trials_of(
            actor=actor(request), revision=revision, constraint=fields["constraint"], texts=fields["responses"]
        )
        if job is not None:
            return Response(_trial(job), status=status.HTTP_202_ACCEPTED)
        subjects = [one for one in subjects_of(revision.document()) if fields["constraint"] in ("", one.constraint)]
        return Response(TrialSerializer(_state(None, subjects)).data)


class TrialDetail(APIView):
    """One trial."""

    @extend_schema(responses={200: TrialSerializer, 404: NOT_FOUND}, operation_id="trials_read")
    def get(self, request: Request, slug: str, public_id: str, trial: str) -> Response:
        """Return one of your trials, with the known outcomes of its validators."""
        dialogue = requested_dialogue(request, slug, public_id)
        return Response(_trial(load_trial(actor=actor(request), dialogue=dialogue, public_id=trial)))


class ValidatorDetail(APIView):
    """The matrix of one validator."""

    @extend_schema(
        parameters=[OpenApiParameter("revision", description="The revision; default: the newest.")],
        responses={200: ValidatorSerializer, 404: NOT_FOUND},
        operation_id="validators_read",
    )
    def get(self, request: Request, slug: str, public_id: str, constraint: str) -> Response:
        """Return the expected and actual verdicts of a constraint's validator on each response. Nothing is run."""
        dialogue = requested_dialogue(request, slug, public_id)
        document = requested_revision(request, dialogue, request.query_params.get("revision", "")).document()
        found = next((one for one in document.get("constraints", ()) if one["id"] == constraint), None)
        if found is None:
            raise Hidden(_("This revision has no such constraint."))
        subject = subject_of(document, found)
        if isinstance(subject, str):
            return Response(ValidatorSerializer({"why_not": subject, "outcome": None, "rows": []}).data)
        trial = read_trial(subject)
        (outcome,) = _outcomes([subject])
        rows = trial.matrix.rows if trial else []
        return Response(ValidatorSerializer({"why_not": "", "outcome": outcome, "rows": rows}).data)


def _trial(job: Job) -> Any:
    return TrialSerializer(_state(job, subjects_of_trial(job))).data


def _state(job: Job | None, subjects: list[Subject]) -> dict[str, Any]:
    return {
        "public_id": job.public_id if job else None,
        "job": job,
        "validators": _outcomes(subjects),
        "left": job.result.get("left", 0) if job else 0,
        "responses": job.result.get("texts", []) if job else [],
    }


def _outcomes(subjects: list[Subject]) -> list[dict[str, Any]]:
    known = known_outcomes(subjects)
    return [
        {
            "constraint": one.constraint,
            "validator": one.form or "code",
            "trial_sha256": one.key,
            "tried": one.key in known,
            "errors": known[one.key].errors if one.key in known else [],
            "warnings": known[one.key].warnings if one.key in known else [],
        }
        for one in subjects
    ]
