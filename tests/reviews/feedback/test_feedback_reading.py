"""Feedback as it is read: places, the guideline's words, recurring kinds, and for whom it is."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.errors import Denied
from annotator.models import Dialogue, Notice
from annotator.services.database.keyset import KeyPage
from annotator.services.notices.notices import mark_read
from annotator.services.projects import publish_guideline
from reviews.models import Feedback
from reviews.services.feedback import reading
from tests.factories import Team, adopt_c3, claim_and_submit, make_item, make_team

pytestmark = pytest.mark.django_db

ANSWER = "/tasks/t1/steps/s1/text"
GUIDELINE = """# Answers

Say what the observations say.

# Arguments

An argument that nothing gives is a hallucinated value.
"""


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_c3(team)
    publish_guideline(actor=team.administrator, project=team.project, text=GUIDELINE, seen=0)
    return team


def told(team: Team, kind: str = "hallucinated_value", **more: Any) -> Dialogue:
    """A disputed dialogue that the expert settles otherwise than its owner, and the reviewer who approved, had it."""
    item = make_item(team, "expert", **more)
    ruling = {"choice": "right", "reason_kind": kind, "reason": "Nobody said so."}
    claim_and_submit(team.senior, item, rulings={ANSWER: ruling})
    return item


def page_of(team: Team, **more: Any) -> KeyPage[reading.FeedbackRow]:
    return reading.list_feedback(**{"actor": team.annotator, "project": team.project} | more)


def test_what_was_wrong_where_and_what_the_guideline_says(team: Team) -> None:
    item = told(team)
    [row] = page_of(team).rows
    [named_error] = row.named_errors
    assert row.feedback.dialogue == item
    assert (named_error.label, named_error.place, named_error.note) == (
        "Hallucinated value",
        "task 1, answer s1, text",
        "Nobody said so.",
    )
    assert named_error.guideline is not None
    assert (named_error.guideline.slug, named_error.guideline.sentence) == (
        "s-arguments", "An argument that nothing gives is a hallucinated value.",
    )  # fmt: skip
    assert row.unread
    mark_read(actor=team.annotator, public_id=Notice.objects.get(kind="feedback", person=team.annotator).public_id)
    assert not page_of(team).rows[0].unread


def test_recurring_kinds_by_person_and_in_the_project(team: Team) -> None:
    for kind in ("hallucinated_value", "wrong_tool", "hallucinated_value"):
        told(team, kind)
    counts = reading.count_kinds(project=team.project)
    assert [(row.label, row.count, row.share) for row in counts] == [
        ("Hallucinated value", 4, 100), ("Wrong tool", 2, 50),
    ]  # fmt: skip
    assert reading.count_kinds(project=team.project, person=team.annotators[2]) == []
    people = reading.count_people(actor=team.senior, project=team.project)
    assert {row.person: (row.count, row.kinds) for row in people} == dict.fromkeys(
        (team.annotator, team.annotators[1]), (3, [("Hallucinated value", 2), ("Wrong tool", 1)])
    )


def test_ones_own_is_for_oneself_and_for_who_oversees(team: Team, client: Client) -> None:
    told(team)
    colleague = team.annotators[2]
    assert page_of(team, actor=colleague).rows == []
    refused: list[Callable[[], object]] = [
        lambda: page_of(team, actor=colleague, person=team.annotator),
        lambda: page_of(team, actor=colleague, everybody=True),
        lambda: reading.count_people(actor=colleague, project=team.project),
    ]
    for act in refused:
        with pytest.raises(Denied):
            act()
    for overseer in (team.senior, team.administrator):
        assert len(page_of(team, actor=overseer, everybody=True).rows) == 2
        assert len(page_of(team, actor=overseer, person=team.annotator).rows) == 1
    address = f"/p/{team.project.slug}/feedback/"
    for person, query, status in (
        (team.annotator, "", 200), (colleague, "?of=all", 403), (team.senior, "?of=all", 200),
        (team.senior, f"?of={team.outsider.public_id}", 404), (team.senior, f"?of={team.annotator.public_id}", 200),
    ):  # fmt: skip
        client.force_login(person)
        assert client.get(address + query).status_code == status


def test_what_one_has_read_does_not_wait_in_the_bell_any_more(team: Team, client: Client) -> None:
    told(team)
    address = f"/p/{team.project.slug}/feedback/"
    mine = Notice.objects.filter(kind="feedback", person=team.annotator)
    client.force_login(team.senior)
    client.get(f"{address}?of={team.annotator.public_id}")
    client.force_login(team.annotator)
    client.head(address)
    assert mine.get().read_at is None
    shown = client.get(address).content.decode()
    assert ">New<" in shown
    assert mine.get().read_at is not None
    assert ">New<" not in client.get(address).content.decode()


def test_another_projects_feedback_is_not_counted(team: Team) -> None:
    other = make_team()
    adopt_c3(other)
    told(other)
    assert reading.count_kinds(project=team.project) == []
    assert not page_of(team, actor=team.senior, everybody=True).rows


def test_the_page_leads_to_the_place_and_asks_as_often_for_many(team: Team, client: Client) -> None:
    item = told(team)
    client.force_login(team.annotator)
    address = f"/p/{team.project.slug}/feedback/"
    shown = client.get(address).content.decode()
    assert f"/dialogues/{item.public_id}/#at-tasks-t1-steps-s1" in shown
    assert "guideline/#s-arguments" in shown

    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get(address)
        return len(captured)

    told(team)
    few = asked()
    for _ in range(4):
        told(team)
    assert asked() <= few


def test_pages_go_by_key(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "PAGE", 2)
    for _ in range(3):
        told(team)
    first = page_of(team)
    second = page_of(team, after=first.after)
    assert [len(first.rows), len(second.rows)] == [2, 1]
    assert [row.feedback for row in page_of(team, before=second.before).rows] == [row.feedback for row in first.rows]
    assert Feedback.objects.filter(person=team.annotator).count() == 3
