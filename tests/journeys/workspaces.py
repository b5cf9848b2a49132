"""People at their places: somebody with the workspace of their item open, and the draft they work on."""

from collections.abc import Callable
from typing import Any

from annotator.models import Draft
from reviews.services.queue.claims import claim_next
from tests.factories import Team, begin, make_dialogue
from tests.journeys.browser_window import BrowserWindow

CALL, ANSWER = "s0 of task t1", "s1 of task t1"
Open = Callable[..., BrowserWindow]


def start_self_check(
    window_of: Open, team: Team, document: dict[str, Any] | None = None, **options: Any
) -> BrowserWindow:
    """The first annotator at their first self-check of one dialogue."""
    begin(team.project, [make_dialogue(team.project, document, external_id="one")])
    return open_workspace(window_of, team, **options)


def open_workspace(
    window_of: Open, team: Team, person: Any = None, stage: str | None = None, **options: Any
) -> BrowserWindow:
    """Somebody with the workspace of their next item open."""
    person = person or team.annotator
    claim = claim_next(actor=person, project=team.project, stage=stage)
    assert claim is not None
    window = window_of(person, **options)
    window.page.goto(f"/work/{claim.slot.public_id}/")
    return window


def draft_of(team: Team) -> dict[str, Any]:
    return Draft.objects.get(author=team.annotator, closed_at=None).document()


def steps_of(team: Team) -> list[dict[str, Any]]:
    return draft_of(team)["tasks"][0]["steps"]
