"""Custom fields in a real browser: number keys, marked passages, a suggested answer."""

import pytest
from playwright.sync_api import expect

from annotator.services.custom_fields import set_fields
from annotator.services.dialogues.suggestions import post_suggestions
from tests.annotator.core.test_custom_fields import FIELDS
from tests.factories import make_document
from tests.journeys.workspaces import draft_of, start_self_check

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_answers_are_given_by_key_marked_in_the_text_and_taken_from_a_suggestion(window_of, team, page_problems):
    topics = FIELDS[1] | {"key": "topics", "title": "Topics", "scope": "task"}
    team.project = set_fields(
        actor=team.administrator, project=team.project, fields=[FIELDS[0], topics, FIELDS[3]], seen=0
    )
    document = make_document()
    # A browser counts a line break as one character, and this face as two.
    document["tasks"][0]["user_message"] = "Weather 🙂\r\nin Ghent?"
    window = start_self_check(window_of, team, document)
    page = window.page
    suggested = {"dialogue": "one", "place": "/tasks/t1/labels/difficulty", "value": "hard", "source": "model-a"}
    [posted] = post_suggestions(actor=team.administrator, project=team.project, items=[suggested])
    assert posted.result == "stored"
    window.open_place("task t1")

    def labels():
        return draft_of(team)["tasks"][0].get("labels")

    # A number key chooses in the question that has the focus; 0 takes the answer back.
    question = page.get_by_role("group", name="How hard is it?")
    question.get_by_label("Not answered").focus()
    with window.saving():
        page.keyboard.press("1")
    assert labels() == {"difficulty": "easy"}
    with window.saving():
        page.keyboard.press("0")
    assert labels() is None

    # The suggested answer opens the next question, whose set takes several keys.
    page.get_by_role("group", name="Suggested by model-a: Hard").get_by_role("button", name="Accept").focus()
    with window.saving():
        page.keyboard.press("i")
    assert labels() == {"difficulty": "hard"}
    expect(question.get_by_label("Hard")).to_be_checked()
    page.get_by_role("group", name="Topics").get_by_label("Long").focus()
    for key in "12":
        with window.saving():
            page.keyboard.press(key)
    assert labels() == {"difficulty": "hard", "topics": ["long", "vague"]}

    # The selection in the text becomes the passage.
    text = page.get_by_label("Select text to mark")
    text.focus()
    page.keyboard.press("Control+End")
    for _ in range(9):
        page.keyboard.press("Shift+ArrowLeft")
    with window.saving():
        page.get_by_role("button", name="Mark").press("Enter")
    assert labels()["evidence"] == [{"start": 11, "end": 20, "text": "in Ghent?"}]
    expect(page.locator("q", has_text="in Ghent?")).to_be_visible()
    page.keyboard.press("Escape")
    with window.saving():
        page.keyboard.press("u")
    assert "evidence" not in labels()
