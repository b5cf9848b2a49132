"""Records imported again over the work of people: what they entered stays wherever the record did not change."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from annotator.models import Dialogue
from benchmark.models import ImportBatch, MergedRecord
from reviews.models import Cycle
from tests.benchmark.conftest import candidate, counters, report_of
from tests.factories import WEATHER_TOOLS, Team, changed, claim_and_submit, current, make_document

RunImport = Callable[..., ImportBatch]
RECORD = make_document("v", tasks=2)


def unlabelled() -> dict[str, Any]:
    """As a generator writes it: without labels and dependencies."""
    document = copy.deepcopy(RECORD)
    for task in document["tasks"]:
        task["policy"] = task["information"] = None
        for step in task["steps"]:
            step["depends_on"] = None
    return document


def worked() -> dict[str, Any]:
    """Labelled, and with a corrected question."""
    document = copy.deepcopy(RECORD)
    document["tasks"][1]["user_message"] = "And tomorrow, please?"
    return document


def answered(text: str, document: dict[str, Any] | None = None) -> dict[str, Any]:
    return changed(document or unlabelled(), text)


@pytest.fixture
def verified(team: Team, run_import: RunImport) -> Dialogue:
    """Imported, labelled and corrected, then verified."""
    run_import([candidate("v", document=unlabelled())])
    dialogue = Dialogue.objects.get(external_id="v")
    claim_and_submit(team.annotator, dialogue, document=worked())
    claim_and_submit(team.annotator, dialogue)
    claim_and_submit(team.annotators[1], dialogue, "approve")
    claim_and_submit(team.annotators[2], dialogue, "approve")
    dialogue.refresh_from_db()
    assert dialogue.status == "verified"
    return dialogue


def run_twice(run_import: RunImport, record: dict[str, Any], **options: Any) -> tuple[ImportBatch, ImportBatch]:
    """A dry run, then the import that reopens what it listed."""
    dry = run_import([record], revise=True, dry_run=True, **options)
    return dry, run_import([record], revise=True, reopen=True, **options)


def checks(batch: ImportBatch) -> dict[str, str]:
    return {entry["check"]: entry["message"] for entry in report_of(batch) if entry["check"].startswith("import.")}


def test_a_change_elsewhere_reopens_a_verified_dialogue_only_with_a_tick_and_keeps_its_labels(
    verified: Dialogue, run_import: RunImport
) -> None:
    record = candidate("v", document=answered("It is clear, with some wind."))
    refused = run_import([record], revise=True)
    assert counters(refused) == (1, 0, 0, 0, 1, 0)
    assert checks(refused)["import.worked_on"] == (
        "v is verified, so it was not changed. The record changes task 1, answer s1, text. To change and reopen it at "
        "the stage “Self-check, single round”, import with “reopen” as well."
    )

    dry, done = run_twice(run_import, record)
    assert counters(dry)[4] == 1
    assert counters(done) == (1, 0, 1, 0, 0, 0)
    assert checks(done)["import.reopened"] == (
        "v is verified; it is reopened at the stage “Self-check, single round”, because the record changes task 1, "
        "answer s1, text. What people entered in other places stays."
    )
    assert current(verified) == answered("It is clear, with some wind.", worked()) | {
        key: current(verified)[key] for key in ("extra",)
    }
    verified.refresh_from_db()
    assert (verified.status, Cycle.objects.filter(dialogue=verified).count()) == ("in_review", 2)
    # The same record again has nothing new; the next one is compared with what this one said.
    assert counters(run_import([record], revise=True)) == (1, 0, 0, 1, 0, 0)
    back = candidate("v", document=unlabelled())
    assert MergedRecord.objects.count() == 1
    _, again = run_twice(run_import, back)
    assert counters(again) == (1, 0, 1, 0, 0, 0)
    assert current(verified)["tasks"] == worked()["tasks"]


def test_a_record_that_says_what_people_have_made_of_it_changes_nothing(
    verified: Dialogue, run_import: RunImport
) -> None:
    document = unlabelled()
    document["tasks"][1]["user_message"] = "And tomorrow, please?"
    for record in (candidate("v", document=document), candidate("v", document=worked())):
        done = run_import([record], revise=True)
        assert counters(done) == (1, 0, 0, 1, 0, 0)
    verified.refresh_from_db()
    assert verified.status == "verified"


@pytest.mark.parametrize(
    ("choice", "said"), [("", ""), ("mine", "And tomorrow, please?"), ("theirs", "And on Monday?")]
)
def test_a_place_that_both_changed_is_a_conflict_until_somebody_chooses(
    verified: Dialogue, run_import: RunImport, choice: str, said: str
) -> None:
    document = answered("It is cold.")
    document["tasks"][1]["user_message"] = "And on Monday?"
    record = candidate("v", document=document)
    dry, done = run_twice(run_import, record, at_conflicts=choice)
    if choice:
        assert counters(done) == (1, 0, 1, 0, 0, 0)
        tasks = current(verified)["tasks"]
        assert (tasks[1]["user_message"], tasks[0]["steps"][-1]["text"]) == (said, "It is cold.")
        assert tasks[0]["policy"] == "single_tool"
        return
    assert counters(done) == (1, 0, 0, 0, 1, 0)
    for batch in (dry, done):
        assert checks(batch)["import.merge_conflict"] == (
            "People and the record changed v in the same places: task 2, user message (people: "
            '"And tomorrow, please?", record: "And on Monday?"). It was not changed. Choose whose values to take at '
            "conflicts."
        )
    assert current(verified)["tasks"] == worked()["tasks"]


def test_a_record_of_another_format_under_a_known_id_is_pointed_out(team: Team, run_import: RunImport) -> None:
    run_import([candidate("a")])
    chat = {"id": "a", "messages": [{"role": "user", "content": "Capital of France?"}]}
    dry = run_import([chat], revise=True, dry_run=True, native_format="openai")
    said = checks(dry)
    assert "was imported as neutral, but the record is openai" in said["import.other_format"]
    assert "would be replaced" in said["import.replaced"]


def test_new_tools_with_the_content_of_people_are_not_dropped(verified: Dialogue, run_import: RunImport) -> None:
    tools = copy.deepcopy(WEATHER_TOOLS)
    tools[0]["function"]["description"] = "Another description."
    done = run_import([candidate("v", document=worked(), tools=tools)], revise=True)
    assert counters(done) == (1, 0, 0, 0, 1, 0)
    assert "is verified" in checks(done)["import.worked_on"]


def test_new_tools_come_with_the_record_and_the_work_stays(verified: Dialogue, run_import: RunImport) -> None:
    tools = copy.deepcopy(WEATHER_TOOLS)
    tools[0]["function"]["description"] = "Returns the weather, in a new description."
    _, done = run_twice(run_import, candidate("v", document=unlabelled(), tools=tools))
    assert counters(done) == (1, 0, 1, 0, 0, 0)
    assert "changes the tools" in checks(done)["import.reopened"]
    head = Dialogue.objects.select_related("head__toolset_revision").get(pk=verified.pk).head
    assert head is not None
    assert "in a new description" in head.toolset_revision.content
    assert current(verified)["tasks"] == worked()["tasks"]


def test_the_report_lists_dialogues_by_what_becomes_of_them(
    verified: Dialogue, team: Team, run_import: RunImport, client: Client
) -> None:
    document = answered("It is cold.")
    conflicting = copy.deepcopy(document)
    conflicting["tasks"][1]["user_message"] = "And on Monday?"
    client.force_login(team.administrator)
    for record, outcome, other in (
        (document, "asks", "conflict"),
        (conflicting, "conflict", "asks"),
        (worked(), "kept", "conflict"),
    ):
        dry = run_import([candidate("v", document=record), candidate("w")], revise=True, dry_run=True)
        url = f"/p/{team.project.slug}/imports/{dry.public_id}/"
        page = client.get(url).content.decode()
        assert f"?outcome={outcome}" in page
        assert f"?outcome={other}" not in page
        rows = client.get(f"{url}?outcome={outcome}").content.decode()
        assert rows.count("<a data-nav-item") == 1
        assert client.get(f"{url}?outcome=nonsense").status_code == 400
