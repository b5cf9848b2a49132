"""Projects, dialogues and revisions."""

from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiResponse, extend_schema
from rest_framework import status
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from annotator.api.inputs import Input, StrictCharField, read_fields
from annotator.api.pagination import KeysetPagination, answer_page
from annotator.api.schema_view import description
from annotator.api.serializers import (
    ChangeSerializer,
    DialogueDetailSerializer,
    ErrorSerializer,
    ProjectSerializer,
    RevisionContentSerializer,
    RevisionSerializer,
)
from annotator.core.comparison import diff
from annotator.core.scopes import Scope
from annotator.models import Dialogue, Project, Revision, User
from annotator.services.access.blindness import blind_to, veil
from annotator.services.access.permissions import load_dialogue, load_project, require_administrator, roles_in
from annotator.services.dialogues.changes_since import parts_changed_since
from annotator.services.dialogues.listing import veil_owners
from annotator.services.dialogues.revisions import load_revision, load_revision_or_head
from annotator.services.dialogues.variant_comparison import variant_findings
from annotator.services.projects import create_project, projects_changed_since, require_project_creator

NOT_FOUND = OpenApiResponse(ErrorSerializer, "It doesn’t exist, or you can’t see it.")
FILE = OpenApiResponse(OpenApiTypes.BINARY, "The file.")
#: The refusals of requests that change something.
REFUSALS = {
    400: OpenApiResponse(ErrorSerializer, "Fields are missing or invalid; see details."),
    403: OpenApiResponse(ErrorSerializer, "Your role does not allow this."),
    404: NOT_FOUND,
    409: OpenApiResponse(ErrorSerializer, "The current state does not allow this; the message gives the reason."),
    422: OpenApiResponse(ErrorSerializer, "The request is invalid; the message gives the reason."),
}


def actor(request: Request) -> User:
    """Return the person who sent the request; the permission class requires one.

    Archived projects refuse their changes, except those of views with ``in_archive``.
    """
    user = request.user
    assert isinstance(user, User)  # noqa: S101
    view = (request.parser_context or {}).get("view")
    user.is_changing = request.method not in SAFE_METHODS and not getattr(view, "in_archive", False)
    return user


def administered_project(request: Request, slug: str) -> Project:
    """Return the project of an address. Raises Hidden, or Denied for everyone but its administrators.

    Called before the body is read, so that others learn nothing about it.
    """
    project = load_project(actor=actor(request), slug=slug)
    require_administrator(actor=actor(request), project=project)
    return project


def requested_dialogue(request: Request, slug: str, public_id: str) -> Dialogue:
    """Return the dialogue of an address. Raises Hidden."""
    project = load_project(actor=actor(request), slug=slug)
    return load_dialogue(actor=actor(request), project=project, public_id=public_id)


def requested_revision(request: Request, dialogue: Dialogue, wanted: str) -> Revision:
    """Return the revision of the dialogue with this public id; default: the newest. Raises Hidden."""
    return load_revision_or_head(actor=actor(request), dialogue=dialogue, public_id=wanted)


class NewProjectSerializer(Input):
    """A new project."""

    name = StrictCharField(max_length=120)
    slug = StrictCharField(
        max_length=60,
        required=False,
        allow_blank=True,
        default="",
        help_text="Its address: letters, digits, hyphens and underscores. If empty, it is made from the name.",
    )
    description = StrictCharField(max_length=2000, required=False, allow_blank=True, default="")


class ProjectList(APIView):
    """Your projects, oldest first."""

    pagination_class = KeysetPagination
    since_meaning = "Projects: those with a change of their settings or members, and those that are new to you."

    scope = Scope.ADMINISTER

    @extend_schema(responses=ProjectSerializer(many=True), operation_id="projects_list")
    def get(self, request: Request) -> Response:
        rows = Project.objects.visible_to(actor(request))
        return answer_page(self, request, rows, ProjectSerializer, since=projects_changed_since)

    @extend_schema(
        request=NewProjectSerializer, responses={201: ProjectSerializer, **REFUSALS}, operation_id="projects_create"
    )
    def post(self, request: Request) -> Response:
        """Create a project. You become its administrator; it has no protocol yet."""
        require_project_creator(actor=actor(request))
        project = create_project(actor=actor(request), **read_fields(NewProjectSerializer, request))
        return Response(ProjectSerializer(project).data, status=status.HTTP_201_CREATED)


class ProjectDetail(APIView):
    """One project."""

    @extend_schema(responses={200: ProjectSerializer, 404: NOT_FOUND}, operation_id="projects_read")
    def get(self, request: Request, slug: str) -> Response:
        return Response(ProjectSerializer(load_project(actor=actor(request), slug=slug)).data)


def _veil(revisions: list[Revision], request: Request, dialogue: Dialogue) -> list[Revision]:
    blind = blind_to(actor=actor(request), dialogues=[dialogue.pk])
    return veil(revisions, actor=actor(request), blind=blind, words=["message"])


