"""Dialogues that a new guideline outdates: which, how it is shown, and how they go back."""

from typing import Any

import pytest
from django.test import Client

from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, GuidelineChange, Job, Notice, OutdatedDialogue
from annotator.services.dialogues.listing import Filters, list_dialogues
from annotator.services.jobs import jobs
from annotator.services.projects import publish_guideline
from reviews.models import Cycle, Review
from reviews.services.cycles import outdated
from reviews.services.queue.claims import claim_slot
from tests.factories import (
    Team,
    adopt_c3,
    claim_and_submit,
    make_dialogue,
    make_document,
    make_item,
    make_team,
    open_slot,
)
from tests.pages import one_line
from tests.reviews.gold.gold_team import STAGE, gold_team, make_gold, verified

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_c3(team)
    publish_guideline(actor=team.administrator, project=team.project, text="# One", seen=0)
    return team


def publish(team: Team) -> int:
    last = team.project.guidelines.first()
    assert last is not None
    return publish_guideline(actor=team.administrator, project=team.project, text="# Next", seen=last.number).number


def scope(team: Team, number: int = 2, **more: Any) -> outdated.Scope:
    return outdated.read_scope(project=team.project, number=number, **{"policies": [], "error_types": []} | more)


def mark(team: Team, **more: Any) -> GuidelineChange:
    return outdated.mark_outdated(
        actor=team.administrator, project=team.project, scope=scope(team, **more), reason="Dates are ISO 8601 now."
    )


def flagged() -> set[str]:
    return set(OutdatedDialogue.objects.filter(cleared_at=None).values_list("dialogue__external_id", flat=True))


def run_job() -> dict[str, Any]:
    return jobs.run(Job.objects.get(kind=outdated.JOB).pk).result


def test_a_review_keeps_the_guideline_it_was_made_under(team: Team) -> None:
    item = make_item(team, "self_check_single")
    claim_and_submit(team.annotator, item)
    publish(team)
    claim_and_submit(team.annotator, item)
    assert [review.guideline and review.guideline.number for review in Review.objects.order_by("pk")] == [1, 2]
    bare = make_team()
    adopt_c3(bare)
    claim_and_submit(bare.annotator, make_item(bare, "self_check_single"))
    assert Review.objects.latest("pk").guideline is None


def test_it_touches_what_was_reviewed_before_and_nothing_else(team: Team) -> None:
    before = make_item(team, "cross_check", external_id="before")
    make_item(team, "self_check_single", external_id="unseen")
    make_dialogue(team.project, external_id="candidate")
    publish(team)
    make_item(team, "cross_check", external_id="after")
    seen = outdated.preview_change(actor=team.administrator, project=team.project, scope=scope(team))
    assert (seen.total, seen.first, seen.statuses) == (1, [before], [("in_review", 1)])
    mark(team)
    assert flagged() == {"before"}


def test_policies_and_error_types_narrow_it(team: Team) -> None:
    make_item(team, "cross_check", make_document("a"), external_id="one task")
    make_item(team, "cross_check", make_document("b", tasks=2), external_id="with chat")
    faulty = make_item(team, "self_check_single", external_id="faulty")
    claim_and_submit(
        team.annotator, faulty, "escalate",
        named_errors=[{"kind": "wrong_argument_value", "anchor": "/tasks/t1/steps/s0", "note": ""}],
    )  # fmt: skip
    publish(team)

    def touched(**more: Any) -> set[str]:
        rows = outdated.preview_change(actor=team.administrator, project=team.project, scope=scope(team, **more)).first
        return {row.external_id for row in rows}

    assert touched(policies=["chat"]) == {"with chat"}
    assert touched(error_types=["wrong_argument_value"]) == {"faulty"}
    assert touched(policies=["chat"], error_types=["wrong_argument_value"]) == {"with chat", "faulty"}
    with pytest.raises(Invalid, match="no policy"):
        scope(team, policies=["dance"])
    with pytest.raises(Invalid, match="no error type"):
        scope(team, error_types=["dance"])


def test_a_sealed_review_is_not_given_away_by_a_flag(team: Team) -> None:
    item = make_item(team, "cross_check")
    Review.objects.filter(dialogue=item).update(guideline=None)
    publish(team)
    Review.objects.filter(dialogue=item).update(guideline=team.project.guidelines.first())
    claim_and_submit(team.annotators[1], item, "approve")
    Review.objects.filter(sealed=True).update(guideline=None)
    assert not outdated.preview_change(actor=team.administrator, project=team.project, scope=scope(team)).total


def test_the_flag_is_seen_and_found_and_its_owner_told(team: Team, client: Client) -> None:
    item = make_item(team, "cross_check")
    make_item(team, "self_check_single")
    publish(team)
    mark(team)
    page = list_dialogues(actor=team.annotator, project=team.project, filters=Filters(outdated="1"))
    assert page.rows == [item]
    assert [row.person for row in Notice.objects.filter(kind="guideline")] == [team.annotator]
    client.force_login(team.senior)
    shown = one_line(client.get(f"/p/{team.project.slug}/dialogues/{item.public_id}/"))
    assert "Outdated since guideline 2" in shown
    assert "guideline 1</a>" in shown


