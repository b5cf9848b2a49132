"""The description of the API is valid, complete and readable."""

import json
import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver, resolve
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiJsonRenderer
from drf_spectacular.validation import validate_schema
from jsonschema_rs import Draft202012Validator
from rest_framework import serializers

from annotator.api import schema_view
from annotator.api.inputs import Input
from annotator.core.schema import SchemaProblem, read_document
from reviews.api.serializers import ObjectField
from tests.access_table import EXPECTED
from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    GENERATOR_STATS.reset()
    with GENERATOR_STATS.silence():
        found: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    assert not GENERATOR_STATS._warn_cache, list(GENERATOR_STATS._warn_cache)
    assert not GENERATOR_STATS._error_cache, list(GENERATOR_STATS._error_cache)
    return found


def api_views() -> list[Any]:
    """The view classes behind /api/, in the order of their addresses."""
    out: list[Any] = []

    def walk(patterns: list[Any], prefix: str) -> None:
        for pattern in patterns:
            route = prefix + str(pattern.pattern)
            if isinstance(pattern, URLResolver):
                walk(pattern.url_patterns, route)
            elif isinstance(pattern, URLPattern) and route.startswith("api/"):
                out.append((route, getattr(pattern.callback, "cls", None)))

    walk(get_resolver().url_patterns, "")
    return out


def test_the_schema_is_valid_and_nothing_in_it_was_guessed(schema: dict[str, Any]) -> None:
    validate_schema(schema)
    operations = [operation for methods in schema["paths"].values() for operation in methods.values()]
    names = [operation["operationId"] for operation in operations]
    assert len(names) == len(set(names))
    assert all(operation.get("description") for operation in operations)


def test_every_address_is_described(schema: dict[str, Any]) -> None:
    described = {path.count("/") for path in schema["paths"]}
    assert described
    views = [(route, view) for route, view in api_views() if view is not None and not route.startswith("api/schema")]
    assert len(views) == len(schema["paths"])


def test_refusals_are_described_in_their_one_shape(schema: dict[str, Any]) -> None:
    for path, methods in schema["paths"].items():
        for operation in methods.values():
            for status, answer in operation["responses"].items():
                if int(status) >= 400:
                    reference = answer["content"]["application/json"]["schema"]["$ref"]
                    assert reference == "#/components/schemas/Error", (path, status)


@pytest.fixture(scope="module")
def known(schema: dict[str, Any]) -> dict[str, Any]:
    """The components as JSON Schema: what OpenAPI 3.0 calls nullable is a type there."""

    def plain(value: Any) -> Any:
        if isinstance(value, list):
            return [plain(one) for one in value]
        if not isinstance(value, dict):
            return value
        made = {key: plain(one) for key, one in value.items() if key != "nullable"}
        return {"anyOf": [made, {"type": "null"}]} if value.get("nullable") else made

    found: dict[str, Any] = plain(schema["components"])
    return found


#: Values that somebody may put into any field.
ODD = (
    None, "", " ", "x", "x" * 5000, "a\u0000b", 0, -1, 1.5, 10**9, True, [], ["x"], [""], [None], [{}], {}, {"a": 1},
    {"a": {"b": None}}, {"a": {"b": "c"}}, {"a": {"choice": "left", "reason_kind": "k"}}, ["x"] * 6000,
)  # fmt: skip


def body_shapes() -> list[type[Input]]:
    """Return the shapes of the bodies that addresses accept."""
    shapes: set[Any] = set()
    for _, view in api_views():
        if hasattr(view, "post"):
            described = view.post.kwargs["schema"]()
            described.view, described.method = view(), "POST"
            described.view.request, described.view.kwargs = None, {}
            request = described.get_request_serializer()
            shapes |= set(request.values()) if isinstance(request, dict) else {request}
    return sorted(shapes - {None}, key=lambda one: one.__name__)


