"""Layers: tasks are generated on verified tasks; what follows is stale when they change, and can take that over."""

from collections import Counter
from typing import Any

import pytest
from django.db import transaction

from annotator.core.comparison.continuations import past_changes, with_past
from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Continuation, Dialogue, Event
from annotator.services.dialogues.continuations import follow_reviews, reasons_of
from annotator.services.dialogues.listing import Filters, list_dialogues
from annotator.services.dialogues.revisions import lock_dialogue, revise
from annotator.services.jobs import jobs
from benchmark.core.generation.cells import draw_relations
from benchmark.core.generation.pipeline import back_to, begin, finished_document, replay
from benchmark.core.generation.state import Setup, Unusable
from benchmark.core.generation.turns import waits_for
from benchmark.demo.generation_script import TOOLS, scripted_records
from benchmark.models import Chooser, Generation
from benchmark.services.coverage.counting import read_coverage
from benchmark.services.generation.layers import (
    cell_needed_first,
    may_be_continued,
    offer_pasts,
    set_layers,
    where_continued,
)
from benchmark.services.generation.reading import read_state
from benchmark.services.generation.recordings import start_from_records
from benchmark.services.similarity.settings import lock_searches
from reviews.models import CoAuthor
from reviews.services.cycles.start import supersede_cycle
from reviews.services.cycles.taking_over import take_over
from tests.benchmark.conftest import run_release
from tests.benchmark.generation.conftest import make_setup, play
from tests.benchmark.releases.test_releases import lines, members
from tests.consistency import assert_consistent
from tests.factories import Team, claim_and_submit, current, make_dialogue, make_toolset
from tests.racing import overlap

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]

Document = dict[str, Any]


def start(team: Team, name: str, *policies: str, past: Dialogue | None = None, run: bool = True) -> Generation:
    """Generate a dialogue from scripted answers; ``policies``: of all its tasks."""
    tasks = current(past)["tasks"] if past else []
    setup = Setup(name, policies, draw_relations(policies, 1), TOOLS, past=tasks)
    generation = start_from_records(
        actor=team.administrator, project=team.project, toolset=make_toolset(team.project, TOOLS, "trips"),
        records=list(scripted_records(setup)), setup=setup.to_json(), past=past, chooser=Chooser.FIRST,
        wake_worker=False,
    )  # fmt: skip
    return work(generation) if run else generation


def work(generation: Generation) -> Generation:
    jobs.run(generation.job_id or 0)
    done = Generation.objects.select_related("dialogue__project").get(pk=generation.pk)
    assert done.status == "done", done.reason
    return done


def made(team: Team, name: str, *policies: str, past: Dialogue | None = None) -> Dialogue:
    dialogue = start(team, name, *policies, past=past).dialogue
    assert dialogue is not None
    return dialogue


def verify(team: Team, dialogue: Dialogue, document: Document | None = None) -> Dialogue:
    """Let it pass every stage; ``document``: what its author changes."""
    more: dict[str, Any] = {} if document is None else {"document": document}
    claim_and_submit(team.annotator, dialogue, **more)
    claim_and_submit(team.annotator, dialogue)
    for person in team.annotators[1:3]:
        claim_and_submit(person, dialogue, "approve")
    return fresh(dialogue)


def fresh(dialogue: Dialogue) -> Dialogue:
    found = Dialogue.objects.select_related("project", "head").get(pk=dialogue.pk)
    assert found.head is not None
    return found


def reopen(team: Team, dialogue: Dialogue) -> None:
    supersede_cycle(actor=team.administrator, dialogue=dialogue, reason="A reader found an error.")


def corrected(dialogue: Dialogue, degrees: int) -> Document:
    """Its content with another result of the first call."""
    document = current(dialogue)
    document["tasks"][0]["steps"][0]["observation"]["degrees"] = degrees
    return document


def is_stale(dialogue: Dialogue) -> bool:
    return Continuation.objects.get(dialogue=dialogue).stale


