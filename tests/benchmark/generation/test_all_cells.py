"""On recorded answers, a scripted pipeline fills all 340 cells twice with identical results."""

import io
import json
from collections import Counter

import pytest
from django.core.management import call_command

from annotator.models import Dialogue, Revision
from benchmark.core.generation.cells import all_cells, cell_name, draw_relations
from benchmark.core.generation.state import Setup
from benchmark.demo.generation_script import TOOLS, scripted_records
from benchmark.models import Generation, ModelCall
from tests.factories import Team, make_team, make_toolset

pytestmark = [pytest.mark.slow(seconds=20), pytest.mark.django_db(transaction=True), pytest.mark.any_database]


def fill(team: Team, replay, **more):
    """Fill all cells; return each dialogue with its steps, findings, tools and provenance, by its id."""
    make_toolset(team.project, TOOLS, "trips")
    out = io.StringIO()
    call_command("generate_candidates", team.project.slug, toolset="trips", replay=replay, stdout=out, **more)
    assert json.loads(out.getvalue())["done"] == 340
    revisions = Revision.objects.filter(dialogue__project=team.project)
    dialogues = {name: rest for name, *rest in revisions.values_list("dialogue__external_id", "content", "clean_mark")}
    states = Generation.objects.filter(project=team.project).values_list("name", "state", "requests", "input_tokens")
    return {name: [dialogues[name], *rest] for name, *rest in states}


def test_all_cells_are_filled_twice_with_identical_results(team, tmp_path):
    first, again = tmp_path / "answers.jsonl", tmp_path / "again.jsonl"
    with first.open("wb") as out:
        for cell in all_cells():
            setup = Setup(f"{cell_name(cell)}-en-1", cell, draw_relations(cell, 1), TOOLS, seed=1)
            out.writelines(one.to_line() for one in scripted_records(setup))
    filled = fill(team, first, record=again)
    dialogues = Dialogue.objects.filter(project=team.project)
    sequences = dialogues.values_list("sequence", flat=True)
    assert len(set(sequences)) == len(sequences) == len(filled) == 340
    assert Counter(dialogues.values_list("task_count", flat=True)) == {1: 4, 2: 16, 3: 64, 4: 256}
    assert set(dialogues.values_list("status", "error_count")) == {("in_review", 0)}
    # What was asked is what was recorded: no answer twice, and none left out.
    answers = first.read_bytes().splitlines()
    assert sorted(again.read_bytes().splitlines()) == sorted(answers)
    assert ModelCall.objects.filter(state="answered", replayed=True, cost=0, attempts=1).count() == len(answers)
    assert fill(make_team("other"), again) == filled