def test_sent_back_together_but_for_those_somebody_is_at_work_on(team: Team) -> None:
    idle, busy = (make_item(team, "cross_check", external_id=name) for name in ("idle", "busy"))
    claim_slot(actor=team.annotators[1], slot=open_slot(busy))
    publish(team)
    one = mark(team)
    moving = outdated.preview_send_back(actor=team.administrator, project=team.project, change=one)
    assert moving.total == 2
    outdated.start_send_back(actor=team.administrator, project=team.project, change=one)
    assert run_job() == {"sent_back": 1, "busy": 1}
    assert flagged() == {"busy"}
    cycle = Cycle.objects.get(dialogue=idle, state="active")
    assert (cycle.number, cycle.reason) == (2, "Guideline 2: Dates are ISO 8601 now.")
    assert Dialogue.objects.get(pk=busy.pk).cycles.count() == 1
    line = outdated.list_changes(actor=team.administrator, project=team.project)[0]
    assert (line.touched, line.left) == (2, 1)


def test_a_killed_worker_sends_nothing_back_twice(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        make_item(team, "cross_check")
    publish(team)
    one = mark(team)
    outdated.start_send_back(actor=team.administrator, project=team.project, change=one)
    real, calls = outdated.supersede_cycle, []

    def dies(**arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return real(**arguments)

    with monkeypatch.context() as patch:
        patch.setattr(outdated, "supersede_cycle", dies)
        with pytest.raises(KeyboardInterrupt):
            run_job()
    assert Cycle.objects.filter(number=2).count() == 1
    Job.objects.filter(kind=outdated.JOB).update(heartbeat_at="2020-01-01T00:00:00Z")
    assert run_job() == {"sent_back": 3, "busy": 0}
    assert Cycle.objects.filter(state="active").count() == 3
    assert not Cycle.objects.filter(number__gt=2).exists()


def test_a_second_click_marks_sends_back_and_withdraws_once(team: Team) -> None:
    make_item(team, "cross_check")
    publish(team)
    one = mark(team)
    assert mark(team) == one
    for _ in range(2):
        outdated.start_send_back(actor=team.administrator, project=team.project, change=one)
    assert Job.objects.filter(kind=outdated.JOB).count() == 1
    for _ in range(2):
        assert outdated.withdraw_change(actor=team.administrator, project=team.project, change=one) == 1
    told = team.project.events.filter(kind__startswith="guideline.flag")
    assert sorted(told.values_list("kind", flat=True)) == ["guideline.flag_withdrawn", "guideline.flagged"]


def test_withdrawn_or_empty_marks(team: Team) -> None:
    make_item(team, "cross_check")
    publish(team)
    one = mark(team)
    assert outdated.withdraw_change(actor=team.administrator, project=team.project, change=one) == 1
    assert flagged() == set()
    with pytest.raises(Conflict, match="No dialogues are marked"):
        outdated.start_send_back(actor=team.administrator, project=team.project, change=one)
    with pytest.raises(Conflict, match="No dialogues reviewed under an earlier guideline"):
        mark(team, policies=["clarify"])
    with pytest.raises(Invalid, match="Say what has changed"):
        outdated.mark_outdated(actor=team.administrator, project=team.project, scope=scope(team), reason=" ")
    with pytest.raises(Denied):
        outdated.mark_outdated(actor=team.senior, project=team.project, scope=scope(team), reason="x")


def test_the_page_without_scripts(team: Team, client: Client) -> None:
    make_item(team, "cross_check", external_id="before")
    publish(team)
    client.force_login(team.administrator)
    address = f"/p/{team.project.slug}/guideline/outdated/"
    typed = {"preview": "1", "version": "2", "policy": "single_tool", "reason": "Times."}
    shown = one_line(client.get(address, typed))
    assert "1 dialogue matches" in shown
    assert 'value="Times."' in shown
    assert "before" in shown
    posted = {"version": "2", "policy": "single_tool", "reason": "Dates."}
    assert "1</strong> dialogue will start" in one_line(client.post(address, posted, follow=True))
    one = GuidelineChange.objects.get()
    assert client.post(address, {"change": one.public_id, "action": "send_back"}).status_code == 302
    assert Job.objects.filter(kind=outdated.JOB).exists()
    assert client.post(address, posted | {"reason": ""}).status_code == 422


def test_a_gold_item_is_flagged_as_what_waits_beside_it() -> None:
    """Made before the mark or after it; the list of what is flagged had all that waits but the gold items."""
    team = gold_team()
    publish_guideline(actor=team.administrator, project=team.project, text="# One", seen=0)
    waiting = {make_item(team, STAGE, external_id="waits").external_id}
    sources = [verified(team), verified(team)]
    first = make_gold(team, sources[0])
    publish(team)
    made = mark(team)
    second = make_gold(team, sources[1])

    def listed(**more: str) -> set[str]:
        page = list_dialogues(
            actor=team.annotators[4], project=team.project, filters=Filters(status="in_review", **more)
        )
        return {row.external_id for row in page.rows}

    assert listed(outdated="1") == listed() == waiting | {source.external_id for source in sources}
    # Administrators count what there is: the three dialogues.
    administrator = {"actor": team.administrator, "project": team.project}
    [line] = outdated.list_changes(**administrator)
    assert (line.touched, line.left) == (3, 3)
    assert outdated.preview_send_back(change=made, **administrator).total == 3
    assert mark(team) == made
    # Items that go back leave none of them in the stage.
    outdated.start_send_back(change=made, **administrator)
    assert run_job() == {"sent_back": 3, "busy": 0}
    assert not flagged()
    for item in (first, second):
        item.refresh_from_db()
        assert not item.live
