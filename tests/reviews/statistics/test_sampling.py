"""The audit: a population closed before the seed, a sample anybody can draw again, errors that come back."""

from unittest.mock import patch

import pytest

from annotator.errors import Conflict, Denied
from annotator.models import Dialogue, Event, Job, JobState, Project
from annotator.models.content import DialogueStatus
from annotator.services.history.events import broken_links
from annotator.services.jobs import jobs
from reviews.core.protocols import load_preset, read_protocol
from reviews.models import Cycle, Draw, DrawItem, Feedback, FeedbackKind, Slot, StageRun, StageRunState
from reviews.services.protocols.versions import adopt_protocol
from reviews.services.sampling import draws
from reviews.services.sampling.draws import close_population_and_draw, draw_where_upstream_is_done, recompute_draw
from reviews.services.statistics.counters import recount, stored_counters
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    changed,
    claim_and_submit,
    current,
    make_dialogue,
    make_item,
    make_team,
)

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


def approved(team: Team, owner: int = 0) -> Dialogue:
    """An item that has passed its cross-check and waits in the pool."""
    item = make_dialogue(team.project)
    begin(team.project, [item])
    for _ in range(2):
        claim_and_submit(team.annotators[owner], item)
    for person in [one for one in team.annotators if one != team.annotators[owner]][:2]:
        claim_and_submit(person, item, "approve")
    item.refresh_from_db()
    return item


def draw(team: Team) -> Draw:
    drawn = close_population_and_draw(actor=team.administrator, project=team.project)
    assert drawn is not None
    return drawn


def test_a_tenth_is_drawn_and_the_rest_is_verified(team: Team) -> None:
    items = [approved(team) for _ in range(3)] + [approved(team, owner=1)]
    drawn = draw(team)
    assert (drawn.population_size, drawn.fraction, drawn.algorithm) == (4, 0.1, 1)
    # ceil(0.4) = 1, and one more because everybody's work is looked at.
    assert drawn.strata == {team.annotators[0].pseudonym: [3, 1], team.annotators[1].pseudonym: [1, 1]}
    assert drawn.sample_size == 2
    assert drawn.carried_out_at is not None
    selected = set(drawn.items.filter(selected=True).values_list("dialogue", flat=True))
    for item in items:
        item.refresh_from_db()
        run = StageRun.objects.get(cycle__dialogue=item, stage="expert")
        if item.pk in selected:
            assert (item.status, item.stage) == (DialogueStatus.IN_REVIEW, "expert")
            assert (run.state, run.entered_as) == (StageRunState.OPEN, "sampled")
            assert Slot.objects.filter(dialogue=item, stage="expert", state="open").count() == 1
        else:
            assert (item.status, item.stage) == (DialogueStatus.VERIFIED, "")
            assert (run.state, run.outcome, run.exit_revision) == (StageRunState.SETTLED, "not_drawn", item.head)
            assert Cycle.objects.get(dialogue=item).exit_revision == item.head
        assert broken_links(item) == []
    assert stored_counters(team.project) == recount(team.project)


def test_anybody_can_draw_again(team: Team) -> None:
    for owner in (0, 0, 1, 1, 2):
        approved(team, owner)
    drawn = draw(team)
    assert recompute_draw(drawn) == []
    other = drawn.items.filter(selected=False)[0]
    DrawItem.objects.filter(pk=other.pk).update(selected=True)
    assert recompute_draw(drawn) == [
        "With this seed, the draw selects 0 items that aren’t in the recorded sample, and leaves out 1 of those "
        "that are."
    ]
    DrawItem.objects.filter(pk=other.pk).update(selected=False, stratum="p-nobody")
    assert any("population doesn’t match the hash" in problem for problem in recompute_draw(drawn))


def test_the_seed_is_drawn_after_the_population_is_closed(team: Team) -> None:
    approved(team)
    order: list[str] = []
    closing, rolling = draws.population_hash, draws.secrets.token_hex

    def close(population: object) -> str:
        order.append("closed")
        return closing(population)  # type: ignore[arg-type]

    def roll(size: int) -> str:
        order.append("seed")
        return rolling(size)

    with patch.object(draws, "population_hash", close), patch.object(draws.secrets, "token_hex", roll):
        draw(team)
    assert order == ["closed", "seed"]


def test_what_settles_later_waits_for_the_next_draw(team: Team) -> None:
    approved(team)
    first = draw(team)
    later = approved(team)
    second = draw(team)
    assert (first.number, second.number) == (1, 2)
    assert list(second.items.values_list("dialogue", flat=True)) == [later.pk]
    assert first.seed != second.seed


def test_nothing_waits(team: Team) -> None:
    assert close_population_and_draw(actor=team.administrator, project=team.project) is None
    assert not Draw.objects.exists()


@pytest.mark.parametrize("who", ["annotator", "senior"])
def test_administrators_draw(team: Team, who: str) -> None:
    with pytest.raises(Denied):
        close_population_and_draw(actor=getattr(team, who), project=team.project)


def test_the_draw_is_on_record(team: Team) -> None:
    item = approved(team)
    drawn = draw(team)
    event = Event.objects.get(kind="draw.closed")
    assert event.after["population_hash"] == drawn.population_hash
    assert event.after["seed"] == drawn.seed
    assert Event.objects.filter(dialogue=item).order_by("-number")[0].kind == "draw.selected"


# --- what the sample shows ----------------------------------------------------------------------------------


def test_a_sampled_item_without_an_error_is_verified(team: Team) -> None:
    item = approved(team)
    draw(team)
    claim_and_submit(team.senior, item, "approve")
    item.refresh_from_db()
    assert item.status == DialogueStatus.VERIFIED
    assert not Feedback.objects.exists()
    assert stored_counters(team.project)["sampled:expert"] == 1
    assert "sampled_errors:expert" not in stored_counters(team.project)


