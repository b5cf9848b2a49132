"""The pages and the API on which administrators define custom fields."""

import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import Dialogue, Project
from annotator.services.custom_fields import fields_of
from tests.annotator.core.test_custom_fields import labelled
from tests.factories import Team, make_dialogue, make_document
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

CHOICE = {
    "key": "difficulty",
    "title": "How hard is it?",
    "type": "choice",
    "scope": "task",
    "options": "easy = Easy\nhard = Very hard\n",
    "required": "on",
    "seen": "0",
}


@pytest.fixture
def pages(client: Client, team: Team) -> Client:
    client.force_login(team.administrator)
    return client


def confirmed(page: str) -> dict[str, str]:
    """What a page sends that asks for a confirmation."""
    found = re.search(r'name="confirmed" value="(\w+)"', page)
    assert found is not None
    return {"confirmed": found[1]}


def stored() -> list[Any]:
    return list(Project.objects.get().custom_fields)


def create(client: Client, team: Team, **changes: str) -> Any:
    return client.post(reverse("field-create", args=[team.project.slug]), CHOICE | changes, follow=True)


def test_a_field_is_added_shown_changed_moved_and_removed(pages: Client, team: Team) -> None:
    slug = team.project.slug
    page = one_line(create(pages, team))
    assert "Very hard" in page
    create(
        pages, team, key="why", title="Why?", type="multi", options="long", required="",
        condition="difficulty=hard", seen="1",
    )  # fmt: skip
    assert stored()[1] == {
        "key": "why",
        "title": "Why?",
        "type": "multi",
        "scope": "task",
        "options": [{"value": "long", "title": "long"}],
        "shown_if": {"key": "difficulty", "values": ["hard"]},
    }
    change = reverse("field-change", args=[slug, "difficulty"])
    assert "hard = Very hard" in pages.get(change).content.decode()
    response = pages.post(change, CHOICE | {"title": "Difficulty", "seen": "2"})
    assert response.status_code == 302
    assert stored()[0]["title"] == "Difficulty"
    # A field cannot come before the one that it depends on.
    response = pages.post(reverse("field-list", args=[slug]), {"key": "why", "by": "-1", "seen": "3"})
    assert (response.status_code, "comes before this one" in response.content.decode()) == (422, True)
    pages.post(reverse("field-list", args=[slug]), {"key": "why", "action": "remove", "seen": "3"})
    assert [field.key for field in fields_of(Project.objects.get())] == ["difficulty"]


def test_problems_are_shown_at_their_inputs_and_nothing_is_saved(pages: Client, team: Team) -> None:
    for changes, sentence in (
        ({"options": ""}, "Give at least one option."),
        ({"key": "How hard"}, "Use small letters, digits and underscores, and begin with a letter."),
    ):
        response = create(pages, team, **changes)
        assert (response.status_code, sentence in response.content.decode()) == (422, True)
    create(pages, team)
    response = create(pages, team, key="other", seen="0")
    assert (response.status_code, "Somebody else changed the fields" in response.content.decode()) == (409, True)
    assert len(stored()) == 1


def test_programs_read_and_replace_the_fields(pages: Client, team: Team) -> None:
    address = reverse("api-field-list", args=[team.project.slug])
    assert pages.get(address).json() == {"version": 0, "definitions": []}
    field = {"key": "quality", "title": "Quality", "type": "scale", "scope": "dialogue", "low": 1, "high": 5}
    sent = {"version": 0, "definitions": [field]}
    assert pages.post(address, sent, content_type="application/json").json() == {"version": 1, "definitions": [field]}
    assert pages.post(address, {"version": 0, "definitions": []}, content_type="application/json").status_code == 409
    wrong = {"version": 1, "definitions": [field | {"high": 500}]}
    response = pages.post(address, wrong, content_type="application/json")
    assert response.status_code == 422
    assert response.json()["details"]["problems"][0]["pointer"] == "/0/low"


def test_the_condition_is_chosen_among_the_answers_of_one_earlier_field(pages: Client, team: Team) -> None:
    create(pages, team)
    page = one_line(create(pages, team, key="quality", type="scale", options="", low="1", high="3", seen="1"))
    page = one_line(pages.get(reverse("field-create", args=[team.project.slug])))
    assert '<optgroup label="How hard is it?">' in page
    assert '<option value="difficulty=hard">Very hard</option>' in page
    both = ["difficulty=hard", "quality=3"]
    response = pages.post(
        reverse("field-create", args=[team.project.slug]), CHOICE | {"key": "why", "condition": both, "seen": "2"}
    )
    assert (response.status_code, "answers of one field only" in response.content.decode()) == (422, True)
    # The first field has none before it.
    page = one_line(pages.get(reverse("field-change", args=[team.project.slug, "difficulty"])))
    assert "<optgroup" not in page


