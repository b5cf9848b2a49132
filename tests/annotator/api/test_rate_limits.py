"""Requests beyond a rate limit: 429 with the time to wait, on pages and in the API; one event in the security log."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.rates import Limited, Rate
from annotator.models import SecurityEvent
from annotator.services.accounts import rate_limits
from annotator.services.accounts.rate_limits import Counts
from tests.api_client import ApiClient, refusal
from tests.factories import make_user


@pytest.fixture(autouse=True)
def limits(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Rate | None]]:
    """Three requests an hour for each token, four for each person, two for each address. The hour does not end."""
    monkeypatch.setattr(rate_limits.time, "time", lambda: 7200.0 + 1800)
    settings.RATE_LIMITS = {"token": Rate(3, 3600), "person": Rate(4, 3600), "address": Rate(2, 3600)}
    settings.REDIS_URL = ""
    rate_limits.counts.cache_clear()
    yield settings.RATE_LIMITS
    rate_limits.counts.cache_clear()


@pytest.mark.django_db
def test_a_token_and_its_person_are_limited_and_responses_say_so() -> None:
    person = make_user()
    program, other = ApiClient(person), ApiClient(person)
    first = program.get("/api/projects/")
    assert first.status_code == 200
    assert first["RateLimit-Policy"] == '"token";q=3;w=3600, "person";q=4;w=3600'
    assert first["RateLimit"] == '"token";r=2;t=1800, "person";r=3;t=1800'
    assert [program.get("/api/projects/").status_code for _ in range(3)] == [200, 200, 429]
    refused = other.get("/api/projects/")
    assert refusal(refused) == (429, "too_many_requests")
    assert refused["Retry-After"] == "1800"
    assert refused["RateLimit"] == '"token";r=2;t=1800, "person";r=0;t=1800'
    assert "You have sent more than 4 requests" in refused.json()["sentence"]
    assert [
        (one.kind, one.person, one.details["limit"])
        for one in SecurityEvent.objects.filter(kind="rate_limited").order_by("pk")
    ] == [
        ("rate_limited", person, "token"),
        ("rate_limited", person, "person"),
    ]


@pytest.mark.django_db
def test_pages_are_limited_too_and_an_htmx_request_gets_a_notice(client: Client) -> None:
    client.force_login(make_user())
    assert [client.get("/notices/").status_code for _ in range(4)] == [200] * 4
    page, part = client.get("/notices/"), client.get("/notices/", headers={"HX-Request": "true"})
    for answer in (page, part):
        assert (answer.status_code, answer["Retry-After"]) == (429, "1800")
        assert "Wait 1,800 seconds" in answer.content.decode()
    assert b"<!doctype html" in page.content
    assert b"<!doctype html" not in part.content
    assert SecurityEvent.objects.filter(kind="rate_limited").count() == 1


@pytest.mark.django_db
def test_addresses_are_limited_while_probes_and_people_are_not(client: Client) -> None:
    stranger = {"REMOTE_ADDR": "192.0.2.7"}
    guess = {**stranger, "HTTP_AUTHORIZATION": "Bearer assay_unknown"}
    assert [client.get("/api/projects/", **guess).status_code for _ in range(3)] == [401, 401, 429]  # type: ignore[arg-type]
    assert client.get("/api/docs/", **guess).status_code == 429  # type: ignore[arg-type]
    assert client.get(reverse("account_login"), **stranger).status_code == 429  # type: ignore[arg-type]
    assert client.get("/healthz", **stranger).status_code == 200  # type: ignore[arg-type]
    assert client.get(reverse("account_login"), REMOTE_ADDR="192.0.2.8").status_code == 200
    assert ApiClient(make_user()).get("/api/projects/", **stranger).status_code == 200  # type: ignore[arg-type]
    event = SecurityEvent.objects.get(kind="rate_limited")
    assert (event.person, event.address) == (None, "192.0.2.7")


@pytest.mark.redis
def test_processes_share_their_counts_in_redis() -> None:
    url, limit = os.environ["TEST_REDIS_URL"], Limited("person", os.urandom(8).hex(), Rate(3, 3600))
    one, other = Counts(url), Counts(url)
    assert [counts.count([limit])[0].used for counts in (one, other, one, other)] == [1, 2, 3, 4]


def test_without_redis_each_process_counts_for_itself(caplog: pytest.LogCaptureFixture) -> None:
    counts, limit = Counts("redis://127.0.0.1:1/0"), Limited("person", "1", Rate(1, 3600))
    assert [counts.count([limit])[0].admitted for _ in range(2)] == [True, False]
    assert caplog.text.count("Redis does not respond") == 1


@pytest.mark.django_db
def test_a_header_that_is_no_token_counts_for_the_address(settings):
    settings.RATE_LIMITS = {"token": None, "person": None, "address": Rate(3, 3600)}
    for authorization in ("Basic x", "", "Bearer x"):
        client = Client(REMOTE_ADDR=f"203.0.113.{len(authorization)}", headers={"Authorization": authorization})
        assert [client.get("/api/projects/").status_code for _ in range(5)][-2:] == [429, 429], authorization
