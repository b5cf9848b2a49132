"""Claims on generations: one person at a time, until they have acted, give it back, leave, or the time is over."""

from html import unescape

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.urls import reverse

from annotator.errors import Conflict, Denied
from annotator.models import MemberAbilities, Notice
from annotator.services.archiving import archive_project, restore_project
from annotator.services.members import deactivate_person, lost_work
from benchmark.models import Generation, GenerationClaim
from benchmark.services.generation import claims
from benchmark.services.generation.people import choose_candidate, go_back, reject_candidates, write_answer
from benchmark.services.generation.requests import pause_generation, start_generation
from benchmark.tasks import tidy_claims
from reviews.services.queue.pauses import pause, resume
from tests.benchmark.generation.claimed import finish, let_expire, make_waiting, work
from tests.factories import make_toolset
from tests.pages import one_line
from tests.racing import race

pytestmark = pytest.mark.django_db
any_database = pytest.mark.any_database


def states(generation):
    return list(generation.claims.order_by("pk").values_list("state", flat=True))


def unread(person):
    return [notice.text for notice in Notice.objects.filter(person=person, read_at=None).order_by("pk")]


@any_database
def test_the_longest_waiting_one_is_claimed_by_one_person_who_alone_can_act(team):
    first, second = make_waiting(team, "one"), make_waiting(team, "two")
    one, two, three = team.annotators
    claim = claims.claim_next(actor=one, project=team.project)
    assert claim.generation == first
    assert claims.claim_next(actor=one, project=team.project) == claim
    assert claims.claim_next(actor=two, project=team.project).generation == second
    assert claims.claim_next(actor=three, project=team.project) is None
    acts = (
        lambda: choose_candidate(actor=two, generation=first, candidate="c1"),
        lambda: reject_candidates(actor=two, generation=first, reason="Too short."),
        lambda: write_answer(actor=team.administrator, generation=first, text="Will it rain in Graz on Friday?"),
        lambda: go_back(actor=two, generation=first, events=0),
        lambda: claims.claim_generation(actor=team.administrator, generation=first),
    )
    for act in acts:
        with pytest.raises(Conflict, match="Ann1 has claimed this generation"):
            act()
    with pytest.raises(Denied):
        claims.release_claim(actor=two, generation=first)
    with pytest.raises(Denied):
        claims.claim_generation(actor=two, generation=first, take_over=True)
    # Given back, it is the next one again; acting ends the claim, because a model is next.
    claims.release_claim(actor=one, generation=first)
    assert claims.claim_next(actor=three, project=team.project).generation == first
    finish(first, three)
    assert states(first) == ["released", "submitted"]
    with pytest.raises(Conflict, match="has ended"):
        claims.claim_generation(actor=one, generation=first)


@any_database
def test_a_person_who_plays_the_next_role_too_keeps_the_claim(team):
    setup = {"name": "people", "policies": ["chat"], "relations": [["explicit"]]}
    toolset = make_toolset(team.project, name="weather")
    made = work(
        start_generation(
            actor=team.administrator, project=team.project, toolset=toolset, setup=setup, players={}, wake_worker=False
        )
    )
    write_answer(actor=team.annotator, generation=made, text="Will it rain in Graz on Friday?")
    made = work(made)
    assert (made.status, made.state["stage"], states(made)) == ("waiting", "plan", ["live"])
    assert claims.waiting_for(actor=team.annotators[1], project=team.project).count() == 0


@any_database
def test_an_expired_claim_is_renewed_unless_a_colleague_has_taken_it(team):
    generation = make_waiting(team)
    one, two, _ = team.annotators
    claims.claim_generation(actor=one, generation=generation)
    let_expire(generation)
    assert claims.waiting_for(actor=two, project=team.project).count() == 1
    Notice.objects.all().delete()
    tidy_claims()
    assert states(generation) == ["expired"]
    assert "Your claim on trip expired" in unread(one)[0]
    assert ["waits for a person" in text for text in unread(two)] == [True]
    claims.heartbeat(actor=one, generation=generation)
    assert states(generation) == ["live"]
    # Overdue, but before it is tidied up: the next person ends it.
    let_expire(generation)
    assert claims.claim_next(actor=two, project=team.project).generation == generation
    with pytest.raises(Conflict, match="Your claim on this generation has ended"):
        claims.heartbeat(actor=one, generation=generation)
    with pytest.raises(Conflict, match="Your claim on this generation has ended"):
        claims.heartbeat(actor=team.senior, generation=generation)
    assert states(generation) == ["expired", "live"]
    # An administrator takes over, and then lets go.
    claims.claim_generation(actor=team.administrator, generation=generation, take_over=True)
    assert "An administrator has ended your claim on trip" in unread(two)[-1]
    claims.release_claim(actor=team.administrator, generation=generation)
    assert states(generation) == ["expired", "withdrawn", "released"]


