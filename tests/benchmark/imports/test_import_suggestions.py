"""Suggestions that come with records: stored beside the dialogue, never in it."""

from collections.abc import Callable
from typing import Any

import pytest

from annotator.errors import Invalid
from annotator.models import DecisionOutcome, Dialogue, Draft, StoredSuggestion, SuggestionDecision
from annotator.services.custom_fields import set_fields
from annotator.services.dialogues.suggestions import copy_suggestions, post_suggestions
from annotator.services.jobs import jobs
from benchmark.models import ImportBatch, NativeLine
from benchmark.services.imports import publishing
from benchmark.services.imports.recognising import confirm_preview
from tests.benchmark.conftest import as_lines, begin_import, candidate, counters, fresh, report_of
from tests.factories import Team, changed, make_document
from tests.racing import begin_meanwhile

pytestmark = pytest.mark.django_db

RunImport = Callable[..., ImportBatch]
POLICY, ANSWER = "/tasks/t1/policy", "/tasks/t1/steps/s1/text"


def suggestion(place: str = POLICY, value: Any = "chat", source: str = "model-a", **more: Any) -> dict[str, Any]:
    return {"place": place, "value": value, "source": source} | more


def stored() -> set[tuple[str, str, Any, str, float | None]]:
    rows = StoredSuggestion.objects.filter(published=True)
    return set(rows.values_list("dialogue__external_id", "place", "value", "source", "score"))


def test_suggestions_of_records_are_stored_and_bad_ones_are_warnings(team: Team, run_import: RunImport) -> None:
    bad = [suggestion("/tasks/t9/policy"), suggestion(value="sing"), "text", suggestion(value="multi_tool")]
    records = [candidate("a", suggestions=[suggestion(score=0.25), *bad]), candidate("b")]

    batch = run_import(records, dry_run=True)
    assert (batch.suggestions, counters(batch), stored()) == (1, (2, 2, 0, 0, 0, 0), set())
    batch = run_import(records)
    assert (batch.suggestions, counters(batch)) == (1, (2, 2, 0, 0, 0, 0))
    assert stored() == {("a", POLICY, "chat", "model-a", 0.25)}
    notes = [entry for entry in report_of(batch) if entry["check"] == "import.suggestion"]
    assert {entry["severity"] for entry in notes} == {"warning"}
    assert [entry["pointer"] for entry in notes] == [
        "/suggestions/1/place", "/suggestions/2/value", "/suggestions/3", "/suggestions/4",
    ]  # fmt: skip
    dialogue = Dialogue.objects.get(external_id="a")
    assert dialogue.head is not None
    assert dialogue.head.document() == make_document("a")
    assert "suggestions" not in NativeLine.objects.get(revision=dialogue.head).text


def test_importing_again_keeps_what_was_decided(team: Team, run_import: RunImport) -> None:
    run_import([candidate("a", suggestions=[suggestion(), suggestion(ANSWER, "A")])])
    dialogue = Dialogue.objects.get(external_id="a")
    draft = Draft.objects.create(
        dialogue=dialogue, author=team.annotator, base=dialogue.head, content=dialogue.head.content,
        toolset_revision=dialogue.head.toolset_revision,
    )  # fmt: skip
    one = StoredSuggestion.objects.get(place=POLICY)
    SuggestionDecision.objects.create(
        suggestion=one, dialogue=dialogue, draft=draft, person=team.annotator, outcome=DecisionOutcome.REFUSED
    )
    again = [suggestion(value="multi_tool"), suggestion(ANSWER, "B"), suggestion("/language", "zh")]
    batch = run_import([candidate("a", suggestions=again)])
    assert counters(batch) == (1, 0, 0, 1, 0, 0)
    expected = {("a", POLICY, "chat"), ("a", ANSWER, "B"), ("a", "/language", "zh")}
    assert {row[:3] for row in stored()} == expected
    document = changed(make_document("a"))
    batch = run_import([candidate("a", document=document, suggestions=[suggestion(ANSWER, "C")])], revise=True)
    assert counters(batch)[2] == 1
    assert {row[:3] for row in stored()} == expected - {("a", ANSWER, "B")} | {("a", ANSWER, "C")}
    assert StoredSuggestion.objects.filter(published=False).count() == 0


def test_who_reviews_a_dialogue_blind_cannot_import_suggestions_for_it(
    team: Team, run_import: RunImport, monkeypatch: Any
) -> None:
    run_import([candidate("a", suggestions=[suggestion()])])
    monkeypatch.setattr("benchmark.services.imports.classification.blind_to", lambda actor, dialogues: set(dialogues))
    batch = run_import([candidate("a", suggestions=[suggestion(value="clarify")])])
    assert (batch.suggestions, {row[2] for row in stored()}) == (0, {"chat"})
    assert any("in a blind stage" in entry["message"] for entry in report_of(batch))