@pytest.mark.parametrize("shape", body_shapes(), ids=lambda shape: shape.__name__)
def test_a_body_that_the_schema_takes_is_taken(known: dict[str, Any], shape: type[Input]) -> None:
    """Whatever one field holds: what the server refuses in any project, the schema refuses as well."""
    name = f"{shape.__name__.removesuffix('Serializer')}Request"
    validator = Draft202012Validator({"$ref": f"#/components/schemas/{name}", "components": known})
    fields = shape().fields
    file = SimpleUploadedFile("a.jsonl", b"{}")
    whole = {key: choice_of(field) for key, field in fields.items() if field.required}

    def is_taken(body: dict[str, Any]) -> bool:
        return bool(shape(data=body | ({"file": file} if "file" in body else {})).is_valid())

    assert validator.is_valid(whole)
    assert is_taken(whole)
    bodies = [whole | {key: odd} for key in (*fields, "no_such_field") for odd in ODD if key != "file"]
    bodies += [{key: value for key, value in whole.items() if key != left_out} for left_out in whole]
    # A NUL is refused at the door, before any field is looked at.
    for body in (one for one in bodies if "\\u0000" not in json.dumps(one, default=str)):
        if validator.is_valid(body):
            assert is_taken(body), body


def choice_of(field: Any) -> Any:
    """A right value of a required field."""
    if isinstance(field, serializers.ChoiceField):
        return next(iter(field.choices))
    if isinstance(field, serializers.BooleanField):
        return True
    if isinstance(field, serializers.IntegerField | serializers.FloatField):
        return field.min_value
    if isinstance(field, serializers.DictField | ObjectField):
        return {}
    if isinstance(field, serializers.ListField):
        simple = isinstance(field.child, serializers.CharField | serializers.ChoiceField)
        return [choice_of(field.child)] if simple else []
    return "x"


def test_every_operation_names_its_scope_and_what_a_body_may_be_refused_for(schema: dict[str, Any]) -> None:
    for path, methods in schema["paths"].items():
        for method, operation in methods.items():
            assert f"the scope “{operation['x-scope']}”" in operation["description"]
            # An export has what its administrator reads nowhere else.
            only_reads = method == "get" and path != "/api/projects/{slug}/export/archive/"
            assert (operation["x-scope"] == "read") == only_reads, path
            # Also where there is no body: one that is sent is read, to refuse it.
            assert ({"413", "415"} <= set(operation["responses"])) == (method != "get"), path


def test_files_are_sent_and_got_as_bytes(schema: dict[str, Any]) -> None:
    binary = {"type": "string", "format": "binary"}
    sent = schema["components"]["schemas"]["ImportInputRequest"]["properties"]["file"]
    assert {key: sent[key] for key in binary} == binary
    base = "/api/projects/{slug}/"
    for path, kind in (
        ("releases/{public_id}/archive/", "application/zip"),
        ("imports/{public_id}/report/", "application/jsonl"),
    ):
        assert schema["paths"][base + path]["get"]["responses"]["200"]["content"] == {kind: {"schema": binary}}


def test_every_answer_that_anybody_gets_is_described(schema: dict[str, Any]) -> None:
    """The table of who gets what where is held to the views by tests/test_access_matrix.py."""
    described = {
        (resolve(re.sub(r"\{\w+\}", "x", path)).url_name, method.upper()): set(operation["responses"])
        for path, methods in schema["paths"].items()
        for method, operation in methods.items()
    }
    missing = {
        (*key, status)
        for key, row in EXPECTED.items()
        for status in row.values()
        if key in described and status not in described[key]
    }
    assert not missing
    for key, answers in described.items():
        assert {"400", "401", "403", "406", "503"} <= answers, key
    for methods in schema["paths"].values():
        for operation in methods.values():
            assert "Retry-After" in operation["responses"]["503"]["headers"]


@pytest.mark.parametrize(
    ("query", "status", "begins"),
    [("?format=json", 200, b"{\n"), ("?format=yaml", 200, b"openapi: "), ("?format=xml", 404, b"")],
)
def test_the_description_comes_in_the_format_that_the_address_names(query: str, status: int, begins: bytes) -> None:
    response = Client().get(f"/api/schema/{query}")
    assert response.status_code == status
    assert response.content.startswith(begins)


@pytest.mark.parametrize(
    ("method", "query", "accept", "status"),
    [("GET", "?format=xml", "*/*", 404), ("POST", "", "application/yaml", 405), ("GET", "", "text/html", 406)],
)
def test_a_refusal_of_the_description_comes_as_json_like_all_others(
    method: str, query: str, accept: str, status: int
) -> None:
    response = Client().generic(method, f"/api/schema/{query}", headers={"Accept": accept})
    assert (response.status_code, response["Content-Type"]) == (status, "application/json")
    assert set(response.json()) == {"error", "sentence", "details"}


