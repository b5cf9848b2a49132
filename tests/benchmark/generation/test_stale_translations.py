"""Stale places of a variant, translated again: only they are asked for, and what people changed stays."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from annotator.errors import Conflict, Denied, Invalid
from annotator.models import Dialogue, Event
from annotator.models.content import DialogueStatus
from annotator.services.dialogues.variant_comparison import compare_with_variant
from annotator.translation import translated
from benchmark.core.generation.records import Recorded
from benchmark.models import Generation
from benchmark.services.generation import people
from benchmark.services.generation.reading import read_texts, shows_known_answer
from benchmark.services.generation.renewing import start_renewal
from benchmark.services.generation.requests import continue_generation
from benchmark.services.generation.translating import start_translation
from reviews.models import CoAuthor, Cycle
from reviews.services.queue.claims import claim_slot, release
from reviews.services.variant_creation import make_variant
from tests.benchmark.generation.finding import seen_by
from tests.benchmark.generation.test_translations import chinese, source, work  # noqa: F401
from tests.reviews.cycles.test_variant_creation import edit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]

PLACE = "/tasks/t1/user_message"
CHANGED = "Book the Harbour Museum for 2026-05-17."


def current(dialogue):
    return Dialogue.objects.select_related("project", "head").get(pk=dialogue.pk)


@pytest.fixture
def variant(team, source):  # noqa: F811
    """Translate the source by hand; return its variant."""
    generation = start_translation(actor=team.administrator, dialogue=source, language="zh", work=False)
    for one in read_texts(generation).setup.texts:
        people.write_text(actor=team.annotator, generation=generation, key=one.key, text=chinese(one.text))
        generation = Generation.objects.get(pk=generation.pk)
    return current(work(generation).dialogue)


def renew(team, dialogue, other, *answers, **more):
    name = f"{dialogue.external_id}-r{dialogue.head.number}-r{other.head.number}"
    records = [Recorded(name, number, "", one, "translation", "m") for number, one in enumerate(answers, 1)]
    return start_renewal(
        actor=team.administrator, dialogue=dialogue, other=other.public_id, records=records, wake_worker=False, **more
    )


def answer(text):
    return json.dumps({"texts": {"s1": text}})


def stale(team, dialogue, other):
    found = compare_with_variant(actor=team.annotator, dialogue=current(dialogue), other=other.public_id)
    return [(one.side, one.place) for one in found.stale]


def test_only_stale_places_are_translated_and_reviewed_again(team, source, variant):  # noqa: F811
    with pytest.raises(Invalid):
        renew(team, variant, source, answer("x"))
    changed = edit(team, source, user_message=CHANGED)
    with pytest.raises(Denied):
        start_renewal(actor=team.senior, dialogue=variant, other=source.public_id)
    before = variant.head.document()
    # The museum has the name that the arguments have.
    generation = renew(team, variant, changed, answer("预订博物馆 2026-05-17"), answer("预订海港博物馆 2026-05-17"))
    with pytest.raises(Conflict, match="visit-zh-r1-r2"):
        renew(team, variant, changed)
    generation = work(generation)
    assert (generation.status, generation.requests, generation.dialogue) == ("done", 2, None), generation.reason
    variant = current(variant)
    before["tasks"][0]["user_message"] = "预订海港博物馆 2026-05-17"
    assert variant.head.document() == before
    assert (variant.head.number, variant.status) == (2, DialogueStatus.IN_REVIEW)
    assert Cycle.objects.filter(dialogue=variant).count() == 2
    assert stale(team, variant, source) == []
    event = Event.objects.get(dialogue=variant, kind="dialogue.translated_again")
    assert [one["place"] for one in event.after["provenance"]] == [PLACE]


def test_what_has_changed_meanwhile_stays(team, source, variant):  # noqa: F811
    changed = edit(team, source, user_message=CHANGED, text="Booked: BK-5531, 31.50 EUR.")
    texts = {"texts": {"s1": "预订海港博物馆 2026-05-17", "s2": "订好了 BK-5531, 31.50"}}
    generation = renew(team, variant, changed, json.dumps(texts))
    edit(team, variant, user_message="我们的话 2026-05-17")
    generation = work(generation)
    assert generation.status == "done", generation.reason
    task = current(variant).head.document()["tasks"][0]
    assert (task["user_message"], task["steps"][-1]["text"]) == ("我们的话 2026-05-17", "订好了 BK-5531, 31.50")

    changed = edit(team, source, user_message="Book the Harbour Museum for 2026-05-18.")
    generation = renew(team, current(variant), changed, answer("预订海港博物馆 2026-05-18"))
    edit(team, source, user_message="Book the Harbour Museum for 2026-05-19.")
    head = current(variant).head_id
    generation = work(generation)
    assert (generation.status, current(variant).head_id) == ("failed", head)
    assert "have changed meanwhile" in translated(generation.reason)
    assert stale(team, variant, source) == [(0, PLACE)]


def test_while_the_variant_is_claimed_the_texts_wait(team, source, variant):  # noqa: F811
    changed = edit(team, source, user_message=CHANGED)
    generation = renew(team, variant, changed, answer("预订海港博物馆 2026-05-17"))
    slot = variant.cycles.get().stage_runs.get().slots.first()
    reviewer = team.annotators[1]
    claim = claim_slot(actor=reviewer, slot=slot)
    head = variant.head_id
    generation = work(generation)
    assert (generation.status, current(variant).head_id) == ("paused", head), generation.reason
    release(actor=reviewer, token=claim.token)
    continue_generation(actor=team.administrator, generation=generation, wake_worker=False)
    generation = work(generation)
    assert (generation.status, generation.requests) == ("done", 1), generation.reason


def test_the_pages_of_both_variants_lead_to_it(team, source, variant):  # noqa: F811
    client = Client()
    client.force_login(team.administrator)
    slug = team.project.slug
    both = reverse("variant", args=[slug, source.public_id, variant.public_id])
    there = reverse("renew-variant", args=[slug, variant.public_id, source.public_id])
    assert there not in client.get(both).content.decode()
    assert "There is nothing to translate here" in client.get(there).content.decode()
    edit(team, source, user_message=CHANGED)
    assert there in client.get(both).content.decode()
    assert CHANGED in client.get(there).content.decode()
    assert client.post(there, {"model": "m"}).status_code == 422
    made = client.post(there, {})
    assert made.status_code == 302
    generation = work(Generation.objects.get(kind="renewal"))
    translate = reverse("translate-dialogue", args=[slug, generation.source.public_id])
    assert generation.public_id not in client.get(translate).content.decode()
    assert "A person must write it" in client.get(made["Location"]).content.decode()
    people.write_text(actor=team.annotator, generation=generation, key="s1", text="预订海港博物馆")
    generation = work(generation)
    assert generation.status == "done"
    assert reverse("variant", args=[slug, variant.public_id, source.public_id]) in client.get(
        made["Location"]
    ).content.decode()  # fmt: skip
    assert CoAuthor.objects.filter(dialogue=variant, person=team.annotator).exists()


def test_after_a_failure_a_dialogue_can_be_translated_again(team, source):  # noqa: F811
    start = {"actor": team.administrator, "dialogue": source, "language": "zh", "work": False}
    first = start_translation(**start)
    Generation.objects.filter(pk=first.pk).update(status="failed")
    assert start_translation(**start).name == "visit-zh-2"
    with pytest.raises(Conflict):
        start_translation(**start)
    Generation.objects.update(status="failed")
    made = make_variant(actor=team.administrator, dialogue=source, language="zh")
    Dialogue.objects.filter(pk=made.pk).update(variant_group="")
    with pytest.raises(Conflict, match="visit-zh"):
        start_translation(**start)


def test_a_known_answer_that_is_translated_again_is_hidden(team, source, variant):  # noqa: F811
    edit(team, source, user_message=CHANGED)
    generation = work(renew(team, variant, current(source), "no", retries=0))
    assert (generation.status, generation.target, generation.dialogue) == ("waiting", variant, None)
    everywhere = ["list", "page", "My work"]
    assert seen_by(team.annotator, generation) == everywhere
    assert not shows_known_answer(generation)
    Dialogue.objects.filter(pk=variant.pk).update(gold_role="answer")
    assert shows_known_answer(generation)
    assert seen_by(team.annotator, generation) == []
    assert seen_by(team.administrator, generation) == everywhere
