"""Waivers that are taken back, waived together, or offered again; and what only administrators read."""

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.findings import keys_digest
from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, Event, Waiver
from annotator.models import Finding as StoredFinding
from annotator.services.dialogues.drafts import edit_draft, undo
from reviews.services.queue.claims import claim_slot
from reviews.services.queue.slot_work import Work, load_slot_work
from reviews.services.submission.waivers import (
    earlier_reasons,
    live_waivers,
    undo_waivers,
    unwaive,
    waive,
    waive_alike,
    waive_all,
)
from reviews.services.submission.workbench import open_workbench
from tests.factories import (
    Team,
    adopt_c3,
    changed,
    claim_and_submit,
    current,
    make_document,
    make_item,
    make_team,
    open_slot,
)

pytestmark = pytest.mark.django_db

KEY = {"check": "label.x", "anchor": "/tasks/t1", "value_hash": "0" * 16}


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_c3(team)
    return team


def working(team: Team, item: Dialogue, number: int = 0) -> Work:
    person = team.annotators[number]
    claim = claim_slot(actor=person, slot=open_slot(item))
    return load_slot_work(actor=person, public_id=claim.slot.public_id)


def test_a_waiver_is_taken_back_and_stays_in_the_history(team: Team) -> None:
    item = make_item(team, "self_check")
    work, actor = working(team, item), team.annotator
    waive(actor=actor, work=work, reason="Wanted.", **KEY)
    assert unwaive(actor=actor, work=work, **KEY) == 1
    assert live_waivers(actor=actor, dialogue=item) == {}
    row = Waiver.objects.get()
    assert (row.reason, row.withdrawn_by) == ("Wanted.", actor)
    assert unwaive(actor=actor, work=work, **KEY) == 0
    event = Event.objects.get(kind="warning.unwaived")
    assert (event.before["reason"], event.sealed) == ("Wanted.", False)
    # It can be waived again, even with the same words.
    waive(actor=actor, work=work, reason="Wanted.", **KEY)
    assert list(live_waivers(actor=actor, dialogue=item).values()) == ["Wanted."]
    assert Waiver.objects.count() == 2


def test_undo_takes_back_the_last_thing_be_it_an_edit_or_a_waiver(team: Team) -> None:
    """It reverted an older edit elsewhere, and the waiver stayed."""
    work, actor = working(team, make_item(team, "self_check")), team.annotator
    bench = open_workbench(actor=actor, slot_id=work.slot.public_id)
    operation = {"op": "set", "anchor": "/tasks/t1/user_message", "value": "And in Ghent?"}
    draft = edit_draft(actor=actor, draft=bench.draft, operation=operation, seen=0).draft
    asked = {"actor": actor, "work": work, "draft": draft}
    assert undo_waivers(**asked) is None
    waive(actor=actor, work=work, reason="Wanted.", **KEY)
    keys = [("label.x", f"/tasks/t1/steps/s{n}", str(n)) for n in range(2)]
    waive_alike(actor=actor, work=work, keys=keys, shown=keys_digest(keys), reason="Wanted.")
    undone = undo_waivers(**asked, edit_id="a")
    assert undone is not None
    assert (undone.anchor, undone.draft.version) == ("/tasks/t1/steps/s0", 2)
    assert [anchor for _check, anchor, _hash in live_waivers(actor=actor, dialogue=work.slot.dialogue)] == ["/tasks/t1"]
    # The same request again, after a lost answer.
    assert undo_waivers(**asked, edit_id="a") is None
    assert undo(actor=actor, draft=draft, edit_id="a").draft.content == draft.content
    assert undo_waivers(**asked, edit_id="b") is not None
    assert live_waivers(actor=actor, dialogue=work.slot.dialogue) == {}
    assert undo_waivers(**asked, edit_id="c") is None
    assert undo(actor=actor, draft=draft, edit_id="c").draft.content == bench.draft.base.content


def test_a_blind_reviewer_takes_back_only_what_they_waived_there(team: Team) -> None:
    item = make_item(team, "cross_check")
    open_waiver = {**KEY, "anchor": "/tasks/t1/policy"}
    Waiver.objects.create(
        dialogue=item, author=team.annotator, reason="Earlier.", check_id=open_waiver["check"],
        anchor=open_waiver["anchor"], value_hash=open_waiver["value_hash"],
    )  # fmt: skip
    work, actor = working(team, item, 1), team.annotators[1]
    waive(actor=actor, work=work, reason="Mine.", **KEY)
    assert unwaive(actor=actor, work=work, **KEY) == 1
    assert Event.objects.get(kind="warning.unwaived").sealed
    with pytest.raises(Denied, match="waived before your stage began"):
        unwaive(actor=actor, work=work, **open_waiver)
    # A colleague’s sealed waiver does not exist for them.
    other = working(team, item, 2)
    waive(actor=actor, work=work, reason="Mine.", **KEY)
    assert unwaive(actor=team.annotators[2], work=other, **KEY) == 0


