"""The annotator's journey in Firefox: what Chromium's tests say in detail holds in the other engine, too."""

from typing import Any

import pytest

from annotator.models import Draft
from reviews.models import Review, Slot
from tests.factories import Team, begin, make_dialogue, make_document
from tests.firefox import Firefox

pytestmark = [pytest.mark.firefox, pytest.mark.slow, pytest.mark.any_database]

PASSWORD = "a long way to gold"
HEADING = "(words) => document.querySelector('h1')?.textContent.includes(words)"
STATE = "(state) => document.querySelector('[data-save-state]')?.dataset.state === state"
#: What the indicator of the draft says; it is announced only when something goes wrong, and when that is over.
SHOWN = "() => document.querySelector('[data-save-text]').textContent.trim()"
#: The call shows its argument, not only the message above it.
CALLED = "(city) => document.querySelector('#chat .turn.call').textContent.includes(city)"
CITY = "input[name='city'], input[id$='city']"
ANSWER_YES = """() => {
  for (const one of document.querySelectorAll("input[type=radio][value=yes]"))
    if (one.checkVisibility()) one.click();
}"""


def asked(name: str) -> dict[str, Any]:
    """A dialogue with one wrong argument: the user says the city that is right."""
    document = make_document(name)
    document["tasks"][0]["user_message"] = f"Bruges, not Ghent {name}: what is the weather like there?"
    return document


def city_of(team: Team) -> str:
    draft = Draft.objects.get(author=team.annotator, closed_at=None)
    city = draft.document()["tasks"][0]["steps"][0]["arguments"]["city"]
    assert isinstance(city, str)
    return city


def test_from_sign_in_to_the_next_item(firefox: Firefox, team: Team) -> None:
    team.annotator.set_password(PASSWORD)
    team.annotator.save()
    begin(team.project, [make_dialogue(team.project, asked(name), external_id=name) for name in ("one", "two")])

    firefox.goto("/")
    firefox.tab_to("input[name=login]")
    firefox.type(team.annotator.username)
    firefox.tab_to("input[name=password]")
    firefox.type(PASSWORD)
    firefox.press("Enter")
    firefox.wait(HEADING, "My work")
    firefox.press("n")
    firefox.wait(HEADING, "one")

    slot = Slot.objects.get(holder=team.annotator)
    firefox.goto(f"/work/{slot.public_id}/?at=/tasks/t1/steps/s0&panel=edit")
    firefox.tab_to(CITY)
    firefox.press("Control+a")
    firefox.type("Bruges")
    firefox.press("Tab")
    firefox.wait(CALLED, "Bruges")
    firefox.wait(STATE, "saved")
    assert city_of(team) == "Bruges"
    assert firefox.evaluate(SHOWN).startswith("Saved")

    firefox.click(firefox.control("Undo", "#toolbar button"))
    firefox.wait(CALLED, "Ghent one")
    firefox.wait(STATE, "saved")
    assert city_of(team) == "Ghent one"
    firefox.click(firefox.control("Redo", "#toolbar button"))
    firefox.wait(CALLED, "Bruges")
    firefox.wait(STATE, "saved")
    assert city_of(team) == "Bruges"

    firefox.click(firefox.control("Approve with fix…"))
    firefox.wait("() => location.pathname.endsWith('/submit/') && document.readyState === 'complete'")
    firefox.evaluate(ANSWER_YES)
    firefox.tab_to("#reason")
    firefox.type("The other city.")
    firefox.click(firefox.control("Submit and open next"))
    firefox.wait(HEADING, "two")
    review = Review.objects.get()
    assert (review.verdict, review.reason) == ("fix", "The other city.")
    assert review.made_revision is not None
