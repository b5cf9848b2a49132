"""The standing order in which what fills gaps is handed out first."""

import pytest
from django.urls import reverse

from annotator.errors import Denied
from annotator.models import Dialogue, Event
from benchmark.models import CoverageFirst, RaisedDialogue
from benchmark.services.coverage import coverage_first
from benchmark.services.coverage.coverage_first import apply_coverage_first, raised_in, set_coverage_first
from reviews.models import Priority, Slot
from reviews.services.assignments.changes import prioritise
from reviews.services.queue.claims import claim_next
from tests.benchmark.coverage.labelled import labelled, want
from tests.factories import begin
from tests.racing import begin_meanwhile, race


def switch(team, on):
    return set_coverage_first(actor=team.administrator, project=team.project, on=on)


def high(team):
    """The dialogues with a slot of high priority."""
    slots = Slot.objects.filter(project=team.project, priority=Priority.HIGH)
    return set(slots.values_list("dialogue", flat=True))


def test_what_fills_a_gap_is_claimed_first_and_lowered_when_it_no_longer_does(team):
    chat, clarify, spare = begin(team.project, [labelled(team, one) for one in ("chat", "clarify", "clarify")])
    want(team, "cell", "clarify", 1)
    places = dict(Slot.objects.values_list("pk", "position"))
    assert switch(team, True)
    assert not switch(team, True)
    assert high(team) == {clarify.pk}
    assert (apply_coverage_first(), raised_in(team.project)) == (0, 1)
    # Another one is verified first.
    Dialogue.objects.filter(pk=spare.pk).update(status="verified")
    assert (apply_coverage_first(), raised_in(team.project)) == (1, 0)
    assert not high(team)
    Dialogue.objects.filter(pk=spare.pk).update(status="rejected")
    want(team, "cell", "chat", 1)
    assert (apply_coverage_first(), high(team)) == (2, {chat.pk, clarify.pk})
    assert dict(Slot.objects.values_list("pk", "position")) == places
    kinds = Event.objects.filter(dialogue=clarify, kind="dialogue.prioritised").order_by("pk")
    assert [(one.after["priority"], one.after["reason"], one.actor) for one in kinds] == [
        ("high", "Coverage first", None), ("normal", "Coverage first", None), ("high", "Coverage first", None)
    ]  # fmt: skip
    # Imported last, claimed first.
    urgent = begin(team.project, [labelled(team, "multi_tool"), labelled(team, "single_tool")])[1]
    want(team, "cell", "single_tool", 1)
    for key in ("chat", "clarify"):
        want(team, "cell", key, None)
    assert apply_coverage_first() == 3
    assert claim_next(actor=team.annotator, project=team.project).slot.dialogue == urgent


def test_priorities_that_people_set_stay(team):
    low, raised, urgent = begin(team.project, [labelled(team, "chat") for _ in range(3)])
    prioritise(actor=team.administrator, dialogue=low, priority=Priority.LOW)
    prioritise(actor=team.administrator, dialogue=urgent, priority=Priority.HIGH)
    want(team, "cell", "chat", 2)
    switch(team, True)
    assert high(team) == {raised.pk, urgent.pk}
    prioritise(actor=team.administrator, dialogue=raised, priority=Priority.LOW)
    assert switch(team, False)
    assert high(team) == {urgent.pk}
    assert set(Slot.objects.filter(dialogue=raised).values_list("priority", flat=True)) == {Priority.LOW}
    assert not CoverageFirst.objects.exists()
    assert not RaisedDialogue.objects.exists()


def test_what_people_set_to_high_stays_high_if_it_was_raised_already(team):
    chosen, other = begin(team.project, [labelled(team, "chat") for _ in range(2)])
    want(team, "cell", "chat", 2)
    switch(team, True)
    assert prioritise(actor=team.administrator, dialogue=chosen, priority=Priority.HIGH) == 0
    assert raised_in(team.project) == 1
    assert switch(team, False)
    assert high(team) == {chosen.pk}
    assert set(Slot.objects.filter(dialogue=other).values_list("priority", flat=True)) == {Priority.NORMAL}


