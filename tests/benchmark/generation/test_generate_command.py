"""The command that generates candidates from recorded answers."""

import io
import json

import pytest
from django.core.management import call_command

from annotator.models import Dialogue, Revision
from benchmark.core.generation.purposes import Role
from benchmark.demo.generation_script import TOOLS, scripted_records
from benchmark.management.base import Stop
from benchmark.models import Generation, ModelCall
from benchmark.services.generation import stepping
from benchmark.services.generation.requests import Player, start_generation
from benchmark.services.inference.endpoints import add_endpoint
from tests.benchmark.generation.conftest import make_setup
from tests.factories import make_team, make_toolset

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]
CELLS = [("chat",), ("single_tool", "clarify"), ("multi_tool", "chat", "single_tool", "clarify")]


@pytest.fixture
def files(tmp_path):
    """Cells and their recorded answers. The names are those of the command."""
    cells, answers = tmp_path / "cells.jsonl", tmp_path / "answers.jsonl"
    cells.write_text("".join(json.dumps({"policies": cell}) + "\n" for cell in CELLS))
    lines = []
    for cell in CELLS:
        setup = make_setup(*cell)
        lines += [one.to_line() for one in scripted_records(type(setup)(**vars_of(setup, f"{setup.name}-en-1")))]
    answers.write_bytes(b"".join(lines))
    return cells, answers


def vars_of(setup, name):
    return setup.to_json() | {
        "name": name, "tools": TOOLS, "policies": setup.policies, "relations": setup.relations
    }  # fmt: skip


def generate(team, files, **more):
    out, err = io.StringIO(), io.StringIO()
    code = 0
    try:
        call_command(
            "generate_candidates", team.project.slug, toolset="trips", cells=str(files[0]), replay=files[1],
            stdout=out, stderr=err, **more,
        )  # fmt: skip
    except SystemExit as end:
        code = end.code
    return json.loads(out.getvalue()), err.getvalue(), code


def contents(team):
    return list(
        Revision.objects.filter(dialogue__project=team.project).order_by("dialogue__external_id").values_list("content")
    )


def test_recorded_answers_give_the_same_candidates_again(team, files, tmp_path):
    make_toolset(team.project, TOOLS, "trips")
    record = tmp_path / "again.jsonl"
    told, _said, code = generate(team, files, record=record)
    assert (told["generations"], told["done"], code) == (3, 3, 0)
    assert set(Dialogue.objects.values_list("status", flat=True)) == {"in_review"}
    calls = ModelCall.objects.count()
    assert generate(team, files)[0]["done"] == 3
    assert ModelCall.objects.count() == calls == len(record.read_bytes().splitlines())
    other = make_team("other")
    make_toolset(other.project, TOOLS, "trips")
    generate(other, (files[0], record))
    assert contents(other) == contents(team)
    states = [list(Generation.objects.filter(project=one.project).values_list("state")) for one in (team, other)]
    assert states[0] == states[1]


def test_an_interrupted_run_goes_on(team, files, monkeypatch):
    make_toolset(team.project, TOOLS, "trips")
    monkeypatch.setattr(stepping, "_AT_ONCE", 5)
    original, calls = stepping._count, []

    def dies(*arguments, **more):
        calls.append(None)
        if len(calls) == 12:
            raise KeyboardInterrupt
        return original(*arguments, **more)

    with monkeypatch.context() as patched:
        patched.setattr(stepping, "_count", dies)
        with pytest.raises(KeyboardInterrupt):
            generate(team, files)
    # Four answers of the first, and five of the second; what followed was rolled back.
    assert ModelCall.objects.count() == ModelCall.objects.filter(state="answered").count() == 9
    assert generate(team, files)[0]["done"] == 3
    assert ModelCall.objects.filter(state="answered").count() == ModelCall.objects.count()


def test_a_missing_answer_pauses_with_a_sentence(team, files):
    make_toolset(team.project, TOOLS, "trips")
    lines = files[1].read_bytes().splitlines(keepends=True)
    files[1].write_bytes(b"".join(lines[:6]))
    told, said, code = generate(team, files)
    assert (told["done"], told["paused"], code) == (1, 2, 1)
    assert "There is no recorded answer to request" in said
    files[1].write_bytes(b"".join(lines))
    assert generate(team, files)[0]["done"] == 3


def test_only_generations_of_the_command_go_on(team, files):
    toolset = make_toolset(team.project, TOOLS, "trips")
    generate(team, files)
    with pytest.raises(Stop, match="with another setup"):
        generate(team, files, retries=5)
    endpoint = add_endpoint(
        actor=team.administrator, project=team.project, name="A", base_url="https://models.example.org/v1", key=""
    )
    setup = vars_of(make_setup("chat"), "ch-en-2") | {"seed": 2}
    del setup["tools"]
    start_generation(
        actor=team.administrator, project=team.project, toolset=toolset, setup=setup,
        players={Role.USER: Player("m", endpoint)}, work=False,
    )  # fmt: skip
    with pytest.raises(Stop, match="asks models"):
        generate(team, files, seed=2)


@pytest.mark.parametrize(
    ("cells", "answers", "says"),
    [
        ('{"policies": ["dance"]}', "", "Line 1 of the cells"),
        ("[]", "", "Line 1 of the cells"),
        ('{"policies": ["chat"]}\n{"policies": ["chat"]}', "", "ch is twice in the cells"),
        ("", "nonsense", "Line 1 of the recorded answers"),
        ("", '{"number": "one"}', "must be a whole number"),
        ("", '{"number": 1, "answer": "a", "input_tokens": 2147483648}', "Line 1 .*“input_tokens” must be from 0"),
        ("", '{"answer": "a", "parameters": {"max_tokens": "all"}}', "Line 1 .*“max_tokens” must be a number"),
        ("", '{"number": 1}', "“answer” must be a text"),
        ("", None, "no recorded answers"),
    ],
)
def test_a_bad_file_is_a_sentence(team, files, cells, answers, says):
    make_toolset(team.project, TOOLS, "trips")
    if cells:
        files[0].write_text(cells)
    if answers != "":
        files[1].write_text(answers or "\n")
    with pytest.raises(Stop, match=says):
        generate(team, files)
    assert not Dialogue.objects.exists()