def test_several_warnings_are_waived_together_only_as_they_were_seen(team: Team) -> None:
    work, actor = working(team, make_item(team, "self_check")), team.annotator
    keys = [("label.x", f"/tasks/t{n}", str(n)) for n in range(3)]
    shown = keys_digest(reversed(keys))
    with pytest.raises(Conflict, match="have changed in the meantime"):
        waive_alike(actor=actor, work=work, keys=keys[:2], shown=shown, reason="Wanted.")
    assert len(waive_alike(actor=actor, work=work, keys=keys, shown=shown, reason="Wanted.")) == 3


def test_own_reasons_are_offered_again_the_most_frequent_first(team: Team) -> None:
    work, actor = working(team, make_item(team, "self_check")), team.annotator
    for number, reason in enumerate(["Rare.", "Often.", "Often."]):
        waive(actor=actor, work=work, reason=reason, **{**KEY, "value_hash": str(number)})
    asked = {"project": team.project, "checks": {"label.x"}}
    assert earlier_reasons(actor=actor, **asked) == ["Often.", "Rare."]
    assert earlier_reasons(actor=team.annotators[1], **asked) == []
    assert earlier_reasons(actor=actor, project=team.project, checks={"label.y"}) == []


def test_the_panel_waives_and_takes_back_in_place(team: Team, client: Client) -> None:
    item = make_item(team, "self_check_single", changed(make_document(), "Sunny. TODO: the degrees."))
    work = working(team, item)
    client.force_login(team.annotator)
    page = reverse("workspace", args=[work.slot.public_id]) + "?panel=findings"
    text = client.get(page).content.decode()
    assert "data-waive" in text
    (finding,) = [
        one for one in StoredFinding.objects.filter(dialogue=item, severity="warning") if "placeholder" in one.check_id
    ]
    key = {"check": finding.check_id, "anchor": finding.anchor, "value_hash": finding.value_hash}
    client.post(
        reverse("workspace-waive", args=[work.slot.public_id]), key | {"reason": "Meant so.", "panel": "findings"}
    )
    text = client.get(page).content.decode()
    assert 'id="findings-waived"' in text
    assert "Take back the waiver" in text
    client.post(reverse("workspace-unwaive", args=[work.slot.public_id]), key | {"panel": "findings"})
    text = client.get(page).content.decode()
    assert 'id="findings-waived"' not in text
    assert '<option value="Meant so."></option>' in text


def test_notes_for_administrators_are_not_shown_to_others(team: Team, client: Client) -> None:
    item = make_item(team, "self_check")
    StoredFinding.objects.create(
        dialogue=item, revision=item.head, check_id="graph.published_evaluator", severity="info",
        anchor="/tasks/t1", message="The published evaluators reject 1 of 2 legal paths.", value_hash="0",
    )  # fmt: skip
    page = reverse("dialogue", args=[team.project.slug, item.public_id])
    api = reverse("api-dialogue", args=[team.project.slug, item.public_id])
    for person, reads in ((team.annotator, False), (team.senior, False), (team.administrator, True)):
        client.force_login(person)
        assert ("published evaluators" in client.get(page).content.decode()) is reads
        assert ("published evaluators" in client.get(api).content.decode()) is reads
    # A project that makes it an error blocks everybody with it, so everybody reads it.
    StoredFinding.objects.filter(dialogue=item, check_id="graph.published_evaluator").update(severity="error")
    client.force_login(team.annotator)
    assert "published evaluators" in client.get(page).content.decode()


def test_nobody_submits_with_a_waiver_that_was_taken_back(team: Team) -> None:
    item = make_item(team, "self_check")
    work, actor = working(team, item), team.annotator
    fixed = changed(current(item), "It is sunny. TODO: the degrees.")
    waive_all(actor=actor, slot=work.slot, document=fixed, reason="Wanted.")
    row = Waiver.objects.get()
    unwaive(actor=actor, work=work, check=row.check_id, anchor=row.anchor, value_hash=row.value_hash)
    with pytest.raises(Invalid, match="Fix or waive"):
        claim_and_submit(actor, item, "fix", document=fixed)
