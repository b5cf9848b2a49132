"""The description of the API is valid, complete and readable."""

from typing import Any

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.validation import validate_schema

from tests.factories import make_user

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
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
