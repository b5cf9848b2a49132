"""Everything that ``make bench`` reads exists, so that it does not measure refusals."""

from types import SimpleNamespace
from typing import Any

import pytest
from django.test import Client

from annotator.models import Project, User
from annotator.services.database.keyset import is_cursor
from scripts.bench_boards import PAGES, make_boards
from scripts.bench_run import api_urls, page_urls
from scripts.bench_site import SLUG, middle_cursors, prepare
from tests.factories import make_dialogue

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def test_every_page_that_is_measured_opens(client: Client) -> None:
    load: Any = SimpleNamespace(people=prepare()["people"])
    project = Project.objects.get(slug=SLUG)
    for number in range(3):
        make_dialogue(project, external_id=f"one-{number}")
    cursors = middle_cursors()["cursors"]
    assert cursors
    assert all(map(is_cursor, cursors))
    client.force_login(User.objects.get(username="administrator"))
    for name, urls in (page_urls(load, 6, cursors) | api_urls()).items():
        for url in urls:
            assert client.get(url).status_code == 200, (name, url)


def test_every_page_of_scores_that_is_measured_opens(client: Client) -> None:
    person, addresses = make_boards(8)
    client.force_login(person)
    found = dict(addresses())
    assert found.keys() == PAGES.keys()
    for name, address in found.items():
        assert client.get(address).status_code == 200, (name, address)
