"""Translations in the application: asked, recorded, paid once, written by people, and a variant in review."""

import json
import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Event
from annotator.models.content import DialogueStatus
from annotator.services.dialogues.variant_comparison import compare_with_variant
from annotator.services.jobs import jobs
from annotator.translation import translated
from benchmark.core.generation.kinds import core_of
from benchmark.core.generation.purposes import Purpose, shipped_template
from benchmark.core.generation.records import Recorded
from benchmark.core.generation.templates import render
from benchmark.core.generation.texts import steps
from benchmark.demo.chat_server import said, serving
from benchmark.models import Chooser, Generation, Proposal
from benchmark.services.generation import people, stepping
from benchmark.services.generation.asking import tokens_of
from benchmark.services.generation.reading import load_generation, read_texts
from benchmark.services.generation.records import recorded_answers
from benchmark.services.generation.requests import Player, continue_generation
from benchmark.services.generation.translating import start_translation, translatable_languages
from benchmark.services.inference.endpoints import add_endpoint
from benchmark.services.inference.options import Options
from benchmark.services.inference.requests import Budget
from reviews.models import Slot
from reviews.services.history.dialogue_history import read_history
from reviews.services.variant_creation import make_variant
from tests.benchmark.generation.test_text_steps import TOOLS, document
from tests.benchmark.generation.text_replays import replay
from tests.factories import adopt_c3, begin, make_dialogue, make_toolset
from tests.pages import one_line
from tests.reviews.cycles.test_variant_creation import edit

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]

CHINESE = {"Harbour Museum": "海港博物馆", "Old Sea Charts": "古海图展"}
ASKED = re.compile(r"^(\w+) \([^)]+\): (\".*\")$", re.M)


def chinese(text):
    """Translate anything: the terms, as many signs as it has words, and the numbers and codes."""
    kept = re.findall(r"2026-05-16|BK-5531|31\.50|10", text)
    return CHINESE.get(text) or "海港博物馆" * ("Harbour" in text) + "译" * len(text.split()) + " ".join(kept)


def answer_to(prompt, **changed):
    texts = {key: chinese(json.loads(text)) for key, text in ASKED.findall(prompt)}
    return json.dumps({"texts": texts | {key: one for key, one in changed.items() if key in texts}})


def script(body):
    return said(answer_to(body["messages"][0]["content"]))


@pytest.fixture
def source(team):
    adopt_c3(team)
    toolset = make_toolset(team.project, TOOLS, "museum")
    made = make_dialogue(team.project, document(), external_id="visit", language="en", toolset=toolset)
    begin(team.project, [made])
    return Dialogue.objects.select_related("project", "head").get(pk=made.pk)


@pytest.fixture
def start(team, source):
    """Start to translate the source at an endpoint; ``run=False`` leaves the job to the test."""

    def begin_(server, *, run=True, options=None, **more):
        endpoint = add_endpoint(
            actor=team.administrator, project=team.project, name="Local", base_url=server.url, key="sk-secret"
        )
        generation = start_translation(
            actor=team.administrator, dialogue=source, language="zh", wake_worker=False,
            player=Player("m", endpoint, options or Options()), **more,
        )  # fmt: skip
        return work(generation) if run else generation

    return begin_


def work(generation, **more):
    jobs.run(Generation.objects.get(pk=generation.pk).job_id, **more)
    return Generation.objects.select_related("job", "dialogue", "project", "source").get(pk=generation.pk)


def from_records(team, source, *answers, **more):
    records = [Recorded("visit-zh", number, "", one, "translation", "m") for number, one in enumerate(answers, 1)]
    generation = start_translation(
        actor=team.administrator, dialogue=source, language="zh", records=records, wake_worker=False, **more
    )
    return work(generation)


def test_a_translation_is_an_aligned_variant_in_review(team, source, start):
    with serving(script) as server:
        generation = start(server)
    assert generation.status == "done", generation.reason
    made = generation.dialogue
    assert (made.external_id, made.language, made.status) == ("visit-zh", "zh", DialogueStatus.IN_REVIEW)
    assert made.variant_group == Dialogue.objects.get(pk=source.pk).variant_group == "visit"
    assert Slot.objects.filter(dialogue=made).exists()
    found = compare_with_variant(actor=team.administrator, dialogue=made, other=source.public_id)
    assert (found.comparison.found, found.stale, found.variant.why) == ([], [], "")
    # Two batches: the values, then what people say.
    assert generation.requests == generation.calls.count() == len(server.asked) == 2
    call = generation.calls.get(number=2)
    assert (call.purpose, call.role, call.template.content) == (
        "translation", "writer", shipped_template(Purpose.TRANSLATION)
    )  # fmt: skip
    event = Event.objects.get(dialogue=made, kind="dialogue.translated")
    provenance = {one["place"]: one for one in event.after["provenance"]}
    assert provenance["/tasks/t1/user_message"] == {
        "place": "/tasks/t1/user_message", "role": "writer", "by": "model", "model": "m", "call": 2,
        "prompt": call.template.sha256,
    }  # fmt: skip
    texts = [one.text for one in read_history(actor=team.administrator, dialogue=made)]
    assert "Translated by models and people" in texts
    rows = Proposal.objects.filter(generation=generation)
    assert {(one.role, one.purpose, one.outcome, one.model) for one in rows} == {
        ("writer", "translation", "accepted", "m")
    }
    # The same answers give the same bytes, with the same requests.
    Dialogue.objects.filter(pk=made.pk).update(variant_group="", external_id="other")
    Generation.objects.filter(pk=generation.pk).update(name="other")
    again = from_records(team, Dialogue.objects.get(pk=source.pk), *[r.answer for r in recorded_answers(generation)])
    assert again.dialogue.head.content == made.head.content
    assert [one.request_sha256 for one in again.calls.order_by("number")] == [
        one.request_sha256 for one in generation.calls.order_by("number")
    ]


