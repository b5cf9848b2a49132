"""The stage in which an import starts the review of a reviewed dialogue again."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import reverse
from playwright.sync_api import expect

from annotator.errors import Invalid
from annotator.models import Dialogue
from annotator.services.jobs import jobs
from benchmark.models import ImportBatch
from benchmark.services.imports import runner
from benchmark.services.imports.requests import repeat_import
from reviews.core.protocols import load_preset
from reviews.models import Cycle
from reviews.services.protocols.versions import adopt_protocol
from tests.benchmark.conftest import as_lines, begin_import, candidate, counters, fresh, report_of
from tests.factories import Team, changed, claim_and_submit, current, make_document

RunImport = Callable[..., ImportBatch]
NOWHERE = (
    "Items can’t be sent back to the stage “nowhere”. Choose one of: self_check_single, self_check_multi, cross_check."
)


@pytest.fixture
def verified(team: Team, run_import: RunImport) -> Dialogue:
    run_import([candidate("v")])
    dialogue = Dialogue.objects.get(external_id="v")
    for person in (team.annotator, team.annotator):
        claim_and_submit(person, dialogue)
    for person in team.annotators[1:3]:
        claim_and_submit(person, dialogue, "approve")
    dialogue.refresh_from_db()
    assert dialogue.status == "verified"
    return dialogue


def run_job(batch: ImportBatch) -> None:
    """Run the job of an import to its end."""
    jobs.run(batch.job_id)


def record(name: str) -> dict[str, Any]:
    return candidate(name, document=changed(make_document(name)))


def messages(batch: ImportBatch) -> dict[str, str]:
    return {entry["id"]: entry["message"] for entry in report_of(batch) if entry["check"].startswith("import.")}


def without_cross_check(team: Team) -> None:
    adopt_protocol(actor=team.administrator, project=team.project, protocol=load_preset("wild"))


def test_a_verified_dialogue_starts_again_at_the_chosen_stage_and_others_at_the_first(
    verified: Dialogue, run_import: RunImport
) -> None:
    run_import([candidate("untouched")])
    records = [record("v"), record("untouched")]
    run_import(records, revise=True, dry_run=True)
    chosen = {"revise": True, "reopen_at": "cross_check"}
    early = run_import(records, reopen=True, **chosen)
    # The dry run said another stage.
    assert (counters(early)[2], "no dry run of this file has listed it" in messages(early)["v"]) == (1, True)

    dry = run_import([record("v")], dry_run=True, **chosen)
    assert "To change and reopen it at the stage “Cross-check”, import with “reopen” as well." in messages(dry)["v"]
    done = repeat_import(actor=dry.requester, batch=dry, reopen=True)
    run_job(done)
    assert counters(fresh(done))[2] == 1
    assert "v is verified; it is reopened at the stage “Cross-check”, because" in messages(done)["v"]
    verified.refresh_from_db()
    assert (verified.status, verified.stage) == ("in_review", "cross_check")
    assert Dialogue.objects.get(external_id="untouched").stage == "self_check_single"


def test_a_stage_that_the_protocol_lacks_is_refused_before_anything_is_stored(
    team: Team, verified: Dialogue, client: Client
) -> None:
    stored = ImportBatch.objects.count()
    content = as_lines([record("v")])
    for options, words in (
        ({"revise": True, "reopen_at": "nowhere"}, NOWHERE),
        ({"revise": True, "reopen_at": "expert"}, "can’t be sent back to the stage “expert”"),
        ({"reopen_at": "cross_check"}, "choose “revise” as well"),
    ):
        with pytest.raises(Invalid, match=words):
            begin_import(team, content, **options)
    client.force_login(team.administrator)
    page = reverse("import-list", args=[team.project.slug])
    api = reverse("api-import-list", args=[team.project.slug])

    def send(address: str, **more: str) -> Any:
        return client.post(address, {"file": SimpleUploadedFile("a.jsonl", content), "dry_run": "true", **more})

    answer = send(page, native_format="neutral", revise="on", reopen_at="nowhere")
    assert (answer.status_code, NOWHERE in answer.content.decode()) == (422, True)
    answer = send(api, format="neutral", revise="true", reopen_at="nowhere")
    assert (answer.status_code, answer.json()["sentence"]) == (422, NOWHERE)
    assert ImportBatch.objects.count() == stored
    # Without “revise”, the page doesn’t show the choice, so it means nothing.
    assert send(page, native_format="neutral", reopen_at="cross_check").status_code == 302
    answer = send(api, format="neutral", revise="true", reopen_at="cross_check")
    assert (answer.status_code, answer.json()["reopen_at"]) == (202, "cross_check")


def test_a_protocol_that_changes_before_the_import_runs_stops_it(team: Team, verified: Dialogue) -> None:
    batch = begin_import(team, as_lines([record("v"), candidate("new")]), revise=True, reopen_at="cross_check")
    without_cross_check(team)
    run_job(batch)
    job = fresh(batch).job
    assert (job.state, "can’t be sent back to the stage “cross_check”" in job.error) == ("failed", True)
    assert not Dialogue.objects.filter(external_id="new").exists()


def test_a_protocol_that_changes_before_the_end_leaves_what_would_be_reopened_as_it_is(
    team: Team, verified: Dialogue, run_import: RunImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = {"revise": True, "reopen": True, "reopen_at": "cross_check"}
    records = [record("v"), candidate("new")]
    run_import(records, dry_run=True, **options)
    before, publish = current(verified), runner.publish

    def change_first(**given: Any) -> Any:
        without_cross_check(team)
        return publish(**given)

    monkeypatch.setattr(runner, "publish", change_first)
    batch = run_import(records, **options)
    assert (batch.job.state, counters(batch)[:5]) == ("done", (2, 1, 0, 0, 1))
    [refused] = [entry for entry in report_of(batch) if entry["check"] == "import.conflict"]
    assert (refused["id"], "can’t be sent back to the stage “cross_check”" in refused["message"]) == ("v", True)
    verified.refresh_from_db()
    assert (verified.status, current(verified), Cycle.objects.filter(dialogue=verified).count()) == (
        "verified", before, 1,
    )  # fmt: skip


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_the_stages_are_shown_only_while_known_dialogues_are_revised(
    team: Team, open_page: Any, check_accessibility: Any
) -> None:
    page = open_page(team.administrator)
    page.goto(reverse("import-list", args=[team.project.slug]))
    stages = page.get_by_label("Reopen at")
    expect(stages).to_be_hidden()
    page.get_by_label("Revise known dialogues").check()
    expect(stages).to_be_visible()
    expect(stages.locator("option")).to_have_text(
        ["Self-check, single round", "Self-check, multi round", "Cross-check"]
    )
    check_accessibility(page)
