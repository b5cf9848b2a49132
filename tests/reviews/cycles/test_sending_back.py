"""The results of an audit of one owner's items, and the consequences for the rest of them."""

from typing import Any

import pytest

from annotator.models import Dialogue, Event, Job, JobState, User
from annotator.models.content import DialogueStatus
from annotator.services.history.events import broken_links
from annotator.services.jobs import jobs
from reviews.core.protocols import Evidence
from reviews.models import Claim, ClaimState, Cycle, CycleState, Draw, Feedback, FeedbackKind, SentBackStratum, Slot
from reviews.services.adjudication.decisions import read_decision
from reviews.services.cycles import sending_back
from reviews.services.feedback.openings import opening_about
from reviews.services.queue.claims import claim_slot
from reviews.services.sampling.draws import close_population_and_draw
from reviews.services.statistics.counters import recount, stored_counters
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    changed,
    claim_and_submit,
    current,
    make_dialogue,
    make_team,
    open_slot,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=4, seniors=2)
    adopt_c3(team, audit_fraction=0.5, send_back_above=0.3, send_back_audited=2)
    return team


def approved(team: Team, owner: int) -> Dialogue:
    item = make_dialogue(team.project)
    begin(team.project, [item])
    for _ in range(2):
        claim_and_submit(team.annotators[owner], item)
    for person in [one for one in team.annotators if one != team.annotators[owner]][:2]:
        claim_and_submit(person, item, "approve")
    return item


def drawn_of(draw: Draw, owner: User, *, selected: bool) -> list[Dialogue]:
    items = draw.items.filter(selected=selected, stratum=owner.pseudonym)
    return list(Dialogue.objects.filter(pk__in=items.values("dialogue")).order_by("pk"))


def audit(team: Team, item: Dialogue, verdict: str) -> None:
    claim_and_submit(team.senior, item, verdict, document=changed(current(item)) if verdict == "fix" else None)


@pytest.mark.parametrize(
    ("audited", "errors", "goes"),
    [(4, 4, False), (5, 1, False), (5, 2, True), (10, 2, False), (10, 3, True)],
)
def test_a_rate_above_a_fifth_of_at_least_five(audited: int, errors: int, goes: bool) -> None:
    assert Evidence(above=0.2, audited=5).is_reached(audited=audited, errors=errors) is goes


def test_the_rest_of_an_owners_items_goes_back_once(team: Team) -> None:
    mine = [approved(team, 0) for _ in range(6)]
    others = [approved(team, 1) for _ in range(4)]
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    looked_at, rest = (drawn_of(draw, team.annotator, selected=one) for one in (True, False))
    assert (len(looked_at), len(rest)) == (3, 3)
    audit(team, looked_at[0], "fix")
    # One of one is above the rate, but one is not enough to tell.
    assert not SentBackStratum.objects.exists()
    audit(team, looked_at[1], "approve")
    sent = SentBackStratum.objects.get()
    assert (sent.owner, sent.audited, sent.errors, sent.items) == (team.annotator, 2, 1, 3)
    notice = Feedback.objects.get(kind=FeedbackKind.RETURNED)
    assert notice.person == team.annotator
    assert "1 of your 2 dialogues audited in draw 1 had errors (50 %; the limit is 30 %)" in (notice.text)
    assert opening_about(notice, nameless=False) == (
        f"1 of 2 dialogues of {team.annotator} audited in draw 1 had errors (50 %; the limit is 30 %). "
        "Their other 3 dialogues, which weren’t drawn, were sent back to them."
    )
    error = Feedback.objects.filter(kind=FeedbackKind.AUDIT, person=team.annotator).latest("pk")
    about = f"A random sample found an error in a dialogue that {team.annotator} worked on."
    assert opening_about(error, nameless=False) == about
    assert len(read_decision(error).changes) == 1
    event = Event.objects.get(kind="stratum.sent_back")
    assert (event.after["audited"], event.after["errors"], event.after["items"]) == (2, 1, 3)

    job = jobs.run(Job.objects.get(kind=sending_back.JOB).pk)
    assert (job.state, job.result) == (JobState.DONE, {"returned": 3})
    for item in rest:
        item.refresh_from_db()
        assert (item.status, item.stage) == (DialogueStatus.IN_REVIEW, "self_check_single")
        first, second = Cycle.objects.filter(dialogue=item).order_by("number")
        assert (first.state, second.state) == (CycleState.VERIFIED, CycleState.ACTIVE)
        assert second.reason == "Draw 1: 1 of 2 audited dialogues of this owner had errors."
        assert Slot.objects.get(cycle=second).reserved_for == team.annotator
        assert broken_links(item) == []
    assert SentBackStratum.objects.get().returned == 3

    # A further error of the same draw sends nothing back a second time, and nobody else's items have moved.
    audit(team, looked_at[2], "fix")
    assert SentBackStratum.objects.count() == 1
    assert Job.objects.filter(kind=sending_back.JOB).count() == 1
    for item in drawn_of(draw, team.annotators[1], selected=False):
        assert item.status == DialogueStatus.VERIFIED
    assert len(mine) + len(others) == 10
    assert stored_counters(team.project) == recount(team.project)


