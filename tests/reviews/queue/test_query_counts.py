"""How often the hot paths ask the database: a fixed number, whatever lies in the queues."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from annotator.models import User
from reviews.models import Claim
from reviews.services.queue.claims import claim_next, claim_slot, heartbeat
from reviews.services.queue.progress import read_my_work, read_progress
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.statistics.counters import read_counters
from reviews.services.submission.submit import submit_review
from tests.factories import (
    Team,
    begin,
    changed,
    claim_and_submit,
    current,
    make_dialogues,
    make_item,
    open_slot,
)

pytestmark = pytest.mark.django_db


def queries(act: Callable[[], Any]) -> int:
    """Statements, without those that begin and end transactions."""
    with CaptureQueriesContext(connection) as captured:
        act()
    marks = ("SAVEPOINT", "RELEASE", "BEGIN", "COMMIT")
    return sum(1 for query in captured if not query["sql"].startswith(marks))


def submission(claim: Claim, person: User, verdict: str = "", **more: Any) -> Callable[[], Any]:
    return lambda: submit_review(actor=person, slot=claim.slot, token=claim.token, verdict=verdict, **more)


@pytest.mark.parametrize("items", [2, 60])
def test_claiming(team: Team, items: int) -> None:
    begin(team.project, make_dialogues(team.project, items))
    # Roles and clock, versions, claims, cursors, the slot (on SQLite found, then taken), claim, cursor.
    assert queries(lambda: claim_next(actor=team.annotator, project=team.project)) <= 9
    assert queries(lambda: claim_next(actor=team.annotator, project=team.project)) <= 6


def test_finding_nothing(team: Team) -> None:
    claim_and_submit(team.annotator, make_item(team, "self_check_single"))
    claim_next(actor=team.annotators[1], project=team.project)
    assert queries(lambda: claim_next(actor=team.annotators[2], project=team.project)) <= 6


def test_taking_a_certain_slot_loading_it_and_keeping_it(team: Team) -> None:
    item = make_item(team, "self_check_single")
    slot = open_slot(item)
    assert queries(lambda: claim_slot(actor=team.annotator, slot=slot)) <= 8
    claim = Claim.objects.get()
    assert queries(lambda: load_slot_work(actor=team.annotator, public_id=slot.public_id)) == 1
    assert queries(lambda: heartbeat(actor=team.annotator, token=claim.token)) <= 3


def test_approving_ones_own(team: Team) -> None:
    claim = claim_slot(actor=team.annotator, slot=open_slot(make_item(team, "self_check_single")))
    assert queries(submission(claim, team.annotator)) <= 19


def test_fixing_ones_own(team: Team) -> None:
    item = make_item(team, "self_check_single")
    claim = claim_slot(actor=team.annotator, slot=open_slot(item))
    assert queries(submission(claim, team.annotator, "fix", document=changed(current(item)))) <= 26


def test_the_first_of_two_reviews(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim = claim_slot(actor=team.annotators[1], slot=open_slot(item))
    assert queries(submission(claim, team.annotators[1], "approve")) <= 15


@pytest.mark.parametrize(("verdict", "most"), [("approve", 26), ("fix", 35)])
def test_the_second_of_two_reviews_settles(team: Team, verdict: str, most: int) -> None:
    item = make_item(team, "cross_check")
    document = changed(current(item)) if verdict == "fix" else None
    claim_and_submit(team.annotators[1], item, verdict, document=document)
    claim = claim_slot(actor=team.annotators[2], slot=open_slot(item, team.annotators[2]))
    assert queries(submission(claim, team.annotators[2], verdict, document=document)) <= most


@pytest.mark.parametrize("items", [2, 60])
def test_what_pages_read(team: Team, items: int) -> None:
    begin(team.project, make_dialogues(team.project, items))
    make_item(team, "expert")
    assert queries(lambda: read_counters(team.project)) == 2
    assert queries(lambda: read_progress(project=team.project)) <= 4
    assert queries(lambda: read_my_work(actor=team.annotator, project=team.project)) <= 8
