"""Constructed cases whose sentences a model puts into other words before they are imported."""

import json
import re
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.test import Client
from django.urls import reverse

from annotator.errors import Invalid
from annotator.models import Dialogue, Event, Finding
from benchmark.core.constructing import Options
from benchmark.core.generation.records import Recorded
from benchmark.demo.chat_server import said, serving
from benchmark.models import Generation
from benchmark.services.constructing import rewriting as rewritings
from benchmark.services.constructing.requests import start_constructing
from benchmark.services.constructing.rewriting import Rewriting
from benchmark.services.constructing.rewritten import finish_rewriting
from benchmark.services.constructing.sources import Request
from benchmark.services.generation import people
from benchmark.services.generation.reading import read_texts
from benchmark.services.inference.endpoints import add_endpoint
from reviews.services.history.dialogue_history import event_words
from tests.benchmark.conftest import as_lines
from tests.benchmark.constructing.test_construction_service import FULL, constructed, record, with_sources
from tests.benchmark.constructing.test_construction_service import team as team
from tests.benchmark.releases.test_single_tasks import run_jobs
from tests.factories import Team
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

ASKED = re.compile(r"^(\w+) \(([^)]+)\): (\".*\")$", re.M)


def other_words(prompt: str) -> str:
    """Put the number of calls into other words; give the rule of rounds another number; keep the others."""
    texts = {}
    for key, category, text in ASKED.findall(prompt):
        written = json.loads(text)
        if category == "tool call count":
            written = f"Overall: {written[0].lower()}{written[1:]}"
        elif category == "interaction rounds":
            written = "Be done in at most 99 rounds, counting the final response."
        texts[key] = written
    return json.dumps({"texts": texts})


def test_the_page_makes_rewrites_and_imports(team: Team) -> None:
    with_sources(team)
    client = Client()
    client.force_login(team.administrator)
    url = reverse("construct-cases", args=[team.project.slug])
    asked = {"sources": "ferry", "seed": "7", "percent": "100", "make": "", "model": "m", "retries": "1"}
    assert client.post(url, asked).status_code == 422
    with serving(lambda body: said(other_words(body["messages"][0]["content"]))) as server:
        endpoint = add_endpoint(
            actor=team.administrator, project=team.project, name="Local", base_url=server.url, key="sk"
        )
        assert client.post(url, asked | {"endpoint": endpoint.public_id, "cost_budget": "1"}).status_code == 422
        assert client.post(url, asked | {"endpoint": endpoint.public_id, "look": "on"}).status_code == 302
        run_jobs()
        generation = Generation.objects.get()
        assert (generation.name, generation.status) == ("constrained-cases-s7", "waiting")
        assert not constructed(team)
        where = reverse("generation", args=[team.project.slug, generation.public_id])
        assert where in one_line(client.get(url))
        page = one_line(client.get(where))
        assert "ferry-s7: tool call count" in page
        assert "Stays as it was" in page
        own = next(one for one in read_texts(generation).setup.texts if one.about == "length")
        people.write_text(actor=team.annotator, generation=generation, key=own.key, text=own.text)
        run_jobs()
        generation.refresh_from_db()
        assert client.post(where, {"act": "release"}).status_code == 302
        assert client.post(where, {"act": "accept", "seen": len(generation.state["events"])}).status_code == 302
        run_jobs()
    generation.refresh_from_db()
    assert (generation.status, len(server.asked)) == ("done", 2)
    assert "Show the import" in one_line(client.get(where))
    (one,) = constructed(team)
    assert list(one.co_authors.values_list("person", flat=True)) == [team.annotator.pk]
    document = one.head.document()
    rules = {rule["category"]: rule for rule in document["constraints"]}
    assert rules["tool call count"]["anchor"].startswith("Overall: make ")
    assert rules["tool call count"]["anchor"] in document["system_prompt"]
    assert rules["interaction rounds"]["anchor"] is None
    found = Finding.objects.filter(dialogue=one).exclude(severity="info").values_list("check_id", flat=True)
    assert list(found) == ["dialogue.near_duplicate"]
    words = event_words(Event.objects.get(dialogue=one, kind="dialogue.constructed"), {})
    assert "Sentences in other words: tool call count." in words
    assert "interaction rounds: No usable answer. “" in words


def test_too_many_cases_are_refused_and_failures_are_told(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    with_sources(team)
    given = {"actor": team.administrator, "project": team.project, "request": FULL, "wake_worker": False}
    with monkeypatch.context() as patched:
        patched.setattr(rewritings, "MAX_CASES", 1)
        with pytest.raises(Invalid, match="at most 1 cases"):
            start_constructing(rewriting=Rewriting("m"), **given)
    with pytest.raises(Invalid, match="0 to 10 retries"):
        start_constructing(rewriting=Rewriting("m", retries=11), **given)


def test_the_command_gives_the_same_cases_from_recorded_answers(
    team: Team, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with_sources(team)
    client = Client()
    client.force_login(team.administrator)
    queries, records = tmp_path / "queries.jsonl", tmp_path / "answers.jsonl"
    queries.write_bytes(as_lines([record("ferry")]))
    # What the model would answer is known once the request is.
    records.write_bytes(Recorded("none", 9, "", "no", "rewriting", "m").to_line())
    options = ("--seed", "7", "--probability", "1", "--rewrite", str(records))
    with pytest.raises(CommandError, match="no answer to request 1 of constrained-cases-s7"):
        call_command("make_constrained_cases", str(queries), *options)
    chosen = ("--project", team.project.slug, "--unverified", "--source", "ferry")
    with pytest.raises(CommandError, match="answer to request 1"):
        call_command("make_constrained_cases", *options, *chosen)
    generation = Generation.objects.get()
    answer = other_words(generation.calls.get().prompt)
    Generation.objects.update(name="earlier")
    lines = [Recorded("constrained-cases-s7", number, "", answer, "rewriting", "m") for number in (1,)]
    spare = json.dumps({"texts": {key: "no" for key, category, _text in ASKED.findall(generation.calls.get().prompt)
                                  if category == "interaction rounds"}})  # fmt: skip
    lines += [Recorded("constrained-cases-s7", number, "", spare, "rewriting", "m") for number in (2, 3)]
    records.write_bytes(b"".join(one.to_line() for one in lines))
    capsys.readouterr()
    call_command("make_constrained_cases", str(queries), *options)
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert line["constructed"]["rewritten"] == ["tool call count"]
    call_command("make_constrained_cases", *options, *chosen)
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["made"] == 1
    (one,) = constructed(team)
    made = one.head.document()
    assert {key: made[key] for key in ("system_prompt", "constraints")} == {
        key: line["document"][key] for key in ("system_prompt", "constraints")
    }
    assert Generation.objects.filter(status="done", kind="rewriting").count() == 1


def test_a_source_that_is_gone_fails_the_rewriting(team: Team) -> None:
    with_sources(team)
    request = Request(Options(7, 1.0), ("ferry",), only_verified=False)
    start_constructing(
        actor=team.administrator, project=team.project, request=request, rewriting=Rewriting("m", work=False)
    )
    run_jobs()
    generation = Generation.objects.get()
    Dialogue.objects.filter(external_id="ferry").update(status="rejected")
    finish_rewriting(generation, read_texts(generation))
    assert generation.status == "failed"
    assert generation.reason is not None