def said(team: Team, dialogue: Dialogue) -> list[tuple[str, str, Any, Any]]:
    """Return why it is stale: the dialogue before it, the place, and the value here and there."""
    row = Continuation.objects.select_related("dialogue").get(dialogue=dialogue)
    return [
        (reason.row.continues.external_id, change.anchor, change.before, change.after)
        for reason in reasons_of(actor=team.annotator, row=row)
        for change in past_changes(*reason.documents, reason.row.tasks)
    ]


@pytest.fixture
def first(team: Team) -> Dialogue:
    return verify(team, made(team, "one", "single_tool"))


# --- the steps of one dialogue ---------------------------------------------------------------------------------------


def test_new_tasks_follow_the_past_which_stays_as_it_is() -> None:
    past = finished_document(play(begin(make_setup("single_tool", "chat"))))["tasks"]
    # An id of another form, and one that a new task would have.
    past[0]["id"], past[1]["id"] = "t3", "start"
    cell = ("single_tool", "chat", "multi_tool")
    setup = Setup("more", cell, draw_relations(cell, 1), TOOLS, past=past)
    turn = waits_for(begin(setup))
    assert turn is not None
    assert (turn.purpose, turn.values["policy"]) == ("follow_up", "multi_tool")
    assert turn.values["turns"][0]["text"] == past[0]["user_message"]
    state = play(begin(setup))
    document = finished_document(state)
    assert document["tasks"][:2] == past
    assert [task["id"] for task in document["tasks"]] == ["t3", "start", "t4"]
    assert {one["place"].split("/")[2] for one in state.provenance} == {"t4"}
    assert replay(setup, state.events) == state
    assert back_to(state, 0).tasks == past
    assert Setup.from_json(setup.to_json(), TOOLS) == setup


@pytest.mark.parametrize("policies", [("chat", "single_tool"), ("single_tool",)])
def test_a_cell_begins_with_the_policies_of_its_past_and_goes_on(policies: tuple[str, ...]) -> None:
    past = finished_document(play(begin(make_setup("single_tool"))))["tasks"]
    with pytest.raises(Unusable, match="A cell begins with the policies of the tasks that it continues"):
        Setup("more", policies, draw_relations(policies, 1), TOOLS, past=past)


def test_taking_over_keeps_the_own_tasks_whatever_their_number() -> None:
    def document(*ids: str, env: str = "") -> Document:
        return {"kind": "multi_turn", "env_info": env, "tasks": [{"id": one} for one in ids]}

    taken, now = document("t1", "t2"), document("t1", "t2b", "t9", env="Monday")
    assert with_past(document("t2", "t1", "own"), now, taken, 2) == document("t1", "t2b", "own", env="Monday")
    assert [change.anchor for change in past_changes(taken, document("t1", "t2", "t3"), 2)] == []


# --- starting --------------------------------------------------------------------------------------------------------


def test_a_verified_dialogue_is_continued_byte_for_byte(team: Team, first: Dialogue) -> None:
    CoAuthor.objects.create(dialogue=first, person=team.senior)
    generation = start(team, "one-m", "single_tool", "multi_tool", past=first)
    dialogue = generation.dialogue
    assert dialogue is not None
    assert first.head is not None
    # The author of a part of the first task.
    assert set(dialogue.co_authors.values_list("person", flat=True)) == {team.senior.pk}
    assert (generation.past, generation.cell) == (first.head, "single_tool,multi_tool")
    assert current(dialogue)["tasks"][:1] == current(first)["tasks"]
    assert (dialogue.status, dialogue.error_count, fresh(first).status) == ("in_review", 0, "verified")
    assert fresh(dialogue).head.toolset_revision_id == first.head.toolset_revision_id  # type: ignore[union-attr]
    row = Continuation.objects.get(dialogue=dialogue)
    assert (row.continues, row.past, row.verified, row.tasks, row.stale) == (first, first.head, first.head, 1, False)
    event = Event.objects.get(dialogue=dialogue, kind="dialogue.generated")
    assert event.after["past"] == {
        "past": "one", "number": first.head.number, "content_hash": first.content_hash, "tasks": 1
    }  # fmt: skip
    # The same answers give the same bytes.
    again = made(team, "again", "single_tool", "multi_tool", past=first)
    assert again.content_hash == dialogue.content_hash
    assert {where_continued(one) for one in (first, fresh(dialogue))} == {
        "one-m continues one, and shows its verified tasks."
    }
    assert_consistent(team.project)


