"""Blind means blind: before a stage settles, nothing shows what a colleague has said of an item."""

from collections.abc import Callable
from typing import Any

import pytest

from annotator.models import Dialogue, Event, Revision, User, Waiver
from reviews.models import Claim, Comment, Review
from reviews.services.feedback.comments import add_comment, comment_on, visible_comments
from reviews.services.history.dialogue_history import read_history
from reviews.services.queue.claims import claim_slot
from reviews.services.queue.slot_work import load_slot_work
from reviews.services.submission.submit import submit_review
from reviews.services.submission.waivers import live_waivers, waive
from tests.factories import Team, changed, claim_and_submit, current, make_item, open_slot

pytestmark = pytest.mark.django_db


def busy(team: Team, item: Dialogue) -> Claim:
    """A reviewer comments and waives in a blind stage, without handing in yet."""
    person = team.annotators[1]
    claim = claim_slot(actor=person, slot=open_slot(item))
    work = load_slot_work(actor=person, public_id=claim.slot.public_id)
    add_comment(actor=person, work=work, anchor="/tasks/t1", text="Is this one request?")
    waive(actor=person, work=work, check="label.x", anchor="/tasks/t1", value_hash="0" * 16, reason="Fine.")
    return claim


def half_reviewed(team: Team, verdict: str = "fix") -> Dialogue:
    item = make_item(team, "cross_check")
    claim = busy(team, item)
    document = changed(current(item)) if verdict == "fix" else None
    submit_review(
        actor=team.annotators[1], slot=claim.slot, token=claim.token, verdict=verdict, document=document,
        reason="" if verdict in ("approve", "fix") else "Odd.",
    )  # fmt: skip
    return item


def seen_by(person: User, item: Dialogue) -> dict[str, Any]:
    """Everything the services show a person of a dialogue."""
    row = Dialogue.objects.visible_to(person).get(pk=item.pk)
    return {
        "row": {field.attname: getattr(row, field.attname) for field in Dialogue._meta.concrete_fields},
        "revisions": list(
            Revision.objects.visible_to(person).filter(dialogue=item).order_by("pk").values("number", "content_hash")
        ),
        "reviews": list(
            Review.objects.visible_to(person).filter(dialogue=item).order_by("pk").values("verdict", "labels")
        ),
        "comments": [comment.text for comment in visible_comments(actor=person, dialogue=item)],
        "waivers": live_waivers(actor=person, dialogue=item),
        "history": [entry.text for entry in read_history(actor=person, dialogue=item)],
        "events": list(Event.objects.visible_to(person).filter(dialogue=item).order_by("pk").values("kind", "after")),
    }


EVERYBODY: list[Callable[[Team], User]] = [
    lambda team: team.annotator,
    lambda team: team.annotators[2],
    lambda team: team.senior,
    lambda team: team.administrator,
]


@pytest.mark.parametrize("who", EVERYBODY)
@pytest.mark.parametrize("verdict", ["approve", "fix", "reject", "escalate"])
def test_a_half_reviewed_item_looks_like_an_untouched_one(
    team: Team, verdict: str, who: Callable[[Team], User]
) -> None:
    item = make_item(team, "cross_check")
    before = seen_by(who(team), item)
    claim = busy(team, item)
    assert seen_by(who(team), item) == before
    document = changed(current(item)) if verdict == "fix" else None
    reason = "" if verdict in ("approve", "fix") else "Odd."
    submit_review(
        actor=team.annotators[1], slot=claim.slot, token=claim.token, verdict=verdict, document=document, reason=reason
    )
    assert seen_by(who(team), item) == before


def test_the_reviewer_sees_their_own(team: Team) -> None:
    item = half_reviewed(team)
    own = seen_by(team.annotators[1], item)
    assert [review["verdict"] for review in own["reviews"]][-1] == "fix"
    assert own["comments"] == ["Is this one request?"]
    assert ("label.x", "/tasks/t1", "0" * 16) in own["waivers"]
    assert any("Cross-check: approve with fix" in text for text in own["history"])
    assert None in [revision["number"] for revision in own["revisions"]]


def test_once_it_is_settled_all_is_open(team: Team) -> None:
    item = half_reviewed(team)
    claim_and_submit(team.annotators[2], item, "approve")
    for model in (Revision, Review, Comment, Waiver, Event):
        assert not model._default_manager.filter(dialogue=item, sealed=True).exists(), model
    shown = seen_by(team.annotators[2], item)
    assert [review["verdict"] for review in shown["reviews"]][-2:] == ["fix", "approve"]
    assert shown["comments"] == ["Is this one request?"]
    assert [revision["number"] for revision in shown["revisions"]] == [1, 2]
    assert shown == seen_by(team.annotator, item)


def test_numbers_follow_the_order_in_which_fixes_were_made(team: Team) -> None:
    item = half_reviewed(team)
    claim_and_submit(team.annotators[2], item, "fix", document=changed(current(item), "Else."))
    authors = Revision.objects.filter(dialogue=item, number__gt=1).order_by("number").values_list("author", flat=True)
    assert list(authors) == [team.annotators[1].pk, team.annotators[2].pk]


def test_an_outsider_sees_nothing_at_any_time(team: Team) -> None:
    item = half_reviewed(team)
    claim_and_submit(team.annotators[2], item, "approve")
    for model in (Revision, Review, Comment, Waiver):
        manager: Any = model._default_manager
        assert not manager.visible_to(team.outsider).exists(), model


def test_whoever_reviews_blind_cannot_comment_in_the_open(team: Team) -> None:
    from annotator.errors import Denied

    item = half_reviewed(team)
    with pytest.raises(Denied, match="review this dialogue independently"):
        comment_on(actor=team.annotators[1], dialogue=item, anchor="", text="I changed the answer.")
    assert comment_on(actor=team.administrator, dialogue=item, anchor="", text="Have a look.").sealed is False


def test_a_revision_an_import_holds_back_stays_held_back(team: Team) -> None:
    from annotator.models import Job

    item = half_reviewed(team)
    head = item.head
    assert head is not None
    job = Job.objects.create(project=team.project, kind="import")
    held = Revision.objects.create(
        dialogue=item, parent=head, toolset_revision=head.toolset_revision, content=head.content,
        content_hash=head.content_hash, sealed=True, batch=job,
    )  # fmt: skip
    claim_and_submit(team.annotators[2], item, "approve")
    held.refresh_from_db()
    assert (held.sealed, held.number) == (True, None)
