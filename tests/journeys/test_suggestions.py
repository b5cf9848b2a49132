"""Suggestions of models in a real browser: accepted and refused by one key each."""

import pytest
from playwright.sync_api import expect

from annotator.models import SuggestionDecision
from annotator.services.dialogues.suggestions import post_suggestions
from tests.factories import make_document
from tests.journeys.workspaces import draft_of, start_self_check, steps_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]
SOURCE = {"dialogue": "one", "source": "model-a", "score": 0.9}
S1 = "/tasks/t1/steps/s1"


def test_suggestions_are_accepted_and_refused_by_key(window_of, team, page_problems):
    document = make_document()
    document["tasks"][0]["steps"][1]["depends_on"] = None
    window = start_self_check(window_of, team, document)
    page = window.page
    suggested = [
        {"place": "/tasks/t1/policy", "value": "chat"},
        {"place": "/tasks/t1/information", "value": "partial_information"},
        {"place": f"{S1}/text", "value": "It snows."},
        {"place": f"{S1}/depends_on/s0", "value": "parameter"},
    ]
    posted = post_suggestions(
        actor=team.administrator, project=team.project, items=[one | SOURCE for one in suggested]
    )  # fmt: skip
    assert {one.result for one in posted} == {"stored"}
    window.open_place("task t1")
    expect(page.get_by_role("group", name="Suggested by model-a, score 0.90: Chat")).to_be_visible()
    expect(page.get_by_label("Chat", exact=True)).not_to_be_checked()

    page.locator("body").press("?")
    for words in ("Accept the suggestion", "Refuse the suggestion", "Go to the next suggestion"):
        expect(page.locator("#shortcuts")).to_contain_text(words)
    page.keyboard.press("Escape")

    # The keys act on the focused suggestion, and else on the first.
    page.get_by_role("group", name="partial").get_by_role("button", name="Refuse").focus()
    with window.saving():
        page.keyboard.press("i")
    assert draft_of(team)["tasks"][0]["information"] == "partial_information"
    with window.saving():
        page.keyboard.press("Shift+I")
    assert draft_of(team)["tasks"][0]["policy"] == "single_tool"
    expect(page.get_by_role("group", name="Refused suggestion of model-a, score 0.90: Chat")).to_be_visible()
    with window.saving():
        page.keyboard.press("u")
    expect(page.get_by_role("group", name="partial")).to_be_visible()

    # The next place, and its text.
    page.keyboard.press("q")
    expect(page.locator("#i-head")).to_contain_text("s1")
    expect(page.get_by_role("group", name="It snows.")).to_be_visible()
    page.get_by_role("group", name="It snows.").get_by_role("button", name="Accept").focus()
    with window.saving():
        page.keyboard.press("i")
    assert steps_of(team)[1]["text"] == "It snows."

    # The graph: a ghost edge, accepted with the keyboard.
    page.locator("body").press("g")
    expect(page.locator("#edge-s1-s0.suggested")).to_be_visible()
    with window.saving():
        page.keyboard.press("i")
    assert steps_of(team)[1]["depends_on"] == [{"id": "s0", "kind": "parameter"}]
    expect(page.locator("#edge-s1-s0.drawn")).to_have_count(1)
    outcomes = SuggestionDecision.objects.order_by("suggestion__place").values_list("outcome", flat=True)
    assert list(outcomes) == ["accepted", "refused", "accepted", "accepted"]