def test_a_variant_of_a_known_answer_is_not_continued(team: Team, first: Dialogue) -> None:
    assert may_be_continued(first)
    answer = make_dialogue(team.project, external_id="answer")
    Dialogue.objects.filter(pk__in=[first.pk, answer.pk]).update(variant_group="v")
    Dialogue.objects.filter(pk=answer.pk).update(gold_role="answer")
    assert not may_be_continued(fresh(first))
    with pytest.raises(Conflict, match="one can’t be continued"):
        start(team, "two", "single_tool", "chat", past=first)


def test_a_project_in_layers_refuses_tasks_on_what_is_not_verified(team: Team, first: Dialogue) -> None:
    with pytest.raises(Denied):
        set_layers(actor=team.senior, project=team.project, layers=True)
    for _twice in range(2):
        set_layers(actor=team.administrator, project=team.project, layers=True)
    assert Event.objects.filter(kind="generation_settings.changed").count() == 1
    for policies, past in ((("chat", "chat"), None), (("single_tool", "chat", "chat"), first)):
        with pytest.raises(Invalid, match="This project builds in layers"):
            start(team, "two", *policies, past=past)
    second = made(team, "two", "single_tool", "chat", past=first)
    with pytest.raises(Conflict, match="two can’t be continued"):
        start(team, "three", "single_tool", "chat", "chat", past=second)
    cell = ["single_tool", "chat", "chat"]
    assert offer_pasts(project=team.project, policies=cell) == []
    assert cell_needed_first(project=team.project, policies=cell) == ["single_tool", "chat"]
    assert cell_needed_first(project=team.project, policies=["chat", "chat"]) == ["chat"]
    assert [one.continued for one in offer_pasts(project=team.project, policies=cell[:2])] == [True]
    assert [one.continued for one in offer_pasts(project=team.project, policies=["single_tool", "clarify"])] == [False]


@pytest.mark.postgres
def test_a_past_that_is_reopened_meanwhile_is_not_continued(team: Team, first: Dialogue) -> None:
    _done, late = overlap(lambda: reopen(team, first), lambda: start(team, "two", "single_tool", "chat", past=first))
    assert isinstance(late, Conflict)
    assert not Generation.objects.filter(name="two").exists()


@pytest.mark.postgres
def test_a_past_that_is_verified_again_while_the_candidate_is_stored_makes_it_stale(
    team: Team, first: Dialogue
) -> None:
    generation = start(team, "two", "single_tool", "chat", past=first, run=False)
    reopen(team, first)
    claim_and_submit(team.annotator, first, document=corrected(first, 35))
    claim_and_submit(team.annotator, first)
    claim_and_submit(team.annotators[1], first, "approve")
    _done, late = overlap(
        lambda: claim_and_submit(team.annotators[2], first, "approve"), lambda: work(generation).dialogue
    )
    assert isinstance(late, Dialogue)
    assert is_stale(late)


@pytest.mark.postgres
def test_an_edit_while_the_past_is_verified_again_stores_the_right_mark(team: Team, first: Dialogue) -> None:
    second = made(team, "two", "single_tool", "chat", past=first)
    original = current(first)
    edited = current(second)
    edited["tasks"][1]["user_message"] += " Thank you."

    def store(dialogue: Dialogue, document: Document) -> int:
        held = fresh(dialogue)
        assert held.head is not None
        return revise(actor=team.annotator, dialogue=held, seen=held.head, document=document, message="Edit.").pk

    @transaction.atomic
    def verify_now(document: Document) -> None:
        lock_dialogue(first.pk)
        follow_reviews({first.pk: store(first, document)})

    @transaction.atomic
    def edit() -> None:
        lock_dialogue(second.pk)
        store(second, edited)

    verify_now(corrected(first, 35))
    assert is_stale(second)
    _done, late = overlap(lambda: verify_now(original), edit)
    assert late is None
    assert not is_stale(second)


