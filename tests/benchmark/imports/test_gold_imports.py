"""Gold items made of what imports brought look like what came in beside them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.db.models import Q

from annotator.models import Dialogue, Finding, Job
from annotator.services.dialogues.revisions import lock_dialogues
from annotator.services.dialogues.variants import out_of_step
from annotator.services.integrity.history_checks import history_problems
from annotator.services.jobs import jobs
from benchmark.models import Generation, ImportBatch, SimilarDialogue, SimilarPair
from benchmark.services.imports import publishing
from benchmark.services.similarity.search import compare_new
from benchmark.services.similarity.settings import change_threshold, search_again
from reviews.models import GoldItem
from reviews.services.cycles.start import supersede_cycle
from reviews.services.history.dialogue_history import read_history
from tests.benchmark.conftest import candidate
from tests.factories import Team, changed, claim_and_submit, current, make_document, make_item
from tests.racing import begin_meanwhile
from tests.reviews.gold.gold_team import gold_team, make_gold
from tests.reviews.gold.test_gold_variants import in_chinese

pytestmark = pytest.mark.django_db

#: One for each city, so that only the records of the same city are alike.
TEXTS = {
    "Ghent": "Please find me a quiet hotel near the old harbour for two nights from {}",
    "Bruges": "Which trains leave the main station for the sea before noon, and do they run on {}",
}


@pytest.fixture
def team(db: None) -> Team:
    return gold_team()


def alike(city: str) -> list[dict[str, object]]:
    """Two records that nearly repeat one another."""
    records = [candidate(f"{city}-{n}", city=city) for n in (1, 2)]
    for record, day in zip(records, ("Friday", "Friday, please"), strict=True):
        record["document"]["tasks"][0]["user_message"] += f" {TEXTS[city].format(day)}"
    return records


def to_cross_check(team: Team) -> dict[str, Dialogue]:
    """Let one annotator approve the imported items as they are, and return them by their ids."""
    for _ in range(2):
        for dialogue in Dialogue.objects.exclude(stage="cross_check").filter(status="in_review"):
            claim_and_submit(team.annotator, dialogue)
    return {dialogue.external_id: dialogue for dialogue in Dialogue.objects.all()}


def verify(team: Team, dialogue: Dialogue, *, fix: bool, by: int = 1) -> Dialogue:
    for person in team.annotators[by : by + 2]:
        if fix:
            claim_and_submit(person, dialogue, "fix", document=changed(current(dialogue)))
        else:
            claim_and_submit(person, dialogue, "approve")
    dialogue.refresh_from_db()
    assert dialogue.status == "verified"
    return dialogue


@pytest.mark.parametrize("fix", [False, True])
def test_a_gold_item_nearly_repeats_what_its_dialogue_did(
    team: Team, run_import: Callable[..., ImportBatch], fix: bool
) -> None:
    """A fix takes the finding from the verified dialogue; the item has it, as whatever else came in so."""
    run_import([*alike("Ghent"), *alike("Bruges")])
    jobs.run(Job.objects.get(kind="near_duplicates").pk)
    dialogues = to_cross_check(team)

    def findings(dialogue: Dialogue) -> list[tuple[str, str]]:
        rows = Finding.objects.filter(dialogue=dialogue).order_by("check_id")
        return list(rows.values_list("check_id", "message"))

    ordinary, source = dialogues["Ghent-2"], dialogues["Bruges-2"]
    before, counted = findings(source), source.warning_count
    assert "Bruges-1" in dict(before)["dialogue.near_duplicate"]
    at = source.updated_at
    item = make_gold(team, verify(team, source, fix=fix)).dialogue
    assert findings(item) == before
    assert item.warning_count == counted == ordinary.warning_count
    assert item.updated_at == at
    # The first of a pair repeats nothing that was there before it.
    first = make_gold(team, verify(team, dialogues["Bruges-1"], fix=fix)).dialogue
    assert not Finding.objects.filter(dialogue=first, check_id="dialogue.near_duplicate").exists()
    # A search that comes late is of what was imported, not of the items.
    found = Finding.objects.filter(check_id="dialogue.near_duplicate").count()
    assert jobs.run(Job.objects.get(kind="near_duplicates").pk).result["compared"] == 4
    assert Finding.objects.filter(check_id="dialogue.near_duplicate").count() == found
    # Another threshold changes the item as it changes the dialogues beside it, and no group has the item.
    for threshold, shown in ((100, [one for one in before if one[0] != "dialogue.near_duplicate"]), (60, before)):
        change_threshold(actor=team.administrator, project=team.project, threshold=threshold)
        search = Job.objects.filter(kind="near_duplicates", state="queued").get()
        assert jobs.run(search.pk).result["compared"] == 4
        item.refresh_from_db()
        ordinary.refresh_from_db()
        assert findings(item) == shown
        assert len(findings(ordinary)) == len(shown)
        assert item.warning_count == ordinary.warning_count
        assert item.updated_at == at
    assert set(SimilarDialogue.objects.values_list("dialogue__external_id", "dialogue__gold_role")) == {
        ("Ghent-1", ""), ("Ghent-2", ""), ("Bruges-1", "answer"), ("Bruges-2", "answer"),
    }  # fmt: skip
    assert not SimilarPair.objects.filter(Q(dialogue__gold_role="gold") | Q(other__gold_role="gold")).exists()


def test_a_gold_item_of_a_generated_dialogue_repeats_what_that_did(team: Team) -> None:
    for name in ("one", "two"):
        source = make_item(team, "cross_check", make_document("ferries"), external_id=name)
        Generation.objects.create(
            project=team.project, name=name, dialogue=source, toolset_revision=source.head.toolset_revision,
            cell="chat", language="en", status="done", setup={}, state={},
        )  # fmt: skip
        compare_new(source)
    assert Finding.objects.get(check_id="dialogue.near_duplicate").dialogue == source
    item = make_gold(team, verify(team, source, fix=True)).dialogue
    search_again(actor=team.administrator, project=team.project)
    for _again in range(2):
        assert Finding.objects.get(check_id="dialogue.near_duplicate").dialogue == item
        jobs.run(Job.objects.filter(kind="near_duplicates").latest("pk").pk)


def test_gold_items_of_variants_that_came_in_anew_together_are_in_step_as_those_are(
    team: Team, run_import: Callable[..., ImportBatch]
) -> None:
    """They were flagged as changed since they had last been compared, and their dialogues were not."""
    records = [candidate("talk-en"), candidate("talk-zh")]
    run_import(records)
    Dialogue.objects.update(variant_group="talk")
    for record in records:
        record["document"]["tasks"][0]["user_message"] += " Say it briefly, as I am on my way to the station."
    run_import(records, revise=True)
    dialogues = to_cross_check(team)
    assert not out_of_step(project=team.project, dialogues=dialogues.values())
    for dialogue in dialogues.values():
        verify(team, dialogue, fix=False)
    assert not out_of_step(project=team.project, dialogues=dialogues.values())
    make_gold(team, dialogues["talk-en"])
    items = [item.dialogue for item in GoldItem.objects.select_related("dialogue")]
    assert len(items) == 2
    assert not out_of_step(project=team.project, dialogues=items)


def test_a_gold_item_whose_dialogue_was_joined_by_another_language_says_so(
    team: Team, run_import: Callable[..., ImportBatch]
) -> None:
    """However late: that of a group which came in at two times nobody had joined the other told the gold items."""
    run_import([candidate("talk", city="Ghent")])
    english = verify(team, to_cross_check(team)["talk"], fix=False)
    chinese = candidate("talk-zh", document=in_chinese(), variant_group="talk", language="zh")
    run_import([chinese])
    verify(team, to_cross_check(team)["talk-zh"], fix=False)
    english.refresh_from_db()
    assert english.variant_group == "talk"
    item = make_gold(team, english).dialogue
    kinds = [entry.kind for entry in read_history(actor=team.annotators[4], dialogue=item)]
    assert kinds.count("dialogue.joined_variants") == 1
    assert not list(history_problems(team.project))


def test_a_gold_item_of_a_dialogue_that_was_reviewed_twice_came_in_as_that_was_reviewed_last(
    team: Team, run_import: Callable[..., ImportBatch]
) -> None:
    """It had the versions of the first cycle, and neither its reviews nor its events."""
    run_import([candidate("talk", city="Ghent"), candidate("other", city="Bruges")])
    ordinary = to_cross_check(team)["other"]
    source = verify(team, to_cross_check(team)["talk"], fix=True)
    supersede_cycle(actor=team.administrator, dialogue=source, reason="An erratum.")
    text = source.content_hash
    source = verify(team, to_cross_check(team)["talk"], fix=False, by=3)
    item = make_gold(team, source).dialogue

    def shown(dialogue: Dialogue) -> list[object]:
        entries = read_history(actor=team.annotators[5], dialogue=dialogue)
        [first] = dialogue.revisions.all()
        imported = entries[-1]
        return [(entry.kind, entry.text) for entry in entries] + [
            first.number, first.author, first.message, first.batch, first.created_at == imported.at
        ]  # fmt: skip

    assert shown(item) == shown(ordinary)
    assert item.content_hash == text
    assert not list(history_problems(team.project))


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_an_import_that_retires_a_gold_item_never_waits_for_somebody_who_waits_for_it(
    team: Team, run_import: Callable[..., ImportBatch], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both lock several dialogues, in the order of their keys: the answer of the gold item before the revised one."""
    run_import([candidate("talk", city="Ghent")])
    answer = verify(team, to_cross_check(team)["talk"], fix=False)
    item = make_gold(team, answer)
    run_import([candidate("other", city="Bruges")])
    keys = [answer.pk, Dialogue.objects.get(external_id="other").pk]
    others = []

    def lock_both() -> list[int]:
        with transaction.atomic():
            return lock_dialogues(Dialogue.objects.filter(pk__in=keys))

    def revise_while_others_lock(*args: Any, **named: Any) -> None:
        others.append(begin_meanwhile(lock_both))
        revise(*args, **named)

    revise = publishing._revise
    monkeypatch.setattr(publishing, "_revise", revise_while_others_lock)
    revised = candidate("other", city="Bruges")
    revised["document"]["tasks"][0]["user_message"] += " Say it briefly."
    chinese = candidate("talk-zh", document=in_chinese(), variant_group="talk", language="zh")
    batch = run_import([revised, chinese], revise=True)
    assert (batch.job.state, batch.created, batch.revised) == ("done", 1, 1)
    item.refresh_from_db()
    assert item.retired_at is not None
    assert others[0].result() == keys
