"""Drafts: what two windows, undo, redo and merging do to one another. Nothing is ever overwritten silently."""

from copy import deepcopy

import pytest

from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Draft, StepState
from annotator.models.content import GoldRole
from annotator.services.dialogues import drafts
from annotator.services.dialogues.revisions import lock_dialogue, revise
from annotator.services.members import end_role
from tests.factories import changed, make_dialogue, make_document, make_team
from tests.racing import overlap, race

pytestmark = pytest.mark.django_db

MESSAGE = "/tasks/t1/user_message"
ANSWER = "/tasks/t1/steps/s1/text"
CITY = "/tasks/t1/steps/s0/arguments/city"


@pytest.fixture
def dialogue(team):
    return make_dialogue(team.project, make_document())


@pytest.fixture
def draft(team, dialogue):
    return drafts.open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="main")


def put(draft, anchor, value, seen=None, edit_id=""):
    return drafts.edit_draft(
        actor=draft.author,
        draft=draft,
        operation={"op": "set", "anchor": anchor, "value": value},
        seen=draft.version if seen is None else seen,
        edit_id=edit_id,
    ).draft


def answer(draft):
    return fresh(draft).document()["tasks"][0]["steps"][1]["text"]


def message(draft):
    return fresh(draft).document()["tasks"][0]["user_message"]


def fresh(draft):
    return Draft.objects.get(pk=draft.pk)


# --- opening ----------------------------------------------------------------------------------------------------------


def test_a_draft_begins_from_its_base_and_is_found_again(team, dialogue, draft):
    again = drafts.open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="main")
    assert again.pk == draft.pk
    assert (draft.version, draft.content) == (0, dialogue.head.content)


def test_each_branch_and_each_person_has_a_draft_of_their_own(team, dialogue, draft):
    other = drafts.open_draft(actor=team.annotators[1], dialogue=dialogue, base=dialogue.head, branch="main")
    blind = drafts.open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="slot-x")
    assert len({draft.pk, other.pk, blind.pk}) == 3


def test_nobody_loads_a_colleagues_draft_or_a_closed_one(team, draft):
    for person in (team.annotators[1], team.administrator, team.outsider):
        with pytest.raises(Hidden):
            drafts.load_draft(actor=person, public_id=draft.public_id)
    Draft.objects.filter(pk=draft.pk).update(closed_at=draft.created_at)
    with pytest.raises(Hidden, match="submitted it in another window"):
        drafts.load_draft(actor=team.annotator, public_id=draft.public_id)


def test_a_known_answer_is_loaded_by_overseers_only_and_a_token_reaches_its_projects_only(team, dialogue, draft):
    senior = team.seniors[0]
    theirs = drafts.open_draft(actor=senior, dialogue=dialogue, base=dialogue.head, branch="main")
    assert drafts.load_draft(actor=team.annotator, public_id=draft.public_id) == draft
    Dialogue.objects.filter(pk=dialogue.pk).update(gold_role=GoldRole.ANSWER)
    with pytest.raises(Hidden):
        drafts.load_draft(actor=team.annotator, public_id=draft.public_id)
    assert drafts.load_draft(actor=senior, public_id=theirs.public_id) == theirs
    senior.token_projects = frozenset()
    with pytest.raises(Hidden):
        drafts.load_draft(actor=senior, public_id=theirs.public_id)


def test_who_has_left_the_project_edits_nothing_any_more(team, draft):
    end_role(actor=team.administrator, project=team.project, user=team.annotator, role="annotator")
    with pytest.raises(Hidden):
        put(draft, ANSWER, "Still here.")
    with pytest.raises(Hidden):
        drafts.undo(actor=team.annotator, draft=draft)


# --- editing ----------------------------------------------------------------------------------------------------------


def test_an_edit_is_a_version_and_the_same_value_is_none(draft):
    draft = put(draft, ANSWER, "Sunny.")
    assert (draft.version, answer(draft)) == (1, "Sunny.")
    assert put(draft, ANSWER, "Sunny.").version == 1


def test_an_edit_that_arrives_twice_is_made_once(draft):
    step = {"op": "add_step", "anchor": "/tasks/t1", "type": "call", "name": "get_weather"}
    for _ in range(2):
        drafts.edit_draft(actor=draft.author, draft=draft, operation=step, seen=0, edit_id="e1")
    assert fresh(draft).version == 1
    assert len(fresh(draft).document()["tasks"][0]["steps"]) == 3


def test_an_edit_that_was_undone_is_not_made_by_its_late_twin(draft):
    put(draft, ANSWER, "Sunny.", edit_id="e1")
    drafts.undo(actor=draft.author, draft=draft)
    put(draft, ANSWER, "Sunny.", seen=0, edit_id="e1")
    assert answer(draft) == make_document()["tasks"][0]["steps"][1]["text"]