def test_few_errors_send_nothing_back(team: Team) -> None:
    for _ in range(8):
        approved(team, 0)
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    for item, verdict in zip(
        drawn_of(draw, team.annotator, selected=True), ["approve", "approve", "approve", "fix"], strict=True
    ):
        audit(team, item, verdict)
    assert not SentBackStratum.objects.exists()


def test_what_was_reopened_meanwhile_is_left_alone(team: Team) -> None:
    from reviews.services.cycles.start import supersede_cycle

    for _ in range(4):
        approved(team, 0)
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    first, second = drawn_of(draw, team.annotator, selected=True)
    audit(team, first, "reject")
    audit(team, second, "reject")
    reopened = drawn_of(draw, team.annotator, selected=False)[0]
    supersede_cycle(actor=team.administrator, dialogue=reopened, reason="An erratum.")
    assert jobs.run(Job.objects.get(kind=sending_back.JOB).pk).result == {"returned": 1}
    assert Cycle.objects.filter(dialogue=reopened).count() == 2


def test_what_is_reopened_while_the_job_runs_is_left_to_whoever_took_it(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It was taken from them: the job went by what it had read up to two hundred items before."""
    for _ in range(6):
        approved(team, 0)
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    for item in drawn_of(draw, team.annotator, selected=True)[:2]:
        audit(team, item, "reject")
    reopened = drawn_of(draw, team.annotator, selected=False)[1]
    supersede = sending_back.supersede_cycle

    def meanwhile(**keywords: Any) -> Cycle:
        if not Claim.objects.filter(slot__dialogue=reopened, state=ClaimState.LIVE).exists():
            supersede(actor=team.administrator, dialogue=reopened, reason="An erratum.")
            claim_slot(actor=team.annotator, slot=open_slot(reopened))
        return supersede(**keywords)

    monkeypatch.setattr(sending_back, "supersede_cycle", meanwhile)
    assert jobs.run(Job.objects.get(kind=sending_back.JOB).pk).result == {"returned": 2, "skipped": 1}
    assert Claim.objects.get(slot__dialogue=reopened, state=ClaimState.LIVE).person == team.annotator


def test_a_stage_without_evidence_sends_nothing_back() -> None:
    team = make_team(annotators=4)
    from reviews.core.protocols import load_preset, read_protocol
    from reviews.services.protocols.versions import adopt_protocol

    data = load_preset("c3", audit_fraction=0.5).model_dump(mode="json")
    data["stages"][3]["entry"]["send_back"] = None
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(data))
    for _ in range(2):
        approved(team, 0)
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    for item in drawn_of(draw, team.annotator, selected=True):
        audit(team, item, "reject")
    assert not SentBackStratum.objects.exists()
