"""Runs of single tasks, with the same services as the pages."""

from typing import Any

from django.utils.translation import gettext as _
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.serializers import ErrorSerializer, JobStateSerializer
from annotator.api.views import NOT_FOUND, actor, requested_dialogue, requested_revision
from annotator.core.execution.dependencies import explain
from annotator.core.execution.running import Execution
from annotator.core.execution.subjects import Record, subject_of
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.scopes import Scope
from annotator.errors import Hidden
from annotator.models import Job, Revision
from annotator.services.dialogues.executions import read_execution, start_execution

_CONFLICT = OpenApiResponse(ErrorSerializer, "You have too many runs in progress. Wait until one has ended.")
_INVALID = OpenApiResponse(ErrorSerializer, "It cannot be run; the message gives the reason.")
_MALFORMED = OpenApiResponse(ErrorSerializer, "Fields are missing or invalid. See details.")


class RunInputSerializer(Input):
    """What to run."""

    revision = StrictCharField(required=False, max_length=20, help_text="The revision; default: the newest.")


class RunCallSerializer(serializers.Serializer[Any]):
    """What one call came to."""

    name = serializers.CharField()
    arguments = serializers.DictField()
    status = serializers.CharField(help_text="ok, or the kind of failure (docs/stateful-tools.md).")
    result = serializers.JSONField(allow_null=True)
    response = serializers.CharField(help_text="What the model reads.")
    message = serializers.CharField(help_text="What went wrong, for the author of the tool.")
    state_changed = serializers.BooleanField()
    hidden_changed = serializers.BooleanField()
    state_sha256 = serializers.CharField(allow_null=True)
    needs = serializers.ListField(child=serializers.IntegerField(), help_text="Indexes of calls that it needs.")
    value_from = serializers.ListField(child=serializers.IntegerField(), help_text="Calls whose values it uses.")


class RunSerializer(serializers.Serializer[Any]):
    """The run of one version of a single task."""

    known = serializers.BooleanField(help_text="Whether this version has been run.")
    why_not = serializers.CharField(help_text="Why it cannot be run; blank if it can.")
    job = JobStateSerializer(allow_null=True, help_text="The job that a POST has started.")
    calls = RunCallSerializer(many=True)
    initial_state_sha256 = serializers.CharField(allow_null=True)
    final_state = serializers.JSONField(allow_null=True)
    final_state_sha256 = serializers.CharField(allow_null=True)
    order_forced = serializers.ListField(
        child=serializers.BooleanField(), help_text="Whether each call and the next one cannot be exchanged."
    )
    differs = serializers.IntegerField(
        allow_null=True, help_text="Index of the first call that differs between two runs; -1: loading; null: none."
    )


class Run(APIView):
    """The run of a single task."""

    scope = Scope.ANNOTATE

    @extend_schema(
        parameters=[OpenApiParameter("revision", description="The revision; default: the newest.")],
        responses={200: RunSerializer, 404: NOT_FOUND},
        operation_id="run_read",
    )
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        """Return what each call came to, if this version has been run. Nothing is run."""
        dialogue = requested_dialogue(request, slug, public_id)
        revision = requested_revision(request, dialogue, request.query_params.get("revision", ""))
        return Response(_run(revision, revision.document(), None))

    @extend_schema(
        request=RunInputSerializer,
        responses={
            200: OpenApiResponse(RunSerializer, "This version has been run already."),
            202: RunSerializer,
            400: _MALFORMED,
            404: NOT_FOUND,
            409: _CONFLICT,
            422: _INVALID,
        },
        operation_id="run_start",
    )
    def post(self, request: Request, slug: str, public_id: str) -> Response:
        """Run the trajectory, unless it is known. It runs in the background: poll with GET until it is known."""
        dialogue = requested_dialogue(request, slug, public_id)
        fields = read_fields(RunInputSerializer, request)
        revision = requested_revision(request, dialogue, fields.get("revision", ""))
        document = revision.document()
        job = start_execution(
            actor=actor(request),
            project=dialogue.project,
            document=document,
            toolset_revision=revision.toolset_revision,
            dialogue=dialogue,
        )
        code = status.HTTP_200_OK if job is None else status.HTTP_202_ACCEPTED
        return Response(_run(revision, document, job), status=code)


def _run(revision: Revision, document: dict[str, Any], job: Job | None) -> Any:
    if document["kind"] != "single_task":
        raise Hidden(_("Only single tasks can be run."))
    subject = subject_of(document, CompiledToolset.of(revision.toolset_revision.content))
    record = None if isinstance(subject, str) else read_execution(subject)
    found: dict[str, Any] = {
        "known": record is not None,
        "why_not": subject if isinstance(subject, str) else "",
        "job": job,
        "calls": [],
        "initial_state_sha256": None,
        "final_state": None,
        "final_state_sha256": None,
        "order_forced": [],
        "differs": None,
    }
    if record is not None and not isinstance(subject, str):
        found |= _described(record.execution(subject), record, document["tasks"][0]["user_message"])
    return RunSerializer(found).data


def _described(execution: Execution, record: Record, question: str) -> dict[str, Any]:
    why = explain(execution, record.reruns, question) if record.reruns else None
    return {
        "calls": [
            {
                "name": one.name,
                "arguments": dict(one.arguments),
                "status": one.status.value,
                "result": one.result,
                "response": one.response,
                "message": one.message,
                "state_changed": one.state_changed,
                "hidden_changed": one.hidden_changed,
                "state_sha256": one.state_sha256,
                "needs": why.needs[index] if why else [],
                "value_from": why.value_from[index] if why else [],
            }
            for index, one in enumerate(execution.outcomes)
        ],
        "initial_state_sha256": execution.initial_sha256,
        "final_state": execution.final_state,
        "final_state_sha256": execution.final_sha256,
        "order_forced": why.order_forced if why else [],
        "differs": execution.differs,
    }