@pytest.mark.parametrize("method", ["_store_answer", "store_candidate"])
def test_killed_in_the_middle_nothing_is_asked_twice(start, monkeypatch, method):
    with serving(script) as server:
        generation = start(server, run=False)

        original, calls = getattr(stepping, method), []

        def dies(*arguments, **more):
            result = original(*arguments, **more)
            calls.append(None)
            if len(calls) == 2 or method == "store_candidate":
                raise KeyboardInterrupt
            return result

        with monkeypatch.context() as patched:
            patched.setattr(stepping, method, dies)
            with pytest.raises(KeyboardInterrupt):
                jobs.run(generation.job_id)
        generation = work(generation, heartbeat_timeout=timedelta(0))
        if method == "_store_answer":
            assert "Request 2 was sent" in translated(generation.reason)
            assert len(server.asked) == 2
            continue_generation(actor=None, generation=generation, send_again=True, wake_worker=False)
            generation = work(generation)
    assert generation.status == "done"
    assert len(server.asked) == 2 + (method == "_store_answer")
    assert Dialogue.objects.filter(language="zh").count() == 1


def test_a_budget_pauses_it_and_what_was_paid_stays(team, start):
    # Enough for the first request and its longest reply, but not for the second one.
    with serving(script) as server:
        state = read_texts(start(server, run=False, options=Options(max_tokens=1_000)))
        turn = steps.waits_for(state)
        assert turn is not None
        first = tokens_of(render(Purpose.TRANSLATION, shipped_template(Purpose.TRANSLATION), turn.values))
        Generation.objects.update(token_budget=1_000 + first + 50)
        generation = work(Generation.objects.get())
        assert (generation.status, generation.requests) == ("paused", 1)
        assert "The budget is used up" in translated(generation.reason)
        continue_generation(actor=team.administrator, generation=generation, budget=Budget(), wake_worker=False)
        generation = work(generation)
    assert (generation.status, len(server.asked)) == ("done", 2)


def test_what_has_changed_meanwhile_is_stale_in_the_variant(team, source, start):
    with serving(script) as server:
        generation = start(server, run=False)
        edit(team, source, user_message="Book the Harbour Museum for 2026-05-16.")
        generation = work(generation)
    made = generation.dialogue
    assert made.head.document()["tasks"][0]["user_message"].startswith("海港博物馆")
    found = compare_with_variant(actor=team.administrator, dialogue=made, other=source.public_id)
    assert [(one.side, one.place) for one in found.stale] == [(0, "/tasks/t1/user_message")]


def test_if_the_variant_exists_meanwhile_the_translation_fails(team, source, start):
    with serving(script) as server:
        generation = start(server, run=False)
        make_variant(actor=team.administrator, dialogue=source, language="zh")
        generation = work(generation)
    assert (generation.status, generation.dialogue) == ("failed", None)
    assert "already has a variant" in translated(generation.reason)


def test_retries_then_a_person_then_the_rest(team, source):
    values = json.dumps({"texts": {"v1": "海港博物馆", "v2": "古海图展"}})
    generation = from_records(team, source, values, "no", "I can't.", retries=1)
    assert (generation.status, generation.requests) == ("waiting", 3)
    state = read_texts(generation)
    assert state.stuck
    with pytest.raises(Invalid):
        people.write_text(actor=team.annotator, generation=generation, key="s1", text="Please book it now for me.")
    with pytest.raises(Conflict):
        people.choose_candidate(actor=team.annotator, generation=generation, candidate="c1")
    with pytest.raises(Conflict, match="gone on"):
        people.write_text(actor=team.annotator, generation=generation, key="s1", text="请订票", seen=1)
    for one in state.waiting():
        people.write_text(actor=team.annotator, generation=generation, key=one.key, text=chinese(one.text))
        generation = work(generation)
    assert generation.status == "done", generation.reason
    provenance = Event.objects.get(kind="dialogue.translated").after["provenance"]
    values = ("/arguments/", "/observation/")
    assert {one["by"] for one in provenance if not any(part in one["place"] for part in values)} == {"person"}
    again = replay(state.setup, generation.state["events"])
    assert json.dumps(again.to_json()) == json.dumps(core_of("translation").read(
        generation.setup, generation.state, TOOLS).to_json())  # fmt: skip