def test_what_people_set_to_high_just_before_it_is_raised_stays_high(team, monkeypatch):
    chosen = begin(team.project, [labelled(team, "chat")])[0]
    want(team, "cell", "chat", 1)
    real = coverage_first._set

    def set_late(*arguments):
        monkeypatch.setattr(coverage_first, "_set", real)
        prioritise(actor=team.administrator, dialogue=chosen, priority=Priority.HIGH)
        return real(*arguments)

    monkeypatch.setattr(coverage_first, "_set", set_late)
    switch(team, True)
    assert raised_in(team.project) == 0
    assert switch(team, False)
    assert high(team) == {chosen.pk}


def test_slots_are_only_read_where_counts_have_changed(team, monkeypatch):
    begin(team.project, [labelled(team, "chat")])
    want(team, "cell", "chat", 1)
    switch(team, True)
    monkeypatch.setattr(coverage_first, "filling_gaps", None)
    assert apply_coverage_first() == 0
    monkeypatch.undo()
    begin(team.project, [labelled(team, "chat", "chat")])
    want(team, "cell", "chat,chat", 1)
    assert apply_coverage_first() == 1


def test_at_most_so_many_are_raised_at_a_time(team, monkeypatch):
    monkeypatch.setattr(coverage_first, "MOST_RAISED", 2)
    begin(team.project, [labelled(team, "chat") for _ in range(3)])
    want(team, "cell", "chat", 3)
    switch(team, True)
    assert raised_in(team.project) == 2


def test_administrators_switch_it_on_the_page(team, client):
    begin(team.project, [labelled(team, "chat")])
    want(team, "cell", "chat", 1)
    address = reverse("coverage", args=[team.project.slug])
    client.force_login(team.administrator)
    assert "Always hand out what is needed first" in client.get(address).content.decode()
    assert client.post(address, {"do": "first_on"}).status_code == 302
    page = " ".join(client.get(address).content.decode().split())
    assert "1 waiting dialogue that fills a gap has a high priority" in page
    client.force_login(team.senior)
    assert client.post(address, {"do": "first_off"}).status_code == 403
    assert "Back to the order of import" not in client.get(address).content.decode()
    with pytest.raises(Denied):
        set_coverage_first(actor=team.senior, project=team.project, on=False)
    kinds = Event.objects.filter(project=team.project, kind__startswith="coverage.first")
    assert list(kinds.values_list("kind", flat=True)) == ["coverage.first_on"]
    client.force_login(team.administrator)
    address = reverse("api-coverage", args=[team.project.slug])
    assert client.get(address).json()["raised"] == 1
    assert client.put(address, {"coverage_first": "maybe"}, content_type="application/json").status_code == 400
    assert client.put(address, {"coverage_first": False}, content_type="application/json").json()["raised"] is None


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("_again", range(3))
def test_whatever_comes_first_nothing_stays_raised_when_it_is_switched_off(team, _again):
    begin(team.project, [labelled(team, "chat") for _ in range(6)])
    want(team, "cell", "chat", 4)
    switch(team, True)
    assert len(high(team)) == 4
    want(team, "cell", "chat", 6)
    got = race(apply_coverage_first, lambda: switch(team, False), apply_coverage_first, lambda: switch(team, False))
    assert not [one for one in got if isinstance(one, Exception)]
    assert sorted([got[1], got[3]]) == [False, True]
    assert not high(team)
    assert not RaisedDialogue.objects.exists()


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_what_people_raise_while_it_is_switched_off_is_not_lowered(team, monkeypatch):
    chosen = begin(team.project, [labelled(team, "chat")])[0]
    want(team, "cell", "chat", 1)
    switch(team, True)
    want(team, "cell", "chat", None)
    real = coverage_first._lower

    def lower(raised):
        monkeypatch.setattr(coverage_first, "_lower", real)
        assert begin_meanwhile(lambda: switch(team, False)).result()
        prioritise(actor=team.administrator, dialogue=chosen, priority=Priority.HIGH)
        return real(raised)

    monkeypatch.setattr(coverage_first, "_lower", lower)
    assert apply_coverage_first() == 0
    assert high(team) == {chosen.pk}