@pytest.mark.postgres
def test_a_candidate_is_stored_while_a_search_for_near_duplicates_writes(team: Team, first: Dialogue) -> None:
    generation = start(team, "two", "single_tool", "chat", past=first, run=False)

    def report() -> None:
        list(Dialogue.objects.select_for_update(of=("self",)).filter(pk=first.pk))

    _done, late = overlap(lambda: lock_searches(team.project), lambda: work(generation).dialogue, report)
    assert isinstance(late, Dialogue), late


def test_a_candidate_on_a_past_that_has_changed_is_stored_and_stale(team: Team, first: Dialogue) -> None:
    generation = start(team, "two", "single_tool", "chat", past=first, run=False)
    reopen(team, first)
    verify(team, first, corrected(first, 35))
    dialogue = work(generation).dialogue
    assert dialogue is not None
    assert is_stale(dialogue)
    assert read_state(generation).setup.past == current(dialogue)["tasks"][:1]


def test_tools_begin_with_the_state_of_what_is_continued(team: Team, first: Dialogue) -> None:
    generation = Generation.objects.get(dialogue=first)
    generation.setup["initial_state"] = {"booked": 1}
    generation.save(update_fields=["setup"])
    later = start(team, "two", "single_tool", "chat", past=first, run=False)
    assert read_state(later).setup.initial_state == {"booked": 1}


# --- stale -----------------------------------------------------------------------------------------------------------


def test_a_correction_makes_everything_after_it_stale_until_it_is_taken_over(team: Team, first: Dialogue) -> None:
    second = verify(team, made(team, "two", "single_tool", "chat", past=first))
    third = verify(team, made(team, "three", "single_tool", "chat", "chat", past=second))
    was = current(first)["tasks"][0]["steps"][0]["observation"]["degrees"]
    reopen(team, first)
    claim_and_submit(team.annotator, first, document=corrected(first, 35))
    assert not is_stale(second), "a past in review shows nothing of its drafts"
    claim_and_submit(team.annotator, first)
    for person in team.annotators[1:3]:
        claim_and_submit(person, first, "approve")
    place = "/tasks/t1/steps/s1/observation/degrees"
    assert said(team, second) == said(team, third) == [("one", place, was, 35)]
    listed = list_dialogues(actor=team.senior, project=team.project, filters=Filters(stale="1"))
    assert {one.external_id for one in listed.rows} == {"two", "three"}
    assert not list_dialogues(actor=team.annotator, project=team.project, filters=Filters(stale="1")).rows

    second, third = fresh(second), fresh(third)
    own = [current(one)["tasks"][1:] for one in (second, third)]
    assert second.head is not None
    assert third.head is not None
    with pytest.raises(Denied):
        take_over(actor=team.senior, dialogue=second, seen=second.head.public_id)
    with pytest.raises(Conflict, match="two is stale itself"):
        take_over(actor=team.administrator, dialogue=third, seen=third.head.public_id)
    with pytest.raises(Conflict, match="has changed since you looked"):
        take_over(actor=team.administrator, dialogue=second, seen="other")
    take_over(actor=team.administrator, dialogue=second, seen=second.head.public_id)
    second = fresh(second)
    assert current(second)["tasks"] == [*current(first)["tasks"], *own[0]]
    assert (second.status, is_stale(second), is_stale(third)) == ("in_review", False, True)
    with pytest.raises(Conflict, match="two is not verified now"):
        take_over(actor=team.administrator, dialogue=third, seen=third.head.public_id)
    second = verify(team, second)
    assert said(team, third) == [("two", place, was, 35)]
    take_over(actor=team.administrator, dialogue=third, seen=third.head.public_id)
    assert current(third)["tasks"] == [*current(second)["tasks"], *own[1][1:]]
    assert not is_stale(third)


