"""The commands: from files to files, offline, with good and with bad input."""

import json
import zipfile

import pytest
from django.core.management import call_command

from annotator.management.base import Stop
from benchmark.services.stored_files import full_path
from tests.benchmark.conftest import as_lines, as_zip, gzipped, make_verified, run_release
from tests.benchmark.scoring.scoring_cases import RIGHT, call, calls, prediction, said, wild_record


@pytest.fixture
def run(capsys, tmp_path):
    """Run a command: (exit code, last line, what it said)."""

    def command(name, *arguments):
        code = 0
        try:
            call_command(name, *map(str, arguments))
        except SystemExit as end:
            code = end.code
        except Stop as stop:
            return stop.returncode, None, str(stop)
        out, err = capsys.readouterr()
        return code, json.loads(out.splitlines()[-1]), err

    return command


@pytest.fixture
def files(tmp_path):
    """Write references and predictions; return (references, predictions, folder for scores)."""

    def write(predictions, *, records=None, name="predictions.jsonl"):
        references = tmp_path / "references.jsonl"
        references.write_bytes(as_lines([wild_record(), wild_record("d_1")] if records is None else records))
        path = tmp_path / name
        path.write_bytes(predictions if isinstance(predictions, bytes) else as_lines(predictions))
        return references, path, tmp_path / "scores"

    return write


def everything(dialogue, run="m"):
    return [prediction(dialogue, task, rounds, run) for task, rounds in enumerate(RIGHT)]


def read(folder):
    entries = [json.loads(line) for line in (folder / "entries.jsonl").read_text().splitlines()]
    return entries, json.loads((folder / "summary.json").read_text())


@pytest.mark.parametrize("family", ["wild", "c3", "mmtb"])
def test_a_perfect_run(run, files, family):
    references, predictions, out = files(everything("d_0") + everything("d_1"))
    code, line, _ = run("score_release", references, predictions, "--family", family, "--out", out)
    assert (code, line) == (0, {"runs": 1, "entries": 6, "missing": 0, "foreign": 0, "problems": 0})
    entries, summary = read(out)
    assert all(one["label"] == "correct" and one["right"] and one["strict"]["label"] == "correct" for one in entries)
    figures = {(one["name"], one["cell"]): one for one in summary["runs"]["m"]["figures"]}
    right = figures["right", "all"]
    assert (right["n"], right["value"], right["high"]) == (6, 1, 1)
    assert right["low"] < 0.5
    assert summary["release"]["en"] == {"MSSS_4": [3, 340], "RelMiss": [2, 2]}


def test_missing_doubled_and_foreign_entries_are_named_and_counted(run, files):
    given = [*everything("d_0"), prediction("d_0", 0, [said()]), *everything("nobody"), prediction("d_0", 7, [])]
    references, predictions, out = files(given)
    code, line, told = run("score_release", references, predictions, "--family", "wild", "--out", out)
    assert (code, line) == (1, {"runs": 1, "entries": 3, "missing": 3, "foreign": 4, "problems": 0})
    assert "line 4: Task 0 of d_0 was given twice for m; the first counts." in told
    assert "The references have no nobody in en." in told
    assert "no task 7 of d_0" in told
    summary = read(out)[1]
    figures = summary["runs"]["m"]
    assert figures["doubled"] == [["d_0", 0]]
    assert figures["missing"] == [["d_1", 0], ["d_1", 1], ["d_1", 2]]
    assert (figures["counts"]["task"], figures["task_if_missing_is_wrong"]) == ([3, 3], [3, 6])
    assert (figures["counts"]["session"], figures["session_if_missing_is_wrong"]) == ([1, 1], [1, 2])
    # A line given twice counts twice in the published evaluator.
    assert figures["published_with_doubled"]["total_info"]["task"]["total_count"] == 4
    assert summary["outcome"]["doubled"] == 1


def test_a_missing_task_of_a_dialogue_is_an_empty_reply_in_wild_and_left_out_in_c3(run, files):
    references, predictions, out = files(everything("d_0")[:2])
    run("score_release", references, predictions, "--family", "wild", "--out", out)
    entries, summary = read(out)
    assert [(one["task"], one["stop"], one.get("missing")) for one in entries][-1] == (2, "empty_reply", True)
    assert summary["runs"]["m"]["counts"]["session"] == [0, 1]
    _, line, _ = run("score_release", references, predictions, "--family", "c3", "--out", out)
    assert (line["entries"], line["missing"]) == (2, 4)