@pytest.mark.parametrize("verdict", ["fix", "reject"])
def test_an_error_in_the_sample_goes_back_to_whoever_let_it_pass(team: Team, verdict: str) -> None:
    item = approved(team)
    draw(team)
    document = changed(current(item)) if verdict == "fix" else None
    claim_and_submit(
        team.senior, item, verdict, document=document, reason="The answer claims what no tool said.",
        named_errors=[{"kind": "answer_wrong", "anchor": "/tasks/t1/steps/s1/text", "note": "Not observed."}],
    )  # fmt: skip
    notices = Feedback.objects.order_by("person")
    assert [notice.person for notice in notices] == team.annotators[:3]
    assert {notice.kind for notice in notices} == {FeedbackKind.AUDIT}
    assert "no tool said" in notices[0].text
    assert "Wrong or unsupported answer at task 1, answer s1, text: Not observed." in notices[0].text
    assert Event.objects.filter(dialogue=item, kind="audit.error").exists()
    counts = stored_counters(team.project)
    assert (counts["sampled:expert"], counts["sampled_errors:expert"]) == (1, 1)
    assert counts == recount(team.project)


def test_escalated_items_do_not_count_as_sampled(team: Team) -> None:
    item = make_item(team, "expert")
    claim_and_submit(team.senior, item, "reject")
    assert "sampled:expert" not in stored_counters(team.project)
    assert stored_counters(team.project) == recount(team.project)


# --- by itself ----------------------------------------------------------------------------------


def test_the_program_draws_once_nothing_is_left_upstream(team: Team) -> None:
    item = approved(team)
    other = make_item(team, "cross_check")
    assert draw_where_upstream_is_done() == 0
    for person in team.annotators[1:3]:
        claim_and_submit(person, other, "approve")
    assert draw_where_upstream_is_done() == 1
    drawn = Draw.objects.get()
    assert (drawn.actor, drawn.population_size) == (None, 2)
    assert item.pk in set(drawn.items.values_list("dialogue", flat=True))
    assert draw_where_upstream_is_done() == 0


def test_the_refusal_of_one_project_stops_no_other(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    approved(team)
    other = make_team("other", **TEAM)
    adopt_c3(other)
    approved(other)

    def refuses(*, project: Project, actor: None, stage: str) -> Draw | None:
        if project == team.project:
            raise Conflict("Not now.")
        return close_population_and_draw(actor=actor, project=project, stage=stage)

    monkeypatch.setattr(draws, "close_population_and_draw", refuses)
    assert draw_where_upstream_is_done() == 1
    assert Draw.objects.get().project == other.project


def test_escalations_do_not_hold_the_draw_up(team: Team) -> None:
    approved(team)
    make_item(team, "expert")
    assert draw_where_upstream_is_done() == 1


# --- large draws and later stages ----------------------------------------------------------------------------------


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draws, "AT_ONCE", 2)
    monkeypatch.setattr(draws, "CHUNK", 2)


@pytest.mark.usefixtures("small_chunks")
def test_a_large_draw_is_carried_out_by_a_job(team: Team) -> None:
    items = [approved(team) for _ in range(5)]
    drawn = draw(team)
    assert drawn.carried_out_at is None
    assert StageRun.objects.filter(state=StageRunState.DRAWN).count() == 5
    assert stored_counters(team.project)["status:pooled"] == 5
    job = jobs.run(Job.objects.get(kind=draws.JOB).pk)
    assert (job.state, job.progress_done, job.progress_total) == (JobState.DONE, 5, 5)
    assert job.result == {"population": 5, "sample": 1}
    drawn.refresh_from_db()
    assert drawn.carried_out_at is not None
    statuses = sorted(Dialogue.objects.filter(pk__in=[item.pk for item in items]).values_list("status", flat=True))
    assert statuses == ["in_review", *["verified"] * 4]
    assert stored_counters(team.project) == recount(team.project)
    assert all(broken_links(item) == [] for item in items)


@pytest.mark.usefixtures("small_chunks")
def test_a_draw_whose_worker_died_is_carried_out_to_the_end(team: Team) -> None:
    for _ in range(5):
        approved(team)
    draw(team)
    job = Job.objects.get(kind=draws.JOB)
    running = jobs.acquire(job.pk)
    assert running is not None
    draw_row = Draw.objects.get()
    with running.chunk():
        draws._carry_out(draw_row, list(draw_row.items.order_by("dialogue_id")[:2]))
    # The worker is gone; another one takes the job up from what was committed.
    Job.objects.filter(pk=job.pk).update(state=JobState.QUEUED)
    assert jobs.run(job.pk).state == JobState.DONE
    assert not StageRun.objects.filter(state=StageRunState.DRAWN).exists()
    assert stored_counters(team.project) == recount(team.project)
    assert Slot.objects.filter(stage="expert").count() == 1


def test_what_is_not_drawn_for_a_middle_stage_goes_on(team: Team) -> None:
    data = load_preset("c3").model_dump(mode="json")
    data["stages"][2]["entry"] = {"mode": "fraction", "fraction": 0.5}
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(data))
    items = []
    for _ in range(2):
        item = make_dialogue(team.project)
        begin(team.project, [item])
        for _ in range(2):
            claim_and_submit(team.annotator, item)
        items.append(item)
    assert close_population_and_draw(actor=team.administrator, project=team.project, stage="expert") is None
    drawn = draw(team)
    assert (drawn.stage, drawn.sample_size) == ("cross_check", 1)
    for item in items:
        item.refresh_from_db()
    assert sorted((item.status, item.stage) for item in items) == [("in_review", "cross_check"), ("pooled", "expert")]
    assert stored_counters(team.project) == recount(team.project)