@any_database
def test_claims_end_with_the_membership_and_wait_in_the_archive(team):
    generation = make_waiting(team)
    one, two, _ = team.annotators
    claim = claims.claim_next(actor=one, project=team.project)
    until = claim.expires_at
    archive_project(actor=team.administrator, project=team.project)
    assert tidy_claims() is None
    with pytest.raises(Conflict, match="archived"):
        claims.heartbeat(actor=one, generation=generation)
    GenerationClaim.objects.filter(pk=claim.pk).update(state="released", ended_at=until)
    with pytest.raises(IntegrityError, match="archived"), transaction.atomic():
        GenerationClaim.objects.create(
            generation=generation, person=two, project=team.project, created_at=claim.created_at, expires_at=until
        )
    GenerationClaim.objects.filter(pk=claim.pk).update(state="live", ended_at=None)
    restore_project(actor=team.administrator, project=team.project)
    claim.refresh_from_db()
    assert claim.expires_at > until
    assert lost_work(project=team.project, user=one, left=frozenset()) == ["trip"]
    deactivate_person(actor=team.administrator, project=team.project, user=one)
    assert states(generation) == ["withdrawn"]
    assert claims.claim_next(actor=two, project=team.project).generation == generation


@any_database
def test_pauses_and_languages_hold_for_generations_too(team):
    one, two, _ = team.annotators
    MemberAbilities.objects.create(project=team.project, user=one, languages=["zh"])
    make_waiting(team)
    assert claims.claim_next(actor=one, project=team.project) is None
    pause(actor=team.administrator, project=team.project, person=two)
    with pytest.raises(Conflict, match="paused"):
        claims.claim_next(actor=two, project=team.project)
    assert unread(one) == []


@pytest.mark.any_database
def test_two_live_claims_are_refused_by_the_database(team):
    generation = make_waiting(team)
    claim = claims.claim_next(actor=team.annotator, project=team.project)
    wrong = (
        {"person": team.senior},
        {"state": "released"},
        {"state": "expired", "ended_at": claim.expires_at, "expires_at": claim.created_at},
    )
    for fields in wrong:
        given = {"person": team.annotator, "created_at": claim.created_at, "expires_at": claim.expires_at} | fields
        with pytest.raises(IntegrityError), transaction.atomic():
            GenerationClaim.objects.create(generation=generation, project=team.project, **given)


@any_database
def test_people_are_told_once_that_generations_wait_and_the_requester_how_they_end(team):
    first, second = make_waiting(team, "one"), make_waiting(team, "two")
    everybody = [team.administrator, *team.annotators, *team.seniors]
    assert [unread(person) for person in everybody] == [
        ["The generation one waits for a person. Others may be waiting too."]
    ] * 5
    assert unread(team.outsider) == []
    client = Client()
    client.force_login(team.annotator)
    client.get(reverse("generation", args=[team.project.slug, first.public_id]))
    assert unread(team.annotator) == []
    finish(first, team.annotator)
    assert unread(team.administrator)[-1] == "The generation one is done: its dialogue is a candidate now."
    # The administrator paused it, so only another person would be told.
    pause_generation(actor=team.administrator, generation=second)
    assert len(unread(team.administrator)) == 2
    reject_candidates(actor=team.administrator, generation=second, reason="Too short.")
    assert work(second).status == "paused"
    assert "The generation two is paused. There is no recorded answer to request 2" in unread(team.administrator)[-1]


