"""Blind is blind: what a second reviewer, or anybody else, can see of the first one’s work before both are in."""

import re

import pytest
from playwright.sync_api import expect

from reviews.models import Review
from tests.factories import make_item
from tests.journeys.workspaces import ANSWER, open_workspace

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def test_a_second_reviewer_sees_nothing_of_the_first(window_of, team):
    dialogue = make_item(team, "cross_check", external_id="blind")
    first, second = team.annotators[1], team.annotators[2]
    window = open_workspace(window_of, team, first)
    page = window.page
    window.open_panel("Comments")
    page.get_by_label("Your comment").fill("Zebra comment")
    with window.saving():
        page.get_by_role("button", name="Add comment").click()
    window.open_panel("Edit")
    window.open_place(ANSWER)
    with window.saving():
        page.locator("#answer-text").fill("Zebra answer")
    window.submit("Approve with fix", reason="Zebra reason")
    assert Review.objects.filter(reason="Zebra reason", sealed=True).count() == 1

    other = open_workspace(window_of, team, second)
    slot_url = other.page.url
    listing, own = f"/p/{team.project.slug}/dialogues/", f"/p/{team.project.slug}/dialogues/{dialogue.public_id}/"
    pages = [slot_url, *(f"{slot_url}?panel={name}" for name in ("findings", "comments", "revisions")), own]
    pages += [f"{own}changes/", listing, f"{listing}?q=zebra", f"/p/{team.project.slug}/", "/"]
    for reader in (other, window_of(team.administrator)):
        for address in pages if reader is other else pages[4:8]:
            reader.page.goto(address)
            text = reader.page.locator("main").inner_text()
            assert "zebra" not in text.lower(), address
            if address == own:
                assert str(first) not in text, address
                assert len(re.findall(r"Revision \d", reader.page.locator("#vers + ol").inner_text())) == 1
    other.page.goto(slot_url)
    other.open_place(ANSWER)
    with other.saving():
        other.page.locator("#answer-text").fill("Okapi answer")
    other.submit("Approve with fix", reason="Okapi reason")
    # Both are in: now everybody sees both.
    window.page.goto(own)
    for word in ("Zebra reason", "Okapi reason", "Zebra comment"):
        expect(window.page.locator("main")).to_contain_text(word)
