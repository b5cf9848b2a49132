"""The page of a dispute: errors named besides, refusals in words, what was edited offered as the third version."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotator.services.dialogues.drafts import edit_draft
from reviews.models import Review
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.throughput import read_error_types
from reviews.services.submission.workbench import open_workbench
from tests.factories import Team, adopt_c3, changed, make_document, make_team
from tests.reviews.adjudication.test_adjudication import TEXT
from tests.reviews.adjudication.test_disputes import at_desk, disputed, same, sheet_of

pytestmark = pytest.mark.django_db

WHY = "answer_wrong"


@pytest.fixture
def team() -> Team:
    team = make_team(seniors=1)
    adopt_c3(team)
    return team


@pytest.fixture
def slot(team: Team) -> str:
    return at_desk(team, disputed(team, same, lambda document: changed(document, "Sunny."), make_document("x")))


def settle(team: Team, client: Client, slot: str, choice: str, **more: Any) -> Any:
    client.force_login(team.senior)
    draft = open_workbench(actor=team.senior, slot_id=slot).draft
    form = {"seen": draft.version, f"ruling:{TEXT}": choice, f"why:{TEXT}": WHY, "stay": "1"}
    return client.post(reverse("workspace-settle", args=[slot]), form | more)


def test_whoever_settles_names_what_was_wrong_besides(team: Team, client: Client, slot: str) -> None:
    """The page had no rows for it, so an error in what is not disputed was told nobody."""
    client.force_login(team.senior)
    assert "Errors found" in client.get(reverse("workspace-settle", args=[slot])).content.decode()
    named = {"error-type": "message_unnatural", "error-anchor": "/tasks/t1/user_message", "error-note": "Stiff."}
    assert settle(team, client, slot, "right", **named).status_code == 302
    review = Review.objects.get(stage_kind="expert")
    assert [(one.kind, one.anchor, one.note) for one in review.errors.all()] == [tuple(named.values())]
    assert (
        "Stiff."
        in client.get(reverse("dialogue", args=[team.project.slug, review.dialogue.public_id])).content.decode()
    )
    fold_all()
    assert {one.kind: one.total for one in read_error_types(project=team.project)} == {WHY: 1, "message_unnatural": 1}


def test_a_refused_settlement_names_the_place_in_words_and_leads_there(team: Team, client: Client, slot: str) -> None:
    refused = settle(team, client, slot, "third", **{f"third:{TEXT}": "TODO: the weather"})
    page = refused.content.decode()
    summary = page.partition("error-summary")[2].partition("</div>")[0]
    assert refused.status_code == 422
    assert "Task 1, answer s1, text: " in summary
    assert "/tasks/" not in summary.replace("%2F", "/").partition("<ul>")[0]
    assert 'href="#place-1"' in summary


def test_what_was_edited_at_a_disputed_place_is_offered_as_the_third_version(team: Team, slot: str) -> None:
    """The field held the left side’s words, and choosing “third”, as the page asked, contradicted the edit."""
    draft = open_workbench(actor=team.senior, slot_id=slot).draft
    edit_draft(
        actor=team.senior, draft=draft, operation={"op": "set", "anchor": TEXT, "value": "Mine."}, seen=draft.version
    )
    assert [row.value for row in sheet_of(team, slot).rows] == ["Mine."]
