"""Those who choose or write in a generation don't review its dialogue; near repeats are said while they choose."""

from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from annotator.errors import Denied, Invalid
from annotator.models import Dialogue, Finding
from benchmark.models import Generation, SimilarityBand
from benchmark.services.generation import claims
from benchmark.services.generation.people import choose_candidate, go_back, reject_candidates, write_answer
from benchmark.services.generation.reading import read_state
from benchmark.services.generation.repeats import find_repeats
from benchmark.services.generation.separation import read_separation
from reviews.models import CoAuthor, Slot
from reviews.services.assignments.changes import reassign
from reviews.services.protocols.versions import parse, roles_of_members
from reviews.services.queue.claims import claim_next, claim_slot
from reviews.services.queue.gold_claims import involved
from reviews.services.queue.notifications import notify_experts
from reviews.services.queue.order import read_versions
from reviews.services.queue.stuck import count_stuck
from tests.api_client import ApiClient
from tests.benchmark.generation.claimed import finish, make_waiting, work
from tests.factories import adopt_c3, claim_and_submit
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

WORDS = "A dialogue can’t be reviewed by a person who wrote or chose a part of it"


@pytest.fixture
def crossed(team):
    """The dialogue of a generation in which the first annotator chose; the second owns it, and others can check it."""
    adopt_c3(team)
    dialogue = finish(make_waiting(team), team.annotators[0]).dialogue
    for _ in range(2):
        claim_and_submit(team.annotators[1], dialogue)
    return Dialogue.objects.get(pk=dialogue.pk)


def test_who_chose_gets_no_review_of_it_by_any_way(team, crossed):
    one, _, three = team.annotators
    assert set(CoAuthor.objects.values_list("dialogue", "person")) == {(crossed.pk, one.pk)}
    slot = Slot.objects.filter(dialogue=crossed, state="open").first()
    assert slot.stage == "cross_check"
    assert claim_next(actor=one, project=team.project) is None
    assert ApiClient(one).send(f"/api/projects/{team.project.slug}/claims/").status_code == 204
    with pytest.raises(Denied, match=WORDS):
        claim_slot(actor=one, slot=slot)
    with pytest.raises(Invalid, match=WORDS):
        reassign(actor=team.administrator, slot=slot, to=one)
    assert one.pk in involved(crossed)
    assert claim_next(actor=three, project=team.project).slot.dialogue == crossed


def test_what_nobody_else_can_review_is_counted_and_disputes_are_not_offered(team, crossed):
    stages = parse(read_versions(team.project)[0]).stages
    cross = next(one for one in stages if one.key == "cross_check")
    people = roles_of_members(team.project)
    assert count_stuck(project=team.project, stages=[cross], people=people) == {}
    for person in (team.annotators[1], team.annotators[2], team.senior):
        people.pop(person.pk)
    assert count_stuck(project=team.project, stages=[cross], people=people)[cross].items == 1
    expert = stages[-1]
    able = notify_experts(dialogue=crossed, stage=expert)
    assert able == {team.senior.pk}
    CoAuthor.objects.create(dialogue=crossed, person=team.senior)
    assert notify_experts(dialogue=crossed, stage=expert) == set()


def test_what_was_gone_back_over_and_rejections_leave_no_co_author(team):
    adopt_c3(team)
    generation = make_waiting(team)
    one, two, three = team.annotators
    reject_candidates(actor=three, generation=generation, reason="Name the city.")
    assert work(generation).status == "paused"
    write_answer(actor=one, generation=generation, text="Will it rain in Graz on Friday?", work=False)
    claims.release_claim(actor=one, generation=generation)
    generation = Generation.objects.get(pk=generation.pk)
    state = read_state(generation)
    assert read_separation(actor=one, generation=generation, state=state).already
    go_back(actor=two, generation=generation, events=0)
    state = read_state(Generation.objects.get(pk=generation.pk))
    left = read_separation(actor=two, generation=generation, state=state)
    assert (left.already, left.people, left.lacks) == (False, 1, False)
    assert read_separation(actor=team.outsider, generation=generation, state=state) is None


def test_the_page_says_that_who_acts_will_not_review(team):
    adopt_c3(team)
    generation = make_waiting(team)
    client = Client()
    client.force_login(team.annotator)
    address = reverse("generation", args=[team.project.slug, generation.public_id])
    shown = unescape(one_line(client.get(address)))
    assert "If you choose or write here, you count as an author of this dialogue" in shown
    assert "other person can review it in" in shown or "other people can review it in" in shown
    choose_candidate(actor=team.annotator, generation=generation, candidate="c1")
    assert "You count as an author of this dialogue, because you chose or wrote a part of it." in unescape(
        one_line(client.get(address))
    )


def test_a_generated_dialogue_is_known_to_the_search_and_a_repeated_request_is_said(team):
    first = finish(make_waiting(team, "one"), team.annotator)
    assert SimilarityBand.objects.filter(dialogue=first.dialogue).exists()
    again = make_waiting(team, "two")
    texts = [one["text"] for one in again.state["candidates"]]
    found = find_repeats(
        actor=team.annotator, project=team.project, language="en", texts=texts, first=True, earlier=[texts[1]]
    )
    assert (found[0].percent, found[0].dialogue) == (100, first.dialogue)
    assert found[1] is not None
    assert found[1].percent == 100
    later = find_repeats(actor=team.annotator, project=team.project, language="en", texts=texts[:1] * 2, first=False)
    assert (later[0], later[1].dialogue, later[1].percent) == (None, None, 100)
    client = Client()
    client.force_login(team.annotator)
    claims.claim_generation(actor=team.annotator, generation=again)
    address = reverse("generation", args=[team.project.slug, again.public_id])
    shown = unescape(one_line(client.get(address)))
    assert "Nearly repeats a dialogue (100 %):" in shown
    assert first.dialogue.get_absolute_url() in shown
    second = finish(again, team.annotator).dialogue
    assert Finding.objects.filter(dialogue=second, check_id="dialogue.near_duplicate").exists()
