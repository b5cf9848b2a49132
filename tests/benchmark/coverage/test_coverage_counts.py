"""What a project covers: counting rows, targets, releases, and handing out what is needed first."""

import json
import zipfile
from pathlib import Path

import pytest
from django.db import IntegrityError, transaction

from annotator.core.coverage import CELLS, level_of
from annotator.errors import Denied, Invalid
from annotator.models import Dialogue, Event
from annotator.services.toolsets.categories import add_category
from benchmark.models import CoverageTarget, Release
from benchmark.services.coverage.counting import needed_next, read_coverage
from benchmark.services.coverage.handing_out import plan_needed_first
from benchmark.services.coverage.targets import change_target, read_targets
from benchmark.services.runs.withdrawn import reopen_item
from benchmark.services.stored_files import full_path
from reviews.models import Slot, SlotState
from reviews.services.assignments.plans import confirm_plan
from tests.annotator.toolset_documents import described_toolset
from tests.benchmark.conftest import make_verified, run_release
from tests.benchmark.coverage.labelled import labelled, want
from tests.factories import begin, make_dialogue, make_dialogues, make_document, make_toolset
from tests.reviews.gold.gold_team import gold_team, make_gold, verified


def test_all_sequences_of_four_tasks_give_1024_entries(team, django_assert_max_num_queries):
    rows = make_dialogues(team.project, 256, status="verified")
    for row, sequence in zip(rows, [cell for cell in CELLS if level_of(cell) == 4], strict=True):
        row.sequence = sequence
    Dialogue.objects.bulk_update(rows, ["sequence"])
    with django_assert_max_num_queries(4):
        found = read_coverage(project=team.project)
    assert found.reached.total() == 1024
    assert {cell: found.reached[cell] for cell in CELLS} == {cell: 4 ** (4 - level_of(cell)) for cell in CELLS}
    switches = read_coverage(project=team.project, dimension="switches")
    assert switches.reached == {"0": 340, "1": 324, "2": 252, "3": 108}


def test_entries_count_by_status_and_only_what_is_listed(team):
    labelled(team, "chat", "clarify", "chat", "chat", "multi_tool")
    labelled(team, "chat", None, "chat", status="pooled")
    labelled(team, "chat", status="escalated")
    labelled(team, "chat", status="rejected")
    labelled(team, "chat", status="verified", published=False)
    labelled(team, "chat", status="verified", archived_at="2026-01-01T00:00:00Z")
    found = read_coverage(project=team.project, actor=team.annotator)
    assert found.counts["candidate"] == {
        "chat": 1,
        "chat,clarify": 1,
        "chat,clarify,chat": 1,
        "chat,clarify,chat,chat": 1,
    }
    assert found.counts["in_review"] == {"chat": 2}
    assert found.counts["rejected"] == {"chat": 1}
    assert not found.reached
    tasks = read_coverage(project=team.project, dimension="tasks")
    assert tasks.counts["candidate"] == {"5+": 1}
    topologies = read_coverage(project=team.project, dimension="topology")
    assert topologies.counts["rejected"].total() == 1


def test_toolsets_count_by_category(team):
    category = add_category(actor=team.administrator, project=team.project, name="Weather")
    row = labelled(team, "chat")
    labelled(team, "chat", status="verified")
    toolset = row.head.toolset_revision.toolset
    toolset.category = category
    toolset.save()
    found = read_coverage(project=team.project, dimension="category")
    assert (found.values, found.counts["candidate"], found.reached) == (["Weather"], {"Weather": 1}, {"Weather": 1})


def test_a_gold_item_stands_for_its_answer_as_in_the_list(db):
    """An overseer counts the known answer, others the item in its place: neither counts one dialogue twice."""
    team = gold_team()
    source = verified(team)
    before = {person: read_coverage(project=team.project, actor=person) for person in (team.senior, team.annotator)}
    make_gold(team, source)
    [cell] = before[team.senior].reached
    oversees, annotates = (read_coverage(project=team.project, actor=one) for one in (team.senior, team.annotators[5]))
    assert oversees.counts == before[team.senior].counts
    assert annotates.reached[cell] == 0
    assert annotates.counts["in_review"][cell] == before[team.annotator].counts["in_review"][cell] + 1


def test_the_target_of_a_cell_goes_before_the_one_of_its_level(team):
    labelled(team, "chat", status="verified")
    labelled(team, "clarify")
    want(team, "level", "1", 2)
    want(team, "cell", "chat", 4)
    want(team, "cell", "chat,chat", 1)
    found = read_coverage(project=team.project)
    assert [(gap.value, gap.missing) for gap in found.gaps] == [
        ("chat", 3), ("single_tool", 2), ("multi_tool", 2), ("clarify", 2), ("chat,chat", 1)
    ]  # fmt: skip
    # The candidate may still be verified.
    assert [(gap.value, gap.missing) for gap in needed_next(project=team.project, count=4)] == [
        ("chat", 3), ("single_tool", 2), ("multi_tool", 2), ("clarify", 1)
    ]  # fmt: skip


def test_targets_are_changed_by_administrators_and_recorded(team):
    assert want(team, "cell", "chat", 3)
    assert not want(team, "cell", "chat", 3)
    assert want(team, "cell", "chat", 5)
    assert want(team, "cell", "chat", None)
    assert read_targets(team.project).wanted == {}
    events = Event.objects.filter(project=team.project, kind__startswith="coverage.").order_by("pk")
    assert [(one.kind, one.before.get("wanted"), one.after.get("wanted")) for one in events] == [
        ("coverage.target_set", None, 3), ("coverage.target_set", 3, 5), ("coverage.target_removed", 5, None)
    ]  # fmt: skip
    for person in (team.annotator, team.senior):
        with pytest.raises(Denied):
            change_target(actor=person, project=team.project, dimension="cell", value="chat", wanted=1)