def test_a_new_requirement_says_how_many_verified_dialogues_wait_and_is_saved_when_confirmed(
    pages: Client, team: Team
) -> None:
    hard, easy = labelled({"difficulty": "hard"}, make_document()), labelled({"difficulty": "easy"}, make_document())
    for document in (hard, hard, easy):
        make_dialogue(team.project, document)
    make_dialogue(team.project, hard)
    Dialogue.objects.exclude(pk=Dialogue.objects.latest("pk").pk).update(status="verified")
    # Nobody knows whether all tasks are answered.
    page = one_line(create(pages, team))
    assert "Up to 3 verified dialogues lack an answer." in page
    assert "Up to 3 verified dialogues" in one_line(create(pages, team, scope="dialogue", type="text", options=""))
    assert stored() == []
    create(pages, team, **confirmed(page))
    why = {"key": "why", "condition": "difficulty=hard", "seen": "1"}
    assert "Up to 2 verified dialogues" in one_line(create(pages, team, **why))
    # A change that requires nothing more asks nothing.
    create(pages, team, required="", **why)
    assert [field["key"] for field in stored()] == ["difficulty", "why"]


def test_a_change_says_how_many_answers_no_longer_fit_and_is_saved_when_confirmed(pages: Client, team: Team) -> None:
    create(pages, team, required="", options="easy = Easy\nmedium = Medium\nhard = Very hard\n")
    note = {"key": "note", "title": "Note", "type": "text", "options": "", "required": "", "seen": "1"}
    create(pages, team, **note)
    for labels in ({"difficulty": "hard", "note": "Two\nlines"}, {"difficulty": "hard"}, {"difficulty": "easy"}, {}):
        make_dialogue(team.project, labelled(labels, make_document()))
    slug = team.project.slug
    change = reverse("field-change", args=[slug, "difficulty"])
    sent = CHOICE | {"required": "", "options": "easy = Easy\nvery_hard = Very hard\n", "seen": "2"}
    page = one_line(pages.post(change, sent))
    # Nothing has the option in between.
    assert "How hard is it? “Very hard”: in up to 2 dialogues" in page
    assert "Medium" not in page.split("These answers no longer fit", 1)[1]
    page = one_line(pages.post(change, sent | {"options": CHOICE["options"], "scope": "dialogue"}))
    assert "How hard is it? (all answers): in up to 3 dialogues" in page
    # An answer without a condition may not be asked with one.
    create(pages, team, **note | {"key": "last", "type": "scale", "low": "1", "high": "2", "seen": "2"})
    moved = [stored()[2], stored()[0], stored()[1]]
    moved[1] |= {"shown_if": {"key": "last", "values": ["1"]}}
    address = reverse("api-field-list", args=[slug])
    refused = pages.post(address, {"version": 3, "definitions": moved}, content_type="application/json").json()
    assert [one["dialogues"] for one in refused["details"]["unfit"]] == [3]
    Project.objects.update(custom_fields=stored()[:2], fields_version=2)
    # Only what was shown is confirmed.
    page = one_line(pages.post(change, sent | confirmed(page)))
    assert "How hard is it? “Very hard”: in up to 2 dialogues" in page
    # An option is also a text.
    before, asked = stored(), {"version": 2, "definitions": stored()}
    asked["definitions"][0] |= {"type": "text", "options": []}
    asked["definitions"][1] |= {"type": "multi", "options": [{"value": "a", "title": "A"}]}
    address = reverse("api-field-list", args=[slug])
    refused = pages.post(address, asked, content_type="application/json")
    assert (refused.status_code, refused.json()["error"]) == (409, "unconfirmed")
    lost = {"field": "note", "title": "Note", "answer": "", "dialogues": 1}
    assert refused.json()["details"] == {"waiting": 0, "unfit": [lost]}
    assert "no longer fit, in up to so many dialogues: Note (1)." in refused.json()["sentence"]
    # Somebody else's change comes before the question.
    assert pages.post(address, asked | {"version": 1}, content_type="application/json").json()["error"] == "conflict"
    remove = {"key": "difficulty", "action": "remove", "seen": "2"}
    page = one_line(pages.post(reverse("field-list", args=[slug]), remove))
    assert "How hard is it? (all answers): in up to 3 dialogues" in page
    assert [field["key"] for field in stored()] == ["difficulty", "note"]
    pages.post(reverse("field-list", args=[slug]), remove | confirmed(page))
    assert [field["key"] for field in stored()] == ["note"]
    Project.objects.update(custom_fields=before, fields_version=2)
    assert pages.post(address, asked | {"confirmed": True}, content_type="application/json").status_code == 200
    assert [field["type"] for field in stored()] == ["text", "multi"]