BAD = {
    "no JSON": (b"{", "not complete"),
    "NaN": (b'{"run": "m", "dialogue": "d_0", "task": NaN}', "NaN and Infinity are not JSON"),
    "a list": (b"[]", "A record must be a JSON object"),
    "another schema": (b'{"prompt": "x", "completion": "y"}', "/dialogue must be a text"),
    "a task that is text": (b'{"run": "m", "dialogue": "d_0", "task": "0"}', "/task must be a whole number"),
    "no rounds": (b'{"run": "m", "dialogue": "d_0", "task": 0}', "/rounds must be a list"),
    "a round that is text": (
        b'{"run": "m", "dialogue": "d_0", "task": 0, "rounds": ["x"]}', "/rounds/0 must be an object",
    ),
    "arguments that are null": (
        b'{"run": "m", "dialogue": "d_0", "task": 0, "rounds": [{"calls": [{"name": "f", "arguments": null}]}]}',
        "/rounds/0/calls/0/arguments must be an object",
    ),
    "10,000 calls in a round": (
        json.dumps(prediction("d_0", 0, [calls(*["find"] * 10_000)])).encode(),
        "/rounds/0/calls has 10,000 calls. The limit is 500.",
    ),
    "another kind of error": (
        b'{"run": "m", "dialogue": "d_0", "task": 0, "rounds": [{"error": "tired"}]}',
        "/rounds/0/error must be null, malformed_calls or request_failed.",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "sentence"), BAD.values(), ids=BAD)
def test_a_bad_record_is_a_sentence_and_the_others_count(run, files, line, sentence):
    references, predictions, out = files([*everything("d_0"), line])
    code, result, told = run("score_release", references, predictions, "--family", "wild", "--out", out)
    assert (code, result["entries"], result["problems"]) == (1, 3, 1)
    assert sentence in told
    assert "predictions.jsonl, line 4" in told


def test_hostile_arguments_are_wrong_not_an_error(run, files):
    deep = "[" * 50_000
    hostile = [
        prediction("d_0", 0, [calls(call("find", q="<script>" * 1000)), said()]),
        prediction("d_0", 1, [calls(*[call("find", q="a")] * 500)]),
        prediction("d_0", 2, [said("x" * 100_000)]),
    ]
    hostile[0]["rounds"][0]["calls"].append({"name": "find", "arguments": deep})
    references, predictions, out = files(hostile)
    code, result, _ = run("score_release", references, predictions, "--family", "wild", "--out", out)
    assert (code, result["problems"]) == (0, 0)
    assert not any(one["right"] for one in read(out)[0])


def test_references_that_cannot_be_scored_are_named(run, files):
    broken = wild_record("d_2")
    for nodes in broken["english_answer_list"]:
        for one in nodes:
            del one["dependency_list"]
    cyclic = wild_record("d_3")
    cyclic["english_answer_list"][0][0]["dependency_list"] = [1]
    given = [*everything("d_0"), *everything("d_2"), prediction("d_3", 0, RIGHT[0])]
    references, predictions, out = files(given, records=[wild_record(), broken, cyclic])
    code, result, told = run("score_release", references, predictions, "--family", "c3", "--out", out)
    assert (code, result["entries"]) == (1, 3)
    assert "The dependencies of task 1 of d_2 are not annotated" in told
    assert "The dependencies of task 1 of d_3 form a cycle." in told
    code, _, told = run("score_release", predictions, predictions, "--family", "wild", "--out", out)
    assert code == 2
    assert "no dialogues of tasks" in told


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["nowhere.jsonl", "{predictions}"], "nowhere.jsonl does not exist."),
        (["{references}", "nowhere.jsonl"], "nowhere.jsonl does not exist."),
        (["{folder}", "{predictions}"], "is a folder"),
        (["{references}", "{empty}"], "no files that end in .jsonl"),
    ],
)
def test_files_that_are_not_there_stop_with_a_sentence(run, files, tmp_path, arguments, sentence):
    references, predictions, out = files(everything("d_0"))
    (tmp_path / "empty").mkdir()
    names = {"references": references, "predictions": predictions, "folder": tmp_path, "empty": tmp_path / "empty"}
    given = [one.format(**names) for one in arguments]
    code, _, told = run("score_release", *given, "--family", "wild", "--out", out)
    assert code == 2
    assert sentence in told
    assert not (out / "summary.json").exists()


