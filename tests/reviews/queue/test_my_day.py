"""My work shows one's own day: what is done, the goal, the time worked, and the week."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator.core.text import Message
from annotator.errors import Denied, Invalid
from annotator.models import Event, Notice, NoticeSettings
from reviews.models import Claim, DailyGoal, Review
from reviews.services.queue.claims import claim_next
from reviews.services.queue.goals import set_goal
from reviews.services.statistics.my_day import read_my_day
from tests.factories import Team, begin, claim_and_submit, make_dialogues, make_item
from tests.pages import one_line
from tests.reviews.gold.gold_team import STAGE, answer_with, certain, gold_team, make_gold, take

pytestmark = pytest.mark.django_db
#: 01:30 on Wednesday in Kyiv; in UTC it is still Tuesday.
NOW = datetime(2026, 3, 3, 23, 30, tzinfo=UTC)


def reviewed(team: Team, *moments: tuple[timedelta, int]) -> None:
    """Reviews of the first annotator: how long before ``NOW``, and the seconds of work."""
    for before, seconds in moments:
        item = make_item(team, "cross_check")
        claim_and_submit(team.annotators[1], item, "approve")
        latest = Review.objects.filter(person=team.annotators[1]).latest("pk")
        Review.objects.filter(pk=latest.pk).update(created_at=NOW - before, seconds=seconds)


def test_days_are_those_of_ones_own_time_zone(team: Team) -> None:
    person = team.annotators[1]
    NoticeSettings.objects.create(person=person, time_zone="Europe/Kyiv")
    reviewed(
        team,
        (timedelta(minutes=5), 300), (timedelta(minutes=60), 540), (timedelta(minutes=80), 0),  # Wednesday
        (timedelta(hours=2), 60),  # Tuesday in Kyiv
        (timedelta(days=6, hours=1), 60),  # the first of the seven days, at half past midnight
        (timedelta(days=6, hours=2), 60),  # before it
        (timedelta(days=-1), 60),  # a clock that is ahead: today
    )  # fmt: skip
    day = read_my_day(person=person, now=NOW, goals={team.project.pk: 8}, held=[])
    assert [(one.day.day, one.done) for one in day.days] == [
        (26, 1), (27, 0), (28, 0), (1, 0), (2, 0), (3, 1), (4, 4),
    ]  # fmt: skip
    assert (day.today.seconds, day.median, day.goal, day.share) == (900, 300, 8, 50)
    assert [one.share for one in day.days] == [25, 0, 0, 0, 0, 25, 100]
    assert day.by_project == {team.project.pk: 4}
    # In UTC, the same reviews are those of Tuesday.
    NoticeSettings.objects.update(time_zone="")
    assert read_my_day(person=person, now=NOW, goals={}, held=[]).today.done == 5
    assert read_my_day(person=team.annotators[2], now=NOW, goals={}, held=[]).today.done == 0


def test_the_time_of_items_in_progress_counts_today(team: Team) -> None:
    begin(team.project, make_dialogues(team.project, 1))
    claim_next(actor=team.annotator, project=team.project)
    Claim.objects.update(active_seconds=90)
    held = list(Claim.objects.all())
    now = held[0].heartbeat_at
    assert read_my_day(person=team.annotator, now=now, goals={}, held=held).today.seconds == 90
    assert read_my_day(person=team.annotator, now=now + timedelta(days=1), goals={}, held=held).today.seconds == 0


def test_known_answers_count_for_the_person_and_their_copied_history_for_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    team = gold_team()
    item = make_gold(team)
    certain(monkeypatch, team)
    make_item(team, STAGE)
    person = team.annotators[3]

    def done() -> dict[int, int]:
        now = timezone.now()
        return {one.pk: read_my_day(person=one, now=now, goals={}, held=[]).today.done for one in team.everybody}

    before = done()
    claim = take(person, team)
    assert claim.slot.dialogue_id == item.dialogue_id
    answer_with(person, claim, "approve")
    after = done()
    assert {key: after[key] - before[key] for key in after if after[key] != before[key]} == {person.pk: 1}


def test_my_work_shows_the_day_and_one_button(team: Team, client: Client) -> None:
    person = team.annotator
    client.force_login(person)
    assert 'data-key="n"' not in one_line(client.get("/"))
    begin(team.project, make_dialogues(team.project, 2))
    set_goal(actor=person, project=team.project, person=person, reviews=20)
    page = one_line(client.get("/"))
    assert ">Start <kbd" in page
    assert "Daily goal: 0 of 20" in page
    answer = client.post(f"/p/{team.project.slug}/next/")
    claim = Claim.objects.get(person=person)
    page = one_line(client.get("/"))
    assert f"Continue {claim.slot.dialogue.external_id}" in page
    assert page.count('data-key="n"') == 1
    # The button goes on with the item, and takes no other.
    assert client.post(f"/p/{team.project.slug}/next/").url == answer.url


def test_the_day_takes_as_many_queries_for_many_reviews(team: Team, client: Client) -> None:
    client.force_login(team.annotators[1])

    def asked() -> int:
        with CaptureQueriesContext(connection) as captured:
            client.get("/")
        return len(captured)

    reviewed(team, (timedelta(), 60))
    few = asked()
    reviewed(team, *[(timedelta(minutes=one), 60) for one in range(3)])
    assert asked() == few


def test_a_goal_is_set_by_its_person_or_an_administrator_and_recorded(team: Team, client: Client) -> None:
    person, address = team.annotator, f"/p/{team.project.slug}/goal/"
    client.force_login(person)
    for typed, words in (
        ("12", "Saved."),
        ("0", "Enter a whole number"),
        ("9999999", "from 1 to 500"),
        ("x", "from 1"),
    ):
        assert words in client.post(address, {"goal": typed}, follow=True).content.decode()
    assert DailyGoal.objects.get().reviews == 12
    other: dict[str, Any] = {"project": team.project, "person": team.annotators[1]}
    with pytest.raises(Denied):
        set_goal(actor=person, reviews=5, **other)
    for _ in range(2):
        set_goal(actor=team.administrator, reviews=5, **other)
    with pytest.raises(Invalid, match="isn’t a member"):
        set_goal(actor=team.administrator, project=team.project, person=team.outsider, reviews=5)
    assert "no daily goal" in client.post(address, {"goal": ""}, follow=True).content.decode()
    assert DailyGoal.objects.get().person == team.annotators[1]
    assert Event.objects.filter(kind="daily_goal.changed").count() == 3
    for reviews in (0, 501):
        with pytest.raises(IntegrityError), transaction.atomic():
            DailyGoal.objects.create(project=team.project, person=person, reviews=reviews)


def test_programs_read_and_set_goals(team: Team, client: Client) -> None:
    person, address = team.annotators[1], f"/api/projects/{team.project.slug}/goal"
    client.force_login(person)
    assert client.get(f"{address}/").json() == {"person": person.public_id, "goal": None}
    assert client.post(f"{address}/", {"goal": 12}, content_type="application/json").json()["goal"] == 12
    for wrong in ({"goal": 0}, {"goal": 501}, {}, {"goal": 12, "person": team.senior.public_id}):
        assert client.post(f"{address}/", wrong, content_type="application/json").status_code == 400, wrong
    client.force_login(team.administrator)
    people = client.get(f"{address}s/").json()["people"]
    assert {one["person"]: one["goal"] for one in people}[person.public_id] == 12
    assert len(people) == 1 + len(team.annotators) + len(team.seniors)
    sent = {"goal": None, "person": person.public_id}
    assert client.post(f"{address}s/", sent, content_type="application/json").json() == sent
    assert not DailyGoal.objects.exists()


def test_opening_the_page_of_a_notice_reads_it(team: Team, client: Client) -> None:
    item = make_item(team, "self_check_single")
    page = item.get_absolute_url()

    def notices(*targets: str, kind: str = "comment") -> None:
        for target in targets:
            Notice.objects.create(
                person=team.annotator, project=team.project, kind=kind, message=Message("Look."), target=target
            )

    def left() -> list[str]:
        return sorted(Notice.objects.unread().values_list("target", flat=True))

    Notice.objects.all().delete()
    notices(f"{page}#c-1", page, f"{page}?panel=comments", f"{page}changes/", "/", f"/p/{team.project.slug}/jobs/")
    notices(page, kind="feedback")
    client.force_login(team.annotators[1])
    client.get(page)
    client.force_login(team.annotator)
    client.head(page)
    client.get(page, headers={"HX-Request": "true"})
    client.get(page, headers={"Sec-Purpose": "prefetch"})
    assert len(left()) == 7
    client.get(page)
    assert left() == sorted(["/", page, f"{page}changes/", f"/p/{team.project.slug}/jobs/"])
    # My work lists a notice that leads to it before it counts as read.
    assert ">Look.<" in client.get("/").content.decode()
    assert "/" not in left()
