"""Every list of the API can be had as a file, which says what its pages say, to those who may read them."""

import csv
import io
import json
from typing import Any
from urllib.parse import urlencode

import pyarrow.parquet as parquet
import pytest
from django.test import Client
from django.urls import reverse

from tests.access_project import AccessProject, access, module_access
from tests.factories import make_dialogues
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


def test_a_file_is_for_those_who_may_read_the_list(access: AccessProject) -> None:
    listed = address("api-invitation-list", access.ids)
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
    refused = export(client, address("api-dialogue-list", access.ids) + "?colour=blue")
    assert refused.status_code == 400
    assert "Unknown filter: “colour”" in refused.content.decode()