@any_database
def test_the_pages_show_the_claim_and_keep_what_was_typed_when_it_was_lost(team):
    generation = make_waiting(team)
    one, two, _ = team.annotators
    address = reverse("generation", args=[team.project.slug, generation.public_id])
    clients = {}
    for person in (one, two, team.administrator):
        clients[person] = Client()
        clients[person].force_login(person)

    def page(person, path=address):
        return unescape(one_line(clients[person].get(path)))

    work_page = page(one, reverse("home"))
    next_ = reverse("generation-next", args=[team.project.slug])
    assert next_ in work_page
    paused, _ = pause(actor=team.administrator, project=team.project)
    assert next_ not in page(one, reverse("home"))
    assert "Paused" in page(one, reverse("home"))
    resume(actor=team.administrator, project=team.project, public_id=paused.public_id)
    assert 'name="act" value="choose"' not in page(one)
    answer = clients[one].post(next_)
    assert answer["Location"] == address
    shown = page(one)
    assert "You have claimed this generation until" in shown
    assert 'name="act" value="choose"' in shown
    assert "<assay-heartbeat" in shown
    assert clients[one].post(address + "heartbeat/").status_code == 204
    assert 'href="' + address in page(one, reverse("home"))
    assert next_ not in page(two, reverse("home"))
    listed = page(two, reverse("generation-list", args=[team.project.slug]))
    assert "Claimed by" in listed
    assert "Ann1" in listed
    theirs = page(two)
    assert "has claimed this generation until" in theirs
    assert 'value="take_over"' not in theirs
    assert 'value="take_over"' in page(team.administrator)
    assert clients[team.administrator].post(address, {"act": "take_over"}).status_code == 302
    data = {"act": "choose", "seen": len(generation.state["events"]), "candidate": "c1", "text": "Will Graz be dry?"}
    refused = clients[one].post(address, data)
    assert refused.status_code == 409
    text = unescape(one_line(refused))
    assert "Ada has claimed this generation" in text
    assert "Will Graz be dry?" in text
    assert clients[one].post(address + "heartbeat/").status_code == 409
    assert clients[one].post(address + "heartbeat/", {"leaving": "1"}).status_code == 204
    assert clients[team.administrator].post(address, {"act": "release"}).status_code == 302
    assert clients[one].post(address, data).status_code == 302
    assert clients[two].post(reverse("generation-next", args=[team.project.slug]), follow=True).status_code == 200


@any_database
def test_a_poll_gets_nothing_while_nothing_has_changed(team):
    generation = make_waiting(team)
    choose_candidate(actor=team.annotator, generation=generation, candidate="c1")
    client = Client()
    client.force_login(team.annotator)
    address = reverse("generation", args=[team.project.slug, generation.public_id])
    version = client.get(address).context["version"]
    poll = {"HX-Request": "true", "HX-Target": "generation-state"}
    assert client.get(address, headers=poll | {"X-Known": "other"}).status_code == 200
    assert client.get(address, headers=poll | {"X-Known": version}).status_code == 204
    Generation.objects.filter(pk=generation.pk).update(requests=7)
    changed = client.get(address, headers=poll | {"X-Known": version})
    assert (changed.status_code, f'"X-Known": "{version}"' in unescape(changed.content.decode())) == (200, False)
    work(generation)
    assert client.get(address, headers=poll | {"X-Known": version})["HX-Refresh"] == "true"


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("waiting", [1, 2])
def test_two_people_never_get_the_same_generation(team, waiting):
    names = [make_waiting(team, f"trip-{number}").pk for number in range(waiting)]
    got = race(*(lambda person=person: claims.claim_next(actor=person, project=team.project)
                 for person in team.annotators[:2]))  # fmt: skip
    held = [one.generation_id for one in got if one is not None]
    assert sorted(held) == names
    assert GenerationClaim.objects.filter(state="live").count() == waiting


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_two_people_who_act_in_a_free_generation_one_is_refused(team):
    generation = make_waiting(team)
    one, two, _ = team.annotators
    got = race(
        lambda: choose_candidate(actor=one, generation=generation, candidate="c1", seen=1),
        lambda: claims.claim_generation(actor=two, generation=generation),
        lambda: claims.claim_generation(actor=one, generation=generation),
    )
    people = set(GenerationClaim.objects.filter(state="live").values_list("person", flat=True))
    assert len(people) <= 1
    assert any(not isinstance(one, Exception) for one in got)
    assert all(isinstance(one, Conflict) for one in got if isinstance(one, Exception))
