"""Claims on translations: one of a known answer is only for overseers; the pages keep, poll and say who works."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from annotator.models import Dialogue, Notice
from benchmark.models import GenerationClaim
from benchmark.services.generation import claims, people
from benchmark.services.generation.notices import tell_waiting
from benchmark.services.generation.reading import read_texts
from tests.api_client import ApiClient
from tests.benchmark.generation.test_translations import chinese, from_records
from tests.benchmark.generation.test_translations import source as source
from tests.pages import one_line

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]


@pytest.fixture
def stuck(team, source):
    """A translation whose two values are written, and whose messages people must write."""
    return from_records(team, source, json.dumps({"texts": {"v1": "海港博物馆", "v2": "古海图展"}}), "no", retries=0)


def test_what_shows_a_known_answer_waits_for_overseers_only(team, source, stuck):
    assert stuck.status == "waiting"
    one, two = team.annotators[:2]
    held = claims.claim_next(actor=one, project=team.project)
    assert held.generation == stuck
    # The API of dialogues does not offer it, not even to the person who has claimed it.
    assert ApiClient(one).send(f"/api/projects/{team.project.slug}/generations/next/").status_code == 204
    Dialogue.objects.filter(pk=source.pk).update(gold_role="answer")
    assert claims.claims_of(actor=one, project=team.project) == []
    claims.release_claim(actor=team.administrator, generation=stuck)
    Notice.objects.all().delete()
    tell_waiting(stuck)
    assert set(Notice.objects.values_list("person", flat=True)) == {team.administrator.pk, team.senior.pk}
    assert claims.claim_next(actor=two, project=team.project) is None
    client = Client()
    client.force_login(two)
    next_ = reverse("generation-next", args=[team.project.slug])
    assert next_ not in one_line(client.get(reverse("home")))
    assert client.post(next_)["Location"] == reverse("home")
    client.force_login(team.senior)
    assert next_ in one_line(client.get(reverse("home")))
    assert client.post(next_)["Location"] == reverse("generation", args=[team.project.slug, stuck.public_id])


def test_a_text_page_keeps_the_claim_and_what_was_typed(team, stuck):
    one, two = Client(), Client()
    one.force_login(team.annotators[0])
    two.force_login(team.annotators[1])
    address = reverse("generation", args=[team.project.slug, stuck.public_id])
    key = read_texts(stuck).waiting()[0].key
    there = reverse("generation-text", args=[team.project.slug, stuck.public_id, key])
    claims.claim_generation(actor=team.annotators[0], generation=stuck)
    assert address + "heartbeat/" in one_line(one.get(there))
    theirs = one_line(two.get(there))
    assert "has claimed this generation, so you can’t write in it now" in theirs
    assert "<textarea" not in theirs
    assert 'value="retry"' in one_line(one.get(address))
    assert 'value="retry"' not in one_line(two.get(address))
    data = {"text": "我想订票。", "seen": len(stuck.state["events"])}
    refused = two.post(there, data)
    assert (refused.status_code, "我想订票。</textarea>" in one_line(refused)) == (409, True)
    # A colleague has written it meanwhile: both texts are there, and what was typed can be sent after all.
    GenerationClaim.objects.filter(state="live").update(state="released", ended_at="2026-01-01T00:00Z")
    written = chinese(read_texts(stuck).setup.by_key[key].text)
    people.write_text(actor=team.annotators[0], generation=stuck, key=key, text=written, work=False)
    GenerationClaim.objects.filter(state="live").update(state="released", ended_at="2026-01-01T00:00Z")
    refused = two.post(there, data)
    shown = one_line(refused)
    assert (refused.status_code, "Stored now" in shown, written in shown) == (409, True, True)
    assert refused.context["seen"] == data["seen"] + 1
    assert "我想订票。</textarea>" in shown


def test_a_poll_of_texts_gets_nothing_while_nothing_has_changed(team, stuck):
    client = Client()
    client.force_login(team.administrator)
    address = reverse("generation", args=[team.project.slug, stuck.public_id])
    state = read_texts(stuck)
    people.retry_step(actor=team.administrator, generation=stuck, seen=len(state.events))
    version = client.get(address).context["version"]
    poll = {"HX-Request": "true", "HX-Target": "texts-state"}
    assert client.get(address, headers=poll | {"X-Known": version}).status_code == 204
    changed = client.get(address, headers=poll | {"X-Known": "other"})
    assert (changed.status_code, version in changed.content.decode()) == (200, True)