def test_a_folder_of_compressed_predictions_and_facts_about_runs(run, files, tmp_path):
    references, _, out = files([])
    folder = tmp_path / "runs"
    folder.mkdir()
    for name in ("with_calls", "without"):
        (folder / f"{name}.jsonl.gz").write_bytes(gzipped(as_lines(everything("d_0", name))))
    told = {"with_calls": {"model": "m", "history": "calls"}, "without": {"model": "m", "history": "answers"}}
    (folder / "runs.json").write_text(json.dumps(told))
    code, line, _ = run("score_release", references, folder, "--family", "c3", "--out", out)
    assert (code, line["runs"]) == (0, 2)
    _, summary = read(out)
    assert summary["runs"]["without"]["history"] == "answers"
    assert summary["pairs"]["m"]["groups"]["all"]["RR"] == 2
    (folder / "runs.json").write_text("[]")
    code, _, sentence = run("score_release", references, folder, "--family", "c3", "--out", out)
    assert code == 2
    assert "runs.json must be an object" in sentence


def test_two_runs_are_compared_entry_by_entry(run, files, tmp_path):
    references, predictions, out = files(everything("d_0") + everything("d_1"))
    run("score_release", references, predictions, "--family", "wild", "--out", out)
    other = tmp_path / "other"
    predictions.write_bytes(
        as_lines([prediction(name, task, [said()]) for name in ("d_0", "d_1") for task in range(3)])
    )
    run("score_release", references, predictions, "--family", "wild", "--out", other)
    code, line, told = run("compare_runs", out, other)
    assert code == 0
    assert list(line) == ["n", "a", "b", "difference", "low", "high", "p"]
    assert (line["n"], line["a"], line["b"], line["difference"], line["p"]) == (6, 1, 0, -1, 2 / 2**6)
    assert "6 are right in the first run only" in told
    assert run("compare_runs", out, other, "--slice", "policy=clarify")[1]["n"] == 2
    assert run("compare_runs", out, other, "--slice", "policy")[1]["n"] == 6
    for arguments, sentence in (
        ((out, other, "--slice", "policy=none"), "no entries in the slice policy=none. There are: "),
        ((out, tmp_path), "has no entries.jsonl"),
        ((out, other, "--run-a", "x"), "has no run x. It has m."),
    ):
        code, _, told = run("compare_runs", *arguments)
        assert (code, sentence in told) == (2, True)


# --- releases --------------------------------------------------------------------------------------------------------


def test_a_release_is_scored_from_its_archive_alone(run, team, tmp_path):
    dialogue = make_verified(team, "weather")
    archive_path = full_path(run_release(team, native_format="wild").archive)
    with zipfile.ZipFile(archive_path) as archive:
        native = next(name for name in archive.namelist() if name.endswith("wild.jsonl"))
        record = json.loads(archive.read(native).splitlines()[0])
    tasks = record["english_answer_list"]
    answers = [
        prediction(
            dialogue.external_id,
            number,
            [
                *(
                    calls(call(one["action"]["name"], **one["action"]["arguments"]))
                    for one in nodes
                    if one["action"]["name"] != "prepare_to_answer"
                ),
                said(),
            ],
        )
        for number, nodes in enumerate(tasks)
    ]
    predictions = tmp_path / "p.jsonl"
    predictions.write_bytes(as_lines(answers))
    for family in ("wild", "c3"):
        out = tmp_path / family
        code, line, told = run("score_release", archive_path, predictions, "--family", family, "--out", out)
        assert line, told
        assert (code, line["entries"], line["foreign"]) == (0, len(tasks), 0), told
        assert all(one["right"] for one in read(out)[0])


def test_an_archive_without_dialogues_of_the_family_stops(run, tmp_path):
    archive = tmp_path / "a.zip"
    archive.write_bytes(as_zip({"notes.txt": b"x"}))
    (tmp_path / "p.jsonl").write_bytes(as_lines([]))
    for family in ("wild", "cctu", "async"):
        code, _, told = run("score_release", archive, tmp_path / "p.jsonl", "--family", family, "--out", tmp_path / "o")
        assert code == 2
        assert told
