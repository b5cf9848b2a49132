"""Tests of the sensitivity of an audit: who enters them, what counts, and what they change."""

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotator.models import Event, Role, User
from reviews.core.agreement.audit import AS_KNOWN, OVERLOOKED
from reviews.models import GoldItem, GoldScore, SensitivityTest
from reviews.services.sampling.draws import close_population_and_draw
from reviews.services.statistics.accuracy import read_accuracy
from reviews.services.statistics.all_counts import fold_all
from reviews.services.statistics.sensitivity import read_sensitivity
from tests.factories import Team, adopt_c3, changed, claim_and_submit, current, give_role, make_item, make_team
from tests.pages import one_line
from tests.reviews.gold.gold_team import answer_with, certain, gold_team, make_gold, take

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=4)
    adopt_c3(team, audit_fraction=0.5)
    return team


def audited(team: Team) -> None:
    items = [make_item(team, "cross_check") for _ in range(4)]
    for item in items:
        for person in team.annotators[1:3]:
            claim_and_submit(person, item, "approve")
    close_population_and_draw(actor=team.administrator, project=team.project)
    wrong, right = filter(_is_drawn, items)
    claim_and_submit(team.senior, wrong, "fix", document=changed(current(wrong)))
    claim_and_submit(team.senior, right, "approve")
    fold_all()


def _is_drawn(item: Any) -> bool:
    item.refresh_from_db()
    return bool(item.stage == "expert")


def address(team: Team) -> str:
    return f"/p/{team.project.slug}/statistics/accuracy/sensitivity/"


def signed_in(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def test_a_test_enters_the_estimate_and_leaves_it_when_it_is_taken_back(team: Team) -> None:
    audited(team)
    admin = signed_in(team.administrator)
    # 1 of 2 audited of 4 was wrong: 2 of 4, of which one was found.
    [audit] = read_accuracy(project=team.project).audits
    assert (audit.residual.residual.value, audit.residual.warnings) == (0.25, [OVERLOOKED])
    before = one_line(admin.get(f"/p/{team.project.slug}/statistics/accuracy/"))
    assert "overlooked are not included" in before
    response = admin.post(
        address(team), {"stage": "expert", "known": "40", "found": "30", "note": "Reviewed again in May."}
    )
    assert response.status_code == 302
    [audit] = read_accuracy(project=team.project).audits
    # 2 / 0.75 are wrong, of which one was found.
    assert audit.residual.residual.value == pytest.approx((2 / 0.75 - 1) / 4)
    assert audit.residual.warnings == [AS_KNOWN]
    page = one_line(admin.get(address(team)))
    assert "Reviewed again in May." in page
    assert "75.0" in page
    [event] = Event.objects.filter(kind="sensitivity_test.entered")
    assert (event.after["known"], event.after["found"]) == (40, 30)
    test = SensitivityTest.objects.get()
    for _ in range(2):
        assert admin.post(address(team), {"withdraw": test.public_id}).status_code == 302
    assert Event.objects.filter(kind="sensitivity_test.withdrawn").count() == 1
    [audit] = read_accuracy(project=team.project).audits
    assert audit.residual.warnings == [OVERLOOKED]


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ({"known": "5", "found": "6"}, "Enter how many of the 5 known errors the reviewers noticed, from 0 to 5."),
        ({"known": "0", "found": "0"}, "Enter a whole number from 1 to 100,000."),
        ({"known": "", "found": ""}, "This field is required"),
        ({"known": "999999999999", "found": "1"}, "Enter a whole number from 1 to 100,000."),
        ({"known": "5", "found": "1", "stage": "cross_check"}, "Select a valid choice"),
    ],
)
def test_impossible_tests_are_refused(team: Team, typed: dict[str, str], words: str) -> None:
    audited(team)
    response = signed_in(team.administrator).post(address(team), {"stage": "expert", **typed})
    assert response.status_code == 422
    assert words in one_line(response)
    assert not SensitivityTest.objects.exists()


def test_annotators_see_nothing_and_senior_reviewers_cannot_enter_tests(team: Team) -> None:
    assert "No audit yet" in one_line(signed_in(team.senior).get(address(team)))
    audited(team)
    assert signed_in(team.annotator).get(address(team)).status_code == 403
    senior = signed_in(team.senior)
    assert "Enter a test" not in one_line(senior.get(address(team)))
    assert senior.post(address(team), {"stage": "expert", "known": "5", "found": "1"}).status_code == 403
    unknown = signed_in(team.administrator).post(address(team), {"withdraw": "nonsense"})
    assert unknown.status_code == 404


@pytest.mark.parametrize(("verdict", "noticed"), [("fix", 1), ("approve", 0)])
def test_retired_gold_items_of_those_who_audit_count(
    monkeypatch: pytest.MonkeyPatch, verdict: str, noticed: int
) -> None:
    team = gold_team()
    item = make_gold(team)
    certain(monkeypatch, team)
    person = team.annotators[4]
    answer_with(
        person, take(person, team), verdict, **({"document": item.answer.document()} if verdict == "fix" else {})
    )

    def measured() -> tuple[int, int]:
        gold = read_sensitivity(team.project, ["expert"])["expert"].gold
        return gold.found, gold.known

    # This person becomes a senior reviewer and audits.
    give_role(team.project, person, Role.SENIOR_REVIEWER)
    adopt_c3(team, audit_fraction=1.0)
    audited_item = make_item(team, "cross_check")
    for other in team.annotators[1:3]:
        claim_and_submit(other, audited_item, "approve")
    close_population_and_draw(actor=team.administrator, project=team.project)
    assert measured() == (0, 0)
    GoldItem.every.filter(pk=item.pk).update(retired_at=timezone.now(), retired_by=team.administrator)
    assert measured() == (0, 0)
    claim_and_submit(person, audited_item, "approve")
    assert measured() == (noticed, 1)
    GoldScore.objects.update(errors=0, found=0)
    assert measured() == (0, 0)