def test_who_translates_what(team, source):
    fields = {"dialogue": source, "language": "zh", "wake_worker": False}
    assert translatable_languages(source) == ["zh"]
    for person in (team.annotator, team.senior):
        with pytest.raises(Denied):
            start_translation(actor=person, **fields)
    for wrong in ({"language": "en"}, {"retries": 99}, {"player": Player(" ")}):
        with pytest.raises(Invalid):
            start_translation(actor=team.administrator, **fields | wrong)
    generation = start_translation(actor=team.administrator, **fields)
    with pytest.raises(Conflict, match="visit-zh"):
        start_translation(actor=team.administrator, **fields)
    # Who may be tested on an answer sees no translation of it.
    assert load_generation(actor=team.annotator, project=team.project, public_id=generation.public_id)
    Dialogue.objects.filter(pk=source.pk).update(gold_role="answer")
    with pytest.raises(Hidden):
        load_generation(actor=team.annotator, project=team.project, public_id=generation.public_id)


def test_the_pages_from_the_dialogue_to_its_variant(team, source):
    client = Client()
    client.force_login(team.administrator)
    slug = team.project.slug
    where = reverse("translate-dialogue", args=[slug, source.public_id])
    assert where in client.get(source.get_absolute_url()).content.decode()
    assert client.get(where).status_code == 200
    for wrong in ({"language": "fr"}, {"language": "zh", "model": "m"}, {"language": "zh", "cost_budget": "1"}):
        assert client.post(where, wrong).status_code == 422
    values, messages = ({"texts": {"v1": "海港博物馆", "v2": "古海图展"}}, {"texts": {"s1": "没有"}})
    lines = b"".join(
        Recorded("visit-zh", number, "", json.dumps(one), "translation", "m").to_line()
        for number, one in enumerate((values, messages), 1)
    )
    file = SimpleUploadedFile("answers.jsonl", lines)
    answer = client.post(where, {"language": "zh", "records": file, "retries": "0", "look": "on"})
    assert answer.status_code == 302, answer.content.decode()
    generation = work(Generation.objects.get())
    assert (generation.chooser, generation.status) == (Chooser.PEOPLE, "waiting")
    page = client.get(answer["Location"])
    assert page.status_code == 200
    text = one_line(page)
    assert "Texts written: 2 of 9." in text
    assert "A person must write it" in text
    assert "1 answer was not accepted" in text
    assert "“2026-05-16” must stay as it is." in text
    assert one_line(client.get(where)).count("visit-zh") == 1
    annotator = Client()
    annotator.force_login(team.annotator)
    for one in read_texts(generation).waiting():
        there = reverse("generation-text", args=[slug, generation.public_id, one.key])
        shown = annotator.get(there)
        assert one.text in one_line(shown).replace("&#x27;", "'")
        generation = Generation.objects.get(pk=generation.pk)
        seen = len(generation.state["events"])
        assert annotator.post(there, {"text": "", "seen": seen}).status_code == 422
        assert annotator.post(there, {"text": chinese(one.text), "seen": seen + 1}).status_code == 409
        assert annotator.post(there, {"text": chinese(one.text), "seen": seen}).status_code == 302
        generation = work(generation)
    assert client.get(reverse("generation-text", args=[slug, generation.public_id, "s99"])).status_code == 404
    page = one_line(annotator.get(answer["Location"]))
    assert "Use these texts" in page
    seen = len(generation.state["events"])
    assert annotator.post(answer["Location"], {"act": "retry", "seen": seen}).status_code == 422
    assert annotator.post(answer["Location"], {"act": "choose", "seen": seen}).status_code == 422
    assert annotator.post(answer["Location"], {"act": "accept", "seen": seen}).status_code == 302
    generation = work(generation)
    assert generation.status == "done", generation.reason
    page = one_line(client.get(answer["Location"]))
    assert generation.dialogue.get_absolute_url() in page
    assert "A look at the texts" not in one_line(client.get(reverse("generation-list", args=[slug])))
    assert "Translation" in one_line(client.get(reverse("generation-list", args=[slug])))
    there = one_line(client.get(generation.dialogue.get_absolute_url()))
    assert reverse("generation", args=[slug, generation.public_id]) in there
    assert where not in one_line(client.get(source.get_absolute_url()))
    assert "There is nothing to translate here" in one_line(client.get(where))
    figures = one_line(client.get(reverse("generation-figures", args=[slug])))
    assert "Writer" in figures