@pytest.mark.parametrize(
    ("dimension", "value", "wanted", "field"),
    [
        ("colour", "red", 1, "dimension"), ("cell", "chat,none", 1, "value"), ("level", "5", 1, "value"),
        ("category", "Nothing", 1, "value"), ("cell", "chat", 0, "wanted"), ("cell", "chat", 10**9, "wanted"),
        ("cell", "x" * 5000, 1, "value"), ("language", "", None, "value"),
    ],
)  # fmt: skip
def test_bad_targets_are_refused_at_their_field(team, dimension, value, wanted, field):
    with pytest.raises(Invalid) as refusal:
        want(team, dimension, value, wanted)
    assert refusal.value.details["field"] == field


def test_the_database_holds_one_positive_target_of_a_value(team):
    CoverageTarget.objects.create(project=team.project, dimension="cell", value="chat", wanted=1)
    for more in ({"value": "chat", "wanted": 2}, {"value": "clarify", "wanted": 0}):
        with pytest.raises(IntegrityError), transaction.atomic():
            CoverageTarget.objects.create(project=team.project, dimension="cell", **more)


def test_a_release_says_what_it_covers_and_its_dialogues_stay_released(team):
    dialogue = make_verified(team, "weather-1", make_document(tasks=2))
    release = run_release(team)
    cells = ["single_tool", "single_tool,chat"]
    assert release.frozen["coverage"]["cell"] == dict.fromkeys(cells, 1)
    assert release.frozen["coverage"]["tasks"] == {"2": 1}
    with zipfile.ZipFile(full_path(release.archive)) as archive:
        texts = {
            Path(name).name: archive.read(name).decode()
            for name in archive.namelist()
            if name.endswith(("README.md", "manifest.json"))
        }
    levels = json.loads(texts["manifest.json"])["coverage"]["levels"]
    assert "2 of 340 sequences" in texts["README.md"]
    assert levels["2"] == {"cells": 16, "covered": 1, "entries": 1, "uniformity": 0.0}
    # ln 2 / ln 340
    assert levels["all"] == {"cells": 340, "covered": 2, "entries": 2, "uniformity": 0.1189}
    reopen_item(actor=team.administrator, item=release.items.get(), reason="An error was reported.")
    found = read_coverage(project=team.project)
    assert Dialogue.objects.get(pk=dialogue.pk).status != "verified"
    assert (found.version, found.reached) == ("1.0", dict.fromkeys(cells, 1))
    assert found.counts["candidate"] + found.counts["in_review"] == dict.fromkeys(cells, 1)
    # A released dialogue counts by what it is now, and beside others that are verified but not released.
    labelled(team, "single_tool", status="verified")
    assert read_coverage(project=team.project).reached == {"single_tool": 2, "single_tool,chat": 1}
    for dimension, value in (("tasks", "2"), ("language", "en"), ("information", "explicit"), ("topology", "single")):
        assert read_coverage(project=team.project, dimension=dimension).reached[value] >= 1
    frozen = {key: value for key, value in release.frozen.items() if key != "coverage"}
    Release.objects.filter(pk=release.pk).update(frozen=frozen)
    found = read_coverage(project=team.project)
    assert found.uncounted
    assert not found.counts["released"]
    assert found.reached["single_tool"] == 2
    Dialogue.objects.filter(pk=dialogue.pk).update(status="rejected")
    assert read_coverage(project=team.project).reached == {"single_tool": 1}


def test_waiting_dialogues_that_fill_gaps_are_handed_out_first(team):
    begin(
        team.project,
        [labelled(team, "chat"), labelled(team, "clarify"), labelled(team, "clarify"), labelled(team, "chat")],
    )
    with pytest.raises(Invalid, match="No waiting dialogue"):
        plan_needed_first(actor=team.administrator, project=team.project)
    want(team, "cell", "clarify", 1)
    with pytest.raises(Denied):
        plan_needed_first(actor=team.senior, project=team.project)
    plan = plan_needed_first(actor=team.administrator, project=team.project)
    confirm_plan(actor=team.administrator, project=team.project, public_id=plan.public_id)
    raised = Slot.objects.filter(project=team.project, priority=0).values_list("dialogue__sequence", flat=True)
    assert list(raised.distinct()) == ["clarify"]
    assert raised.values("dialogue").distinct().count() == 1
    # It fills the gap already.
    with pytest.raises(Invalid, match="No waiting dialogue"):
        plan_needed_first(actor=team.administrator, project=team.project)


def test_what_is_being_worked_on_fills_gaps_before_what_waits(team):
    rows = [labelled(team, "chat"), labelled(team, "chat"), labelled(team, "chat")]
    begin(team.project, rows)
    want(team, "cell", "chat", 2)
    for key in Slot.objects.filter(dialogue=rows[2]):
        key.state = SlotState.CANCELLED
        key.save()
    plan = plan_needed_first(actor=team.administrator, project=team.project)
    confirm_plan(actor=team.administrator, project=team.project, public_id=plan.public_id)
    raised = Slot.objects.filter(project=team.project, priority=0)
    assert set(raised.values_list("dialogue", flat=True)) == {rows[0].pk}


def test_toolsets_in_review_are_not_counted_as_dialogues(team):
    make_dialogue(team.project, described_toolset(), toolset=make_toolset(team.project, [], "none"))
    labelled(team, "chat")
    for dimension in ("language", "tasks", "calls"):
        found = read_coverage(project=team.project, dimension=dimension)
        assert found.counts["candidate"].total() == 1