def test_the_description_is_built_once_whatever_strangers_ask_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """A stranger who asked for forty at once, with a version or without, kept everybody waiting for eight seconds."""

    def read(address: str) -> bytes:
        return bytes(Client().get(address, headers={"If-None-Match": "*"}).content)

    texts = {query: read(f"/api/schema/{query}") for query in ("", "?format=json")}
    read("/api/docs/")
    monkeypatch.setattr(SchemaGenerator, "get_schema", None)
    monkeypatch.setattr(OpenApiJsonRenderer, "render", None)
    # A line break in the version, which went into a header, was answered 500.
    for query, text in texts.items():
        for more in ("version=9", "version=%0A", "lang=de"):
            assert read(f"/api/schema/{query}{'&' if query else '?'}{more}") == text
    assert b"/api/projects/" in read("/api/docs/")


def test_one_thread_builds_the_description(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first two who asked a process at once were answered 500."""
    built = []
    monkeypatch.setattr(SchemaGenerator, "get_schema", lambda *_, **__: built.append(schema_view._building.locked()))
    schema_view._built.cache_clear()
    assert [schema_view.description(), schema_view.description(), built] == [None, None, [True]]
    schema_view._built.cache_clear()


def test_the_schema_is_served_to_everybody_because_it_tells_of_no_project() -> None:
    response = Client().get("/api/schema/", headers={"Accept": "application/json"})
    assert response.status_code == 200
    assert response.json()["info"]["title"] == "Assay"
    assert response.json()["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_the_page_shows_every_address(schema: dict[str, Any]) -> None:
    client = Client()
    client.force_login(make_user())
    page = client.get("/api/docs/")
    assert page.status_code == 200
    text = page.content.decode()
    for path in schema["paths"]:
        assert path in text
    assert "<script" not in text.split("<main", 1)[1].split("</main", 1)[0]


@pytest.mark.parametrize("name", ["SubmissionRequest", "WaiverInputRequest", "Claim", "RevisionContent"])
def test_a_document_has_a_type_wherever_it_is_sent_or_returned(schema: dict[str, Any], name: str) -> None:
    field = schema["components"]["schemas"][name]["properties"]["document"]
    assert "#/components/schemas/Document" in json.dumps(field)


def test_the_schema_of_documents_accepts_what_the_server_accepts(known: dict[str, Any]) -> None:
    """Sent documents may leave out defaults; stored ones are complete. The models are the only source."""
    validator = Draft202012Validator({"$ref": "#/components/schemas/Document", "components": known})
    steps = [
        {"type": "call", "id": "s1", "name": "get_weather", "arguments": {"city": "Bonn"}},
        {"type": "clarification", "id": "s2", "question": "When?", "depends_on": [{"id": "s1"}]},
        {"type": "answer", "id": "s3", "text": None, "answer_type": "chat", "depends_on": None},
    ]
    task = {"id": "t1", "user_message": "Is it cold?", "policy": None, "steps": steps}
    sent = [
        {"kind": "multi_turn", "language": "en", "tasks": [task]},
        {"kind": "single_task", "tasks": [task | {"steps": steps[:1]}], "seed": None},
        {
            "kind": "composite", "composition": "similar", "max_rounds": 5,
            "tasks": [{"id": f"t{n}", "user_message": "x", "single": f"a{n}"} for n in (1, 2)],
        },
        {"kind": "constrained", "user_query": "x", "constraints": [{"id": "c1", "validator": {"code": "pass"}}]},
    ]  # fmt: skip
    for document in sent:
        assert validator.is_valid(document), [str(one) for one in validator.iter_errors(document)]
        assert validator.is_valid(read_document(document))
        for wrong in (
            {key: value for key, value in document.items() if key != "kind"},
            document | {"colour": "red"},
            document | {"kind": "other"},
            document | {"extra": []},
        ):
            assert not validator.is_valid(wrong), wrong
            with pytest.raises(SchemaProblem):
                read_document(wrong)
    assert not validator.is_valid({"kind": "multi_turn", "tasks": [task | {"steps": [{"id": "s1", "text": "Yes"}]}]})
