"""The timeline of a dialogue, and the protocol's own."""

import pytest

from annotator.errors import Denied, Hidden, Invalid
from annotator.models import Event
from reviews.core.protocols import load_preset, read_protocol
from reviews.models import Priority
from reviews.services.assignments.changes import prioritise, reassign
from reviews.services.cycles.start import supersede_cycle
from reviews.services.feedback.comments import comment_on, resolve_comment, visible_comments
from reviews.services.history.dialogue_history import read_history
from reviews.services.protocols import versions
from reviews.services.protocols.versions import adopt_preset, adopt_protocol, current_protocol, current_version, parse
from tests.factories import Team, adopt_c3, changed, claim_and_submit, current, make_item, make_team, open_slot

pytestmark = pytest.mark.django_db


def test_what_happened_newest_first_in_words(team: Team) -> None:
    item = make_item(team, "expert")
    reassign(actor=team.administrator, slot=open_slot(item), to=team.senior, reason="Knows the domain.")
    prioritise(actor=team.administrator, dialogue=item, priority=Priority.HIGH)
    claim_and_submit(team.senior, item, "reject")
    supersede_cycle(actor=team.administrator, dialogue=item, reason="An erratum.")
    texts = [entry.text for entry in read_history(actor=team.administrator, dialogue=item)]
    assert texts == [
        "Review began (cycle 2, protocol 1): An erratum.",
        "Rejected",
        "Expert verification: rejected",
        "Expert verification: reject",
        "Priority set to high",
        "Expert verification: reassigned: Knows the domain.",
        "Cross-check: escalated to a senior reviewer, 1 discrepancy",
        "Cross-check: approve with fix",
        "Cross-check: approve",
        "Self-check, multi round: passed",
        "Self-check, multi round: approve",
        "Self-check, single round: passed",
        "Self-check, single round: approve",
        "Review began (cycle 1, protocol 1)",
    ]
    actors = [entry.actor for entry in read_history(actor=team.administrator, dialogue=item)]
    assert actors[-1] is None
    assert actors[2] == team.senior


def test_events_without_words_of_their_own_are_told_all_the_same(team: Team) -> None:
    from annotator.services.history.events import append_event

    item = make_item(team, "self_check_single")
    append_event(actor=None, project=team.project, dialogue=item, kind="variant.marked_stale")
    assert read_history(actor=team.annotator, dialogue=item)[0].text == "Variant marked stale"


# --- comments ---------------------------------------------------------------------------------------------------------


def test_comments_stand_in_the_history_and_can_be_resolved(team: Team) -> None:
    item = make_item(team, "self_check_single")
    comment = comment_on(actor=team.annotator, dialogue=item, anchor="/tasks/t1", text=" Odd request. ")
    assert (comment.text, len(comment.value_hash)) == ("Odd request.", 16)
    assert read_history(actor=team.senior, dialogue=item)[0].text == "Commented: Odd request."
    resolved = resolve_comment(actor=team.senior, public_id=comment.public_id)
    assert (resolved.resolved_by, resolved.resolved_at is not None) == (team.senior, True)
    assert list(visible_comments(actor=team.senior, dialogue=item)) == [comment]
    with pytest.raises(Hidden):
        resolve_comment(actor=team.outsider, public_id=comment.public_id)


@pytest.mark.parametrize(("text", "words"), [("  ", "Enter a comment"), ("x" * 4001, "at most 4,000"), ("\0", "NUL")])
def test_comments_that_cannot_be_kept(team: Team, text: str, words: str) -> None:
    item = make_item(team, "self_check_single")
    with pytest.raises(Invalid, match=words):
        comment_on(actor=team.annotator, dialogue=item, anchor="", text=text)


# --- protocols --------------------------------------------------------------------------------------------------------


def test_adopting_the_same_again_changes_nothing(team: Team) -> None:
    before = current_version(team.project)
    assert adopt_c3(team) == before
    assert Event.objects.filter(kind="protocol.adopted").count() == 1


def test_another_protocol_is_another_version(team: Team) -> None:
    version = adopt_c3(team, cross_check_reviewers=1)
    assert (version.number, version.preset) == (2, "c3")
    assert current_version(team.project) == version
    protocol = current_protocol(team.project)
    assert protocol is not None
    assert protocol.stage("cross_check").reviewers == 1


def test_a_definition_is_parsed_once(team: Team) -> None:
    first, version = current_version(team.project), current_version(team.project)
    assert first is not None
    assert version is not None
    assert parse(first) is parse(version)
    assert "definition" in version.get_deferred_fields()


def test_an_unsound_protocol_is_refused_with_every_problem(team: Team) -> None:
    data = load_preset("c3").model_dump(mode="json")
    data["stages"] = data["stages"][1:3]
    with pytest.raises(Invalid, match="The protocol has problems") as caught:
        adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(data))
    assert len(caught.value.details["problems"]) > 1


def test_administrators_adopt(team: Team) -> None:
    with pytest.raises(Denied):
        adopt_preset(actor=team.senior, project=team.project, preset="c3")
    with pytest.raises(Hidden):
        adopt_preset(actor=team.outsider, project=team.project, preset="c3")
    with pytest.raises(Invalid, match=r"no preset “dice”\. Choose one of: c3"):
        adopt_preset(actor=team.administrator, project=team.project, preset="dice")
    with pytest.raises(Invalid, match="one or two reviewers"):
        adopt_preset(actor=None, project=team.project, preset="c3", cross_check_reviewers=5)


def test_projects_have_their_own(team: Team) -> None:
    assert versions.current_version(make_team().project) is None


def test_a_change_shows_in_the_history_of_content_only_once_settled(team: Team) -> None:
    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "fix", document=changed(current(item)))
    fixed = "Cross-check: approve with fix"
    assert fixed not in [entry.text for entry in read_history(actor=team.administrator, dialogue=item)]
    claim_and_submit(team.annotators[2], item, "approve")
    assert fixed in [entry.text for entry in read_history(actor=team.administrator, dialogue=item)]