def test_the_editors_refusal_changes_nothing(draft):
    with pytest.raises(Invalid):
        put(draft, "/tasks/t9/user_message", "x")
    with pytest.raises(Invalid):
        drafts.edit_draft(actor=draft.author, draft=draft, operation={"op": "explode"}, seen=0)
    assert fresh(draft).version == 0


@pytest.mark.parametrize("bad", ["a\x00b", "\ud800"])
def test_what_cannot_be_stored_is_refused_with_a_sentence(draft, bad):
    with pytest.raises(Invalid):
        put(draft, ANSWER, bad)
    with pytest.raises(Invalid):
        drafts.edit_draft(
            actor=draft.author,
            draft=draft,
            operation={"op": "set", "anchor": ANSWER, "value": "fine", "note": bad},
            seen=0,
        )
    assert fresh(draft).version == 0


def test_odd_edit_ids_and_versions_are_harmless(draft):
    assert put(draft, ANSWER, "Sunny.", edit_id="\x00" * 50 + "x" * 100).version == 1
    for seen in (-1, 10**30, 99):
        with pytest.raises(Conflict):
            put(draft, ANSWER, "Other.", seen=seen)


# --- two windows ------------------------------------------------------------------------------------------------------


def test_two_windows_at_the_same_place_conflict(draft):
    put(draft, ANSWER, "First window.", seen=0)
    with pytest.raises(Conflict) as refused:
        put(draft, ANSWER, "Second window.", seen=0)
    assert refused.value.details == {"version": 1}
    assert answer(draft) == "First window."


def test_two_windows_at_different_places_both_stay(draft):
    put(draft, ANSWER, "First window.", seen=0)
    put(draft, MESSAGE, "Second window?", seen=0)
    assert (answer(draft), message(draft)) == ("First window.", "Second window?")


def test_an_undo_whose_answer_was_lost_is_not_done_twice(draft):
    put(draft, MESSAGE, "One")
    put(fresh(draft), MESSAGE, "Two")
    for _ in range(2):
        drafts.undo(actor=draft.author, draft=draft, edit_id="u1")
    assert message(draft) == "One"
    for _ in range(2):
        drafts.redo(actor=draft.author, draft=draft, edit_id="r1")
    assert message(draft) == "Two"


def test_a_window_that_has_not_seen_an_undo_conflicts_where_it_was_undone(draft):
    put(draft, ANSWER, "One.", seen=0)
    put(draft, ANSWER, "Two.", seen=1)
    drafts.undo(actor=draft.author, draft=draft)
    with pytest.raises(Conflict):
        put(draft, ANSWER, "From a window that still shows Two.", seen=2)
    assert answer(draft) == "One."


def test_an_undo_elsewhere_does_not_disturb_another_place(draft):
    put(draft, ANSWER, "One.", seen=0)
    drafts.undo(actor=draft.author, draft=draft)
    put(draft, MESSAGE, "Another window?", seen=1)
    assert message(draft) == "Another window?"


def test_an_undo_hidden_by_a_later_edit_still_conflicts(draft):
    """Window 1 shows Two (version 2). Window 2 undoes it (3) and edits elsewhere (4): Two is not there any more."""
    put(draft, ANSWER, "One.", seen=0)
    put(draft, ANSWER, "Two.", seen=1)
    drafts.undo(actor=draft.author, draft=draft)
    put(draft, MESSAGE, "Window 2?", seen=3)
    with pytest.raises(Conflict):
        put(draft, ANSWER, "Two, a little better.", seen=2)
    assert answer(draft) == "One."


def test_a_value_that_came_back_is_as_it_was_seen(draft):
    was = answer(draft)
    put(draft, ANSWER, "One.", seen=0)
    drafts.undo(actor=draft.author, draft=draft)
    put(draft, MESSAGE, "Between?", seen=2)
    put(draft, ANSWER, "Window 1, which never saw One.", seen=0)
    assert was != answer(draft) == "Window 1, which never saw One."


def test_an_edit_gone_with_its_undo_does_not_hide_a_later_one(draft):
    """seen: 0. Then B set (1), undone (2), B set again to the same (3): what version 0 showed has changed."""
    put(draft, ANSWER, "B.", seen=0)
    drafts.undo(actor=draft.author, draft=draft)
    put(draft, ANSWER, "B.", seen=2)
    with pytest.raises(Conflict):
        put(draft, ANSWER, "C.", seen=0)


def test_a_window_older_than_the_kept_steps_conflicts(draft, monkeypatch):
    monkeypatch.setattr(drafts, "MAX_STEPS", 2)
    for n in range(4):
        put(draft, ANSWER, f"Version {n + 1}.", seen=n)
    with pytest.raises(Conflict):
        put(draft, MESSAGE, "Too old?", seen=1)
    put(draft, MESSAGE, "Young enough?", seen=2)
    assert message(draft) == "Young enough?"
    assert draft.steps.count() == 2