def test_a_dialogue_has_a_limited_number_of_suggestions(team: Team, run_import: RunImport, monkeypatch: Any) -> None:
    monkeypatch.setattr("benchmark.services.imports.classification.MAX_OF_DIALOGUE", 2)
    run_import([candidate("a", suggestions=[suggestion(), suggestion(ANSWER, "A")])])
    again = run_import([candidate("a", suggestions=[suggestion(value="clarify")])])
    more = run_import([candidate("a", suggestions=[suggestion("/language", "zh")])])
    assert (again.suggestions, more.suggestions) == (1, 0)
    assert any("more than 2 suggestions" in entry["message"] for entry in report_of(more))


def test_an_import_that_ends_early_leaves_no_suggestions(team: Team, run_import: RunImport, monkeypatch: Any) -> None:
    def fail(**_: Any) -> None:
        raise Invalid("Stop.")

    monkeypatch.setattr("benchmark.services.imports.publishing.publish_suggestions", fail)
    batch = begin_import(team, as_lines([candidate("a", suggestions=[suggestion()])]))
    jobs.run(batch.job_id)
    assert fresh(batch).job.state == "failed"
    assert StoredSuggestion.objects.count() == Dialogue.objects.count() == 0


def test_dependencies_that_a_program_made_come_in_as_suggestions(team: Team, run_import: RunImport) -> None:
    batch = run_import([candidate("a")], suggest_dependencies=True)
    assert batch.suggestions == 2
    dialogue = Dialogue.objects.get(external_id="a")
    assert dialogue.head is not None
    steps = dialogue.head.document()["tasks"][0]["steps"]
    assert [step["depends_on"] for step in steps] == [None, None]
    rows = StoredSuggestion.objects.order_by("place").values_list("place", "value", "source", "kind")
    assert list(rows) == [
        ("/tasks/t1/steps/s0/depends_on", [], "import", "dependency"),
        ("/tasks/t1/steps/s1/depends_on/s0", "parameter", "import", "dependency"),
    ]
    # The same file again changes nothing.
    assert counters(run_import([candidate("a")], suggest_dependencies=True)) == (1, 0, 0, 1, 0, 0)


def test_a_field_of_another_format_that_is_no_list_of_suggestions_stays(team: Team, run_import: RunImport) -> None:
    messages = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello!"}]
    plain = {"id": "plain", "messages": messages, "tools": [], "suggestions": ["Ask more"]}
    ours = {"id": "ours", "messages": messages, "tools": [], "suggestions": [suggestion()]}
    batch = run_import([plain, ours], native_format="openai")
    assert (batch.suggestions, stored()) == (1, {("ours", POLICY, "chat", "model-a", None)})
    head = Dialogue.objects.get(external_id="plain").head
    assert head is not None
    assert "Ask more" in head.content


def test_the_preview_counts_suggestions(team: Team, run_import: RunImport) -> None:
    batch = run_import([candidate("a", suggestions=[suggestion(), suggestion(value="sing")])], preview=True)
    assert batch.job.result["suggestions"] == 1
    assert any("Use one of" in sentence for sentence, _ in batch.job.result["warnings"])
    quality = {"key": "quality", "title": "Quality", "type": "scale", "scope": "dialogue", "low": 1, "high": 5}
    set_fields(actor=team.administrator, project=team.project, fields=[quality], seen=0)
    batch = run_import([candidate("a", suggestions=[suggestion("/labels/quality", 5)])], preview=True)
    assert (batch.job.result["suggestions"], batch.job.result["warnings"]) == (1, [])
    started = confirm_preview(
        actor=team.administrator, batch=batch, native_format="neutral", mapping={}, suggest_dependencies=True
    )
    assert started.suggest_dependencies


def test_a_copy_has_the_same_suggestions(team: Team, run_import: RunImport) -> None:
    run_import([candidate("a", suggestions=[suggestion(score=0.5)]), candidate("b")])
    source, copy = Dialogue.objects.order_by("external_id")
    copy_suggestions(source=source, copy=copy)
    assert {row[1:] for row in stored()} == {(POLICY, "chat", "model-a", 0.5)}
    assert len(stored()) == 2


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_an_import_and_a_bulk_post_never_wait_for_one_another(
    team: Team, run_import: RunImport, monkeypatch: Any
) -> None:
    run_import([candidate("a"), candidate("b")])
    posted = []

    def post() -> Any:
        items = [suggestion(value="clarify", dialogue=name) for name in ("a", "b")]
        return post_suggestions(actor=team.administrator, project=team.project, items=items)

    def revise_while_others_post(*args: Any, **named: Any) -> None:
        # The import holds the second dialogue now, and has suggestions for the first.
        posted.append(begin_meanwhile(post))
        revise(*args, **named)

    revise = publishing._revise
    monkeypatch.setattr(publishing, "_revise", revise_while_others_post)
    batch = run_import(
        [candidate("a", suggestions=[suggestion()]), candidate("b", document=changed(make_document("b")))], revise=True
    )
    assert (batch.job.state, batch.suggestions, counters(batch)[2]) == ("done", 1, 1)
    assert [one.result for one in posted[0].result()] == ["replaced", "stored"]
    assert {row[:3] for row in stored()} == {("a", POLICY, "clarify"), ("b", POLICY, "clarify")}
