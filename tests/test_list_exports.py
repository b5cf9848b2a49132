"""Every list of the API can be had as a file, which says what its pages say, to those who may read them."""

import csv
import io
import json
from typing import Any
from urllib.parse import urlencode

import pyarrow.parquet as parquet
import pytest
from django.test import Client, RequestFactory
from django.urls import reverse
from django.utils import timezone

from annotator.models import Role
from annotator.views.request_limits import THREADS
from benchmark.api.list_exports import _WRITERS, _Pages
from tests.access_project import AccessProject, access, module_access
from tests.api_client import ApiClient
from tests.factories import give_role, make_dialogues, make_team
from tests.test_access_matrix import address
from tests.test_updated_since import LISTS, OF_TWO

__all__ = ["access", "module_access"]

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def export(client: Client, listed: str, form: str = "csv") -> Any:
    return client.get(f"{reverse('api-list-export')}?{urlencode({'list': listed, 'format': form})}")


def signed_in(person: Any) -> Client:
    client = Client()
    client.force_login(person)
    return client


@pytest.mark.parametrize("name", [name for name in LISTS if name not in OF_TWO])
def test_a_file_says_what_the_pages_say(access: AccessProject, name: str) -> None:
    client = signed_in(access.team.administrator)
    listed = address(name, access.ids) + ("?state=waiting" if name == "api-assignment-list" else "?size=1")
    first = client.get(listed).json()
    rows = [json.loads(line) for line in export(client, listed, "jsonl").getvalue().splitlines()]
    assert rows[:1] == first.get("results", first.get("slots"))[:1]
    table = list(csv.reader(io.StringIO(export(client, listed).getvalue().decode())))
    assert len(table) == 1 + len(rows)
    assert all(set(row) <= set(table[0]) for row in rows)
    read = parquet.read_table(io.BytesIO(export(client, listed, "parquet").getvalue())).to_pylist()
    assert len(read) == len(rows)
    for row, found in zip(rows, read, strict=True):
        for key, value in row.items():
            assert found[key] == value or json.loads(found[key]) == value, key


def test_a_file_has_all_pages_of_the_filtered_list_and_no_formulas(access: AccessProject) -> None:
    made = make_dialogues(access.team.project, 3, status="candidate")
    type(made[0]).objects.filter(pk=made[0].pk).update(title="=1+1")
    client = signed_in(access.team.administrator)
    listed = f"{address('api-dialogue-list', access.ids)}?status=candidate&size=2&sort=-id"
    table = list(csv.DictReader(io.StringIO(export(client, listed).getvalue().decode())))
    ids = [row["external_id"] for row in table]
    assert ids == sorted(ids, reverse=True)
    assert {row.external_id for row in made} <= set(ids)
    assert [row["title"] for row in table if row["external_id"] == made[0].external_id] == ["'=1+1"]


def test_a_token_counts_once_however_many_pages_a_file_has(access: AccessProject) -> None:
    made = make_dialogues(access.team.project, 4, status="candidate")
    listed = f"{address('api-dialogue-list', access.ids)}?status=candidate&size=1"
    answer = ApiClient(access.team.administrator, scopes=["read"]).get(
        reverse("api-list-export"), {"list": listed, "format": "jsonl"}, **{THREADS: 3}
    )
    assert len(answer.getvalue().splitlines()) >= len(made)


def test_a_file_ends_with_an_error_if_a_page_is_refused(access: AccessProject) -> None:
    reader = access.team.administrator
    answer = _WRITERS["jsonl"](_Pages(_asked_by(reader), f"{address('api-member-list', access.ids)}?size=1"))
    assert next(answer)
    reader.memberships.update(ended_at=timezone.now())
    with pytest.raises(RuntimeError, match="refused with 404"):
        next(answer)


def _asked_by(person: Any) -> Any:
    request = RequestFactory().get("/api/export/")
    request.user = person
    return request


def test_a_client_may_accept_only_the_type_of_the_file(access: AccessProject) -> None:
    client = signed_in(access.team.administrator)
    for name, query, kind in (
        ("api-list-export", f"list={address('api-member-list', access.ids)}&format=jsonl", "application/jsonl"),
        ("api-dialogue-export", "format=csv", "text/csv"),
        ("api-errata-log", "", "application/jsonl"),
    ):
        answer = client.get(f"{address(name, access.ids)}?{query}", headers={"accept": kind})
        assert isinstance(answer.getvalue(), bytes)
        assert (answer.status_code, answer["Content-Type"].partition(";")[0]) == (200, kind), name


def test_a_file_is_for_those_who_may_read_the_list(access: AccessProject) -> None:
    listed = address("api-invitation-list", access.ids)
    other = make_team("other", annotators=1)
    give_role(other.project, access.team.administrator, Role.ADMINISTRATOR)
    limited = ApiClient(access.team.administrator, projects=[other.project.public_id])
    assert export(limited, listed).status_code == 404
    assert export(signed_in(access.team.annotator), listed).status_code == 403
    assert export(signed_in(access.team.outsider), listed).status_code == 404
    assert export(Client(), listed).status_code == 401


def test_what_is_no_list_and_what_a_list_refuses_gets_a_sentence(access: AccessProject) -> None:
    client = signed_in(access.team.administrator)
    for wrong in (
        "",
        "x",
        "/projects/",
        "https://example.org/api/projects/",
        "/api/export/",
        "/api/none/",
        "/api/%00/",
    ):
        refused = export(client, wrong)
        assert refused.status_code == 400, wrong
        assert "must be the address of a list" in refused.content.decode()
        assert "/api/projects/{slug}/members/, " in refused.content.decode()
    refused = export(client, address("api-dialogue-list", access.ids) + "?colour=blue")
    assert refused.status_code == 400
    assert "Unknown filter: “colour”" in refused.content.decode()