def test_edits_do_not_make_a_document_grow_without_end(draft, monkeypatch):
    monkeypatch.setattr(drafts, "MAX_CONTENT", len(draft.content) + 1000)
    put(draft, ANSWER, "x" * 900)
    with pytest.raises(Invalid, match="Shorten another part"):
        put(fresh(draft), MESSAGE, "y" * 900)
    monkeypatch.setattr(drafts, "MAX_CONTENT", 10)
    put(fresh(draft), ANSWER, "One that came with more can be shortened.")


def test_of_long_documents_fewer_steps_are_kept(draft, monkeypatch):
    monkeypatch.setattr(drafts, "MAX_STEP_CHARACTERS", 12 * 2 * (len(draft.content) + 2000))
    for n in range(14):
        put(fresh(draft), ANSWER, f"{n:04}" * 500)
    assert draft.steps.count() == 12
    monkeypatch.setattr(drafts, "MAX_STEP_CHARACTERS", 0)
    put(fresh(draft), ANSWER, "The last.")
    assert draft.steps.count() == 10


# --- undo and redo ----------------------------------------------------------------------------------------------------


def test_undo_and_redo_walk_through_every_edit(draft):
    was = answer(draft)
    for n, text in enumerate(("One.", "Two.", "Three.")):
        put(draft, ANSWER, text, seen=n)
    seen = []
    for step in (
        drafts.undo,
        drafts.undo,
        drafts.undo,
        drafts.redo,
        drafts.undo,
        drafts.redo,
        drafts.redo,
        drafts.redo,
    ):
        edited = step(actor=draft.author, draft=draft)
        assert edited.anchor == ANSWER
        seen.append(answer(draft))
    assert seen == ["Two.", "One.", was, "One.", was, "One.", "Two.", "Three."]
    assert fresh(draft).version == 11


def test_undo_and_redo_say_when_there_is_nothing(draft):
    assert drafts.undo_and_redo(draft) == (False, False)
    with pytest.raises(Conflict, match="nothing to undo"):
        drafts.undo(actor=draft.author, draft=draft)
    put(draft, ANSWER, "One.", seen=0)
    assert drafts.undo_and_redo(draft) == (True, False)
    drafts.undo(actor=draft.author, draft=draft)
    assert drafts.undo_and_redo(draft) == (False, True)
    drafts.redo(actor=draft.author, draft=draft)
    with pytest.raises(Conflict, match="nothing to redo"):
        drafts.redo(actor=draft.author, draft=draft)


def test_a_new_edit_ends_what_could_be_done_again(draft):
    put(draft, ANSWER, "One.", seen=0)
    drafts.undo(actor=draft.author, draft=draft)
    put(draft, ANSWER, "Other.", seen=2)
    with pytest.raises(Conflict):
        drafts.redo(actor=draft.author, draft=draft)
    assert [step.state for step in draft.steps.all()] == [StepState.GONE, StepState.MOVE, StepState.DONE]
    drafts.undo(actor=draft.author, draft=draft)
    assert answer(draft) == make_document()["tasks"][0]["steps"][1]["text"]


def test_reset_goes_back_to_the_base_and_can_be_undone(draft):
    put(draft, ANSWER, "One.", seen=0)
    assert drafts.reset_draft(actor=draft.author, draft=draft).content == draft.base.content
    drafts.undo(actor=draft.author, draft=draft)
    assert answer(draft) == "One."


def test_a_reset_of_an_untouched_draft_is_no_step(draft):
    assert drafts.reset_draft(actor=draft.author, draft=draft).version == 0
    assert drafts.undo_and_redo(draft) == (False, False)


# --- merging ----------------------------------------------------------------------------------------------------------


def newer(team, dialogue, document):
    return revise(
        actor=team.annotators[1],
        dialogue=lock_dialogue(dialogue.pk),
        seen=dialogue.head,
        document=document,
        message="meanwhile",
    )


def test_a_merge_keeps_both_sides_changes(team, dialogue, draft):
    put(draft, MESSAGE, "And now?", seen=0)
    theirs = newer(team, dialogue, changed(make_document(), "It rains."))
    merged, conflicts = drafts.rebase_draft(actor=draft.author, draft=draft, onto=theirs)
    assert conflicts == []
    assert (answer(merged), message(merged)) == ("It rains.", "And now?")
    assert fresh(draft).base_id == theirs.pk


