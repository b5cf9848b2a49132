"""Targets for the difficulty: labels of a custom field of dialogues or tasks with that key."""

from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.db import connection
from django.urls import reverse

from annotator.errors import Invalid
from annotator.models import Dialogue
from annotator.services.custom_fields import set_fields
from benchmark.services.coverage.counting import read_coverage
from tests.benchmark.conftest import make_verified, run_release
from tests.benchmark.coverage.labelled import want
from tests.factories import make_dialogue, make_document

FIELD = {
    "key": "difficulty",
    "title": "Difficulty",
    "type": "choice",
    "scope": "dialogue",
    "options": [{"value": "easy", "title": "Easy"}, {"value": "hard", "title": "Hard"}],
}


def hard_document(**fields):
    return make_document(**fields) | {"labels": {"difficulty": "hard"}}


def test_difficulties_are_counted_and_can_have_a_target(team, client):
    with pytest.raises(Invalid):
        want(team, "difficulty", "hard", 3)
    client.force_login(team.administrator)
    address = reverse("coverage", args=[team.project.slug])
    assert client.get(address, {"by": "difficulty"}).status_code == 400
    set_fields(actor=team.administrator, project=team.project, fields=[FIELD], seen=0)
    team.project.refresh_from_db()
    make_dialogue(team.project, hard_document(), status="verified")
    make_dialogue(team.project, make_document())
    assert want(team, "difficulty", "hard", 3)
    found = read_coverage(project=team.project, dimension="difficulty")
    assert (found.values, found.reached) == (["easy", "hard"], {"hard": 1})
    assert [(gap.value, gap.missing) for gap in found.gaps] == [("hard", 2)]
    page = client.get(address, {"by": "difficulty"}).content.decode()
    assert "field=difficulty%3Dhard" in page


def test_a_release_counts_them(team):
    set_fields(actor=team.administrator, project=team.project, fields=[FIELD], seen=0)
    team.project.refresh_from_db()
    make_verified(team, "hard-1", hard_document(tasks=2))
    assert run_release(team).frozen["coverage"]["difficulty"] == {"hard": 1}


def test_the_migration_fills_what_is_counted(team):
    columns = ("topology_tally", "information_tally", "difficulty_tally", "toolset")
    document = hard_document(tasks=2)
    document["tasks"][1]["labels"] = {"difficulty": "easy"}
    make_dialogue(team.project, document)
    make_dialogue(team.project)
    stored = Dialogue.objects.order_by("pk").values_list(*columns)
    before = list(stored)
    assert before[0][2] == "easy:1|hard:1"
    Dialogue.objects.update(topology_tally="", information_tally="", difficulty_tally="", toolset=None)
    migration = import_module("annotator.migrations.0030_counted_columns")
    migration.fill(apps, SimpleNamespace(connection=connection))
    assert list(stored.all()) == before