class DialogueDetail(APIView):
    """One dialogue: its row, its head revision with content, and its findings.

    Notes of checks for administrators are left out for everybody else.
    """

    @extend_schema(responses={200: DialogueDetailSerializer, 404: NOT_FOUND}, operation_id="dialogues_read")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        dialogue = requested_dialogue(request, slug, public_id)
        _veil([dialogue.head] if dialogue.head else [], request, dialogue)
        beside = variant_findings(actor=actor(request), dialogue=dialogue)
        veil_owners([dialogue], actor=actor(request))
        context = {"beside": beside, "roles": roles_in(dialogue.project, actor(request))}
        return Response(DialogueDetailSerializer(dialogue, context=context).data)


class RevisionList(APIView):
    """A dialogue's revisions without their content."""

    pagination_class = KeysetPagination
    since_meaning = "Revisions: all of them if the dialogue has changed, because they may have become visible by that."

    @extend_schema(responses={200: RevisionSerializer(many=True), 404: NOT_FOUND}, operation_id="revisions_list")
    def get(self, request: Request, slug: str, public_id: str) -> Response:
        dialogue = requested_dialogue(request, slug, public_id)
        rows = Revision.objects.visible_to(actor(request)).filter(dialogue=dialogue)
        rows = rows.select_related("author", "parent").defer("content", "parent__content")
        paginator = self.pagination_class()
        page = paginator.paginate_queryset(rows, request, self, since=parts_changed_since(dialogue))
        page = _veil(page, request, dialogue)
        context = {"head_id": dialogue.head_id}
        return paginator.get_paginated_response(RevisionSerializer(page, many=True, context=context).data)


class RevisionDetail(APIView):
    """One revision with its document and tools."""

    @extend_schema(responses={200: RevisionContentSerializer, 404: NOT_FOUND}, operation_id="revisions_read")
    def get(self, request: Request, slug: str, public_id: str, revision_id: str) -> Response:
        dialogue = requested_dialogue(request, slug, public_id)
        revision = load_revision(actor=actor(request), dialogue=dialogue, public_id=revision_id)
        _veil([revision], request, dialogue)
        return Response(RevisionContentSerializer(revision, context={"head_id": dialogue.head_id}).data)


class RevisionDiff(APIView):
    """The differences between two revisions of a dialogue."""

    @extend_schema(responses={200: ChangeSerializer(many=True), 404: NOT_FOUND}, operation_id="revisions_diff")
    def get(self, request: Request, slug: str, public_id: str, revision_id: str, other_id: str) -> Response:
        dialogue = requested_dialogue(request, slug, public_id)
        before = load_revision(actor=actor(request), dialogue=dialogue, public_id=revision_id)
        after = load_revision(actor=actor(request), dialogue=dialogue, public_id=other_id)
        changes = diff(before.document(), after.document())
        return Response(
            [{"anchor": c.anchor, "kind": str(c.kind), "before": c.before, "after": c.after} for c in changes]
        )


@require_safe
def api_docs(request: HttpRequest) -> HttpResponse:
    """Show the OpenAPI document as a page."""
    context = {"groups": _groups(), "schema_url": reverse("api-schema"), "info": description()["info"]}
    return render(request, "annotator/api_docs.html", context)


@cache
def _groups() -> dict[str, list[dict[str, Any]]]:
    """Return the operations of the page in groups. Cached, since anybody may open the page."""
    schema = description()
    groups: dict[str, list[dict[str, Any]]] = {}
    for path, methods in sorted(schema["paths"].items()):
        for method, operation in methods.items():
            if method not in ("get", "post", "put", "patch", "delete"):
                continue
            groups.setdefault(_group(path), []).append(
                {
                    "method": method.upper(),
                    "path": path,
                    "summary": _first_sentence(operation.get("description", "")),
                    "description": operation.get("description", ""),
                    "parameters": [
                        {"description": "", "required": False, **one} for one in operation.get("parameters", [])
                    ],
                    "body": _body(operation, schema),
                    "responses": [
                        {"status": status, "description": answer.get("description", "")}
                        for status, answer in operation.get("responses", {}).items()
                    ],
                }
            )
    return groups


def _group(path: str) -> str:
    """Return the group of a path: “work”, or a part of a project."""
    parts = [part for part in path.removeprefix("/api/").split("/") if part and not part.startswith("{")]
    return (parts[0] if len(parts) < 2 or parts[0] == "work" else parts[1]).replace("_", " ")


def _first_sentence(text: str) -> str:
    return " ".join(text.split()).partition(". ")[0].rstrip(".")


def _body(operation: dict[str, Any], schema: dict[str, Any]) -> list[dict[str, Any]]:
    content = operation.get("requestBody", {}).get("content", {})
    if not content:
        return []
    body = next(iter(content.values())).get("schema", {})
    if "$ref" in body:
        body = schema["components"]["schemas"][body["$ref"].rsplit("/", 1)[-1]]
    required = body.get("required", [])
    return [
        {
            "name": name,
            "type": field.get("type", "object"),
            "required": name in required,
            "description": field.get("description", ""),
        }
        for name, field in body.get("properties", {}).items()
        if not field.get("readOnly")
    ]