def test_a_change_of_the_copy_a_rejection_and_other_tools_are_named_too(team: Team, first: Dialogue) -> None:
    second = made(team, "two", "single_tool", "chat", past=first)
    was = current(first)["tasks"][0]["steps"][0]["observation"]["degrees"]
    claim_and_submit(team.annotator, second, document=corrected(second, 36))
    assert said(team, second) == [("one", "/tasks/t1/steps/s1/observation/degrees", 36, was)]
    claim_and_submit(team.annotator, second, document=corrected(second, was))
    assert not is_stale(second)

    reopen(team, first)
    claim_and_submit(team.annotator, first)
    claim_and_submit(team.annotator, first)
    for person in team.annotators[1:3]:
        claim_and_submit(person, first, "reject")
    assert fresh(first).status == "rejected"
    [reason] = reasons_of(actor=team.annotator, row=Continuation.objects.get(dialogue=second))
    assert reason.rejected
    reopen(team, first)
    first = verify(team, first)
    assert not is_stale(second)

    head = fresh(second).head
    assert head is not None
    others = make_toolset(team.project, TOOLS[:2], "fewer")
    with transaction.atomic():
        revise(
        actor=team.administrator, dialogue=fresh(second), seen=head, document=head.document(), message="",
        toolset_revision=others,
    )  # fmt: skip
    [reason] = reasons_of(actor=team.annotator, row=Continuation.objects.get(dialogue=second))
    assert reason.other_tools


# --- releases --------------------------------------------------------------------------------------------------------


def test_a_release_has_each_entry_once_and_nothing_stale(team: Team, first: Dialogue) -> None:
    second = verify(team, made(team, "two", "single_tool", "chat", past=first))
    third = verify(team, made(team, "three", "single_tool", "chat", "chat", past=second))
    release = run_release(team, require_all=True)
    assert released(release) == {"three"}
    assert left_out(release) == {
        "one": "All its tasks are in two, which continues it.",
        "two": "All its tasks are in three, which continues it.",
    }
    reopen(team, third)
    assert released(run_release(team, "1.1")) == {"two"}
    reopen(team, first)
    verify(team, first, corrected(first, 35))
    release = run_release(team, "1.2")
    assert released(release) == {"one"}
    why = left_out(release)["two"]
    assert why.startswith("It continues one, whose verified revision 2 differs: task 1, call s1 get_forecast")


def test_the_coverage_counts_shared_tasks_once(team: Team, first: Dialogue) -> None:
    second = made(team, "two", "single_tool", "chat", past=first)
    made(team, "other", "single_tool", "clarify", past=first)
    assert read_coverage(project=team.project).reached == {"single_tool": 1}
    second = verify(team, second)
    third = made(team, "three", "single_tool", "chat", "chat", past=second)

    def counted(dimension: str = "cell") -> tuple[Counter[str], Counter[str]]:
        found = read_coverage(project=team.project, dimension=dimension)
        return found.reached, found.at("in_review")

    entries = {"single_tool": 1, "single_tool,chat": 1}
    assert counted() == (entries, {"single_tool,clarify": 1, "single_tool,chat,chat": 1})
    assert [found.total() for found in counted("information")] == [2, 2]
    assert [found.total() for found in counted("switches")] == [2, 2]
    run_release(team)
    reopen(team, second)
    assert counted()[0] == entries, "what was released and is in review again still counts once"
    verify(team, second)
    reopen(team, first)
    verify(team, first, corrected(first, 35))
    assert is_stale(third)
    assert counted()[0] == {"single_tool": 2, "single_tool,chat": 1}, "the tasks of a stale dialogue are others"


def released(release: Any) -> set[str]:
    return {line["id"] for line in lines(members(release)["items.jsonl"])}


def left_out(release: Any) -> dict[str, str]:
    return dict(release.left_out.values_list("dialogue__external_id", "reason"))
