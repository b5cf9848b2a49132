"""How often each answer to a custom field was given: for overseers, from current revisions only."""

import pytest
from django.test import Client

from annotator.models import Dialogue
from annotator.services.custom_fields import set_fields
from tests.annotator.core.test_custom_fields import FIELDS, labelled
from tests.api_client import ApiClient, refusal
from tests.factories import Team, make_dialogue, make_document
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def test_answers_are_counted_by_dialogue_and_those_that_are_gone_together(team: Team) -> None:
    set_fields(actor=team.administrator, project=team.project, fields=[FIELDS[0], FIELDS[2]], seen=0)
    both = labelled({"difficulty": "hard"}, make_document(tasks=2))
    both["tasks"][1]["labels"] = {"difficulty": "hard"}
    make_dialogue(team.project, both | {"labels": {"quality": 4}})
    make_dialogue(team.project, labelled({"difficulty": "easy", "note": "hard"}, make_document()))
    for gone in ("medium", "odd"):
        make_dialogue(team.project, labelled({"difficulty": gone}, make_document()))
    make_dialogue(team.project, make_document())
    Dialogue.objects.filter(labels__contains="=hard").update(status="verified")

    address = f"/api/projects/{team.project.slug}/statistics/fields/"
    answers = ApiClient(team.senior).get(address).json()["answers"]
    found = {(one["field"], one["value"]): (one["dialogues"], one["verified"]) for one in answers}
    assert found == {
        ("difficulty", "easy"): (1, 1), ("difficulty", "hard"): (1, 1), ("difficulty", ""): (2, 0),
        ("quality", "1"): (0, 0), ("quality", "2"): (0, 0), ("quality", "3"): (0, 0), ("quality", "4"): (1, 1),
        ("quality", "5"): (0, 0),
    }  # fmt: skip
    assert refusal(ApiClient(team.annotator).get(address)) == (403, "denied")

    pages = Client()
    pages.force_login(team.administrator)
    path = f"/p/{team.project.slug}/statistics/fields/"
    page = one_line(pages.get(path))
    assert "How hard is it?" in page
    assert "No longer an option" in page
    rows = pages.get(f"{path}?csv=answers").content.decode().splitlines()
    assert rows[1:4] == [
        "How hard is it?,Easy,1,1",
        "How hard is it?,Hard,1,1",
        "How hard is it?,No longer an option,2,0",
    ]