def test_a_conflict_stores_nothing_until_it_is_decided(team, dialogue, draft):
    put(draft, ANSWER, "Mine.", seen=0)
    theirs = newer(team, dialogue, changed(make_document(), "Theirs."))
    _, conflicts = drafts.rebase_draft(actor=draft.author, draft=draft, onto=theirs)
    assert [conflict.anchor for conflict in conflicts] == [ANSWER]
    assert [conflict.anchor for conflict in drafts.preview_rebase(draft=fresh(draft), onto=theirs)] == [ANSWER]
    assert (answer(draft), fresh(draft).base_id, fresh(draft).version) == ("Mine.", dialogue.head.pk, 1)
    _, conflicts = drafts.rebase_draft(actor=draft.author, draft=draft, onto=theirs, choices={ANSWER: "theirs"})
    assert (conflicts, answer(draft), fresh(draft).base_id) == ([], "Theirs.", theirs.pk)


def test_undoing_a_merge_takes_the_base_back_as_well(team, dialogue, draft):
    """Else the draft would pass for a change of the newer version, and overwrite it without a word."""
    put(draft, MESSAGE, "And now?", seen=0)
    theirs = newer(team, dialogue, changed(make_document(), "It rains."))
    drafts.rebase_draft(actor=draft.author, draft=draft, onto=theirs)
    drafts.undo(actor=draft.author, draft=draft)
    assert fresh(draft).base_id == dialogue.head.pk
    assert answer(draft) != "It rains."
    drafts.redo(actor=draft.author, draft=draft)
    assert (fresh(draft).base_id, answer(draft)) == (theirs.pk, "It rains.")


def test_merging_twice_is_merging_once(team, dialogue, draft):
    theirs = newer(team, dialogue, changed(make_document(), "It rains."))
    for _ in range(2):
        drafts.rebase_draft(actor=draft.author, draft=draft, onto=theirs)
    assert fresh(draft).version == 1


def test_an_edit_made_before_a_merge_meets_what_the_merge_brought(team, dialogue, draft):
    theirs = newer(team, dialogue, changed(make_document(), "It rains."))
    drafts.rebase_draft(actor=draft.author, draft=draft, onto=theirs)
    with pytest.raises(Conflict):
        put(draft, ANSWER, "From before the merge.", seen=0)
    put(draft, MESSAGE, "Elsewhere?", seen=0)
    assert (answer(draft), message(draft)) == ("It rains.", "Elsewhere?")


def test_a_whole_document_is_one_step(draft):
    document = deepcopy(draft.document())
    document["tasks"][0]["user_message"] = "Late?"
    drafts.replace_draft(actor=draft.author, draft=draft, document=document, operation="late")
    assert (fresh(draft).version, message(draft)) == (1, "Late?")


# --- two connections --------------------------------------------------------------------------------------------------


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_windows_that_open_at_once_get_one_draft():
    team = make_team()
    dialogue = make_dialogue(team.project)

    def begin():
        return drafts.open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="main").pk

    assert len(set(race(*[begin] * 4))) == 1
    Draft.objects.all().delete()
    assert len(set(overlap(begin, begin))) == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_windows_that_save_at_once_at_one_place_conflict():
    team = make_team()
    dialogue = make_dialogue(team.project)
    draft = drafts.open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="main")
    _, second = overlap(lambda: put(draft, ANSWER, "One.", seen=0), lambda: put(draft, ANSWER, "Two.", seen=0))
    assert isinstance(second, Conflict)
    assert answer(draft) == "One."


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_windows_that_save_at_once_at_two_places_keep_both():
    team = make_team()
    dialogue = make_dialogue(team.project)
    draft = drafts.open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="main")
    overlap(lambda: put(draft, ANSWER, "One.", seen=0), lambda: put(draft, MESSAGE, "Two?", seen=0))
    assert (answer(draft), message(draft), fresh(draft).version) == ("One.", "Two?", 2)


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_one_edit_sent_twice_at_once_is_made_once():
    team = make_team()
    dialogue = make_dialogue(team.project)
    draft = drafts.open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="main")
    overlap(*[lambda: put(draft, ANSWER, "One.", seen=0, edit_id="e")] * 2)
    assert fresh(draft).version == 1


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_two_undos_at_once_take_back_two_edits():
    team = make_team()
    dialogue = make_dialogue(team.project)
    draft = drafts.open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="main")
    was = answer(draft)
    put(draft, ANSWER, "One.", seen=0)
    put(draft, ANSWER, "Two.", seen=1)
    overlap(*[lambda: drafts.undo(actor=team.annotator, draft=draft)] * 2)
    assert (answer(draft), drafts.undo_and_redo(draft)) == (was, (False, True))
    _, late = overlap(*[lambda: drafts.redo(actor=team.annotator, draft=draft)] * 2)
    assert late.draft.version == 6
    assert answer(draft) == "Two."
