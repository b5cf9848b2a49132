"""Whole runs of published evaluators, entry by entry and figure by figure."""

import gzip
import io
import json
from pathlib import Path

import pytest

from annotator.core.schema.exact_json import loads
from benchmark.core.scoring import cctu
from benchmark.core.scoring.comparing import compare_entries
from benchmark.core.scoring.scoring_run import Options, score_files

PARITY = "parity"


def scored(references: Path, predictions: list[Path], family: str, **options):
    """(entries, summary, outcome)"""
    out = io.BytesIO()
    summary, outcome = score_files(references, predictions, Options(family, **options), out, figures=False)
    return [json.loads(line) for line in out.getvalue().splitlines()], json.loads(json.dumps(summary)), outcome


def rows(path: Path):
    content = path.read_bytes()
    content = gzip.decompress(content) if path.suffix == ".gz" else content
    return [json.loads(line) for line in content.splitlines()]


def agree(found, expected):
    """Every expected field has the expected value; there may be more."""
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize("family", ["wild", "c3"])
def test_runs_of_wild_and_c3_agree(shared_data, family):
    folder = shared_data / PARITY / f"scoring_{family}"
    entries, summary, outcome = scored(folder / "references.jsonl", [folder / "predictions.jsonl"], family)
    expected = rows(folder / "expected_entries.jsonl")
    found = {(one["run"], one["dialogue"], one["task"]): one for one in entries}
    assert len(found) == len(entries) == len(expected) == {"wild": 2097, "c3": 3157}[family]
    for row in expected:
        agree(found[row["run"], row["dialogue"], row["task"]], row)
    figures = json.loads((folder / "expected_summary.json").read_text())
    for run, row in figures["runs"].items():
        agree(summary["runs"][run], {key: value for key, value in row.items() if key != "published_code_stops_with"})
    assert summary.get("pairs", {}) == figures.get("pairs", {})
    assert (outcome.problems, outcome.foreign, outcome.doubled) == (0, 0, 0)
    assert outcome.missing == 23
    # MMTB's files agree with C3's.
    if family == "c3":
        assert scored(folder / "references.jsonl", [folder / "predictions.jsonl"], "mmtb")[0] == entries


@pytest.mark.parametrize("family", ["wild", "c3"])
def test_the_published_result_files_give_the_same_scores(shared_data, family):
    folder = shared_data / PARITY / f"scoring_{family}"
    for name in ("typical", "broken", "chinese"):
        language = "zh" if name == "chinese" else "en"
        published = folder / "published" / f"{name}_result.jsonl.gz"
        entries, _, outcome = scored(folder / "references.jsonl", [published], family, language=language)
        expected = {
            (one["dialogue"], one["task"]): one for one in rows(folder / "expected_entries.jsonl") if one["run"] == name
        }
        assert {one["run"] for one in entries} == {name}
        assert len(entries) == len(expected)
        for one in entries:
            # The published code stops at the first reply that does not fit its own paths, so the papers' reading
            # cannot go on.
            row = {**expected[one["dialogue"], one["task"]]}
            del row["ours"]
            agree(one, row)
        assert outcome.problems == 0


def test_every_printed_cell_is_a_possible_share(shared_data):
    """The papers print shares of whole numbers; where they do not, ``misfits`` says so."""
    tables = loads((shared_data / PARITY / "paper_tables.json").read_text())
    misfits = {(table, model) for table, model, _ in tables["misfits"]}
    checked = 0
    for name, table in tables.items():
        if not isinstance(table, dict) or "denominators" not in table:
            continue
        for row in table["rows"]:
            for printed, count, of in zip(row["printed"], row["counts"], table["denominators"], strict=True):
                if count is None:
                    assert printed is None or (name, row["model"]) in misfits
                    continue
                checked += 1
                assert 0 <= count <= of
                assert abs(100 * count / of - printed) <= 0.0051, (name, row["model"])
    assert checked > 500


def test_runs_of_cctu_agree(shared_data):
    folder = shared_data / PARITY / "scoring_cctu"
    native = shared_data / "cctu" / "native"
    entries, summary, outcome = scored(native, sorted((folder / "neutral").iterdir()), "cctu")
    found = {(one["run"], one["case"], one["attempt"]): one for one in entries}
    aggregates = json.loads((folder / "aggregates.json").read_text())
    assert len(entries) == 300 * len(aggregates) == 1800
    for model, figures in aggregates.items():
        for row in rows(folder / "expected" / f"{model}.jsonl"):
            agree(found[model, row["case"], row["attempt"]], {key: row[key] for key in row if key != "variant"})
            assert ("masked" in row, "quoted" in row) == (
                "masked" in found[model, row["case"], row["attempt"]],
                "quoted" in found[model, row["case"], row["attempt"]],
            )
        agree(summary["runs"][model], figures)
        assert list(summary["runs"][model]["published"]) == list(figures["published"])
    assert (outcome.problems, outcome.foreign, outcome.missing) == (0, 0, 0)
    # The published format of a run, named after its folder.
    published, _, _ = scored(native, [folder / "runs" / "fir" / "response.jsonl"], "cctu")
    assert published == [one for one in entries if one["run"] == "fir"]


def test_corners_of_the_cctu_evaluator(shared_data):
    folder = shared_data / PARITY / "scoring_cctu"
    refused = 0
    for row in rows(folder / "judge_edges.jsonl"):
        if "raises" in row["expected"]:
            refused += 1
            continue
        found, of = cctu.solve(row["messages"], json.loads(row["unsolved_set"]))
        violated, last = cctu.flags(row["messages"])
        assert {"SR": found == of and not last, "PSR": found == of and not violated} == row["expected"], row["what"]
    assert refused == 8
    for row in rows(folder / "answer_verify.jsonl"):
        assert cctu.holds(row["content"], row["expected_text"]) is row["found"], row


def test_the_validators_say_what_the_published_ones_said(shared_data):
    """Through the sandbox, as the scores take it: every final response of the runs."""
    from annotator.core.sandbox import Call, Sandbox
    from annotator.core.validators.sources import source_of
    from benchmark.core.scoring.cctu import ReferenceCase
    from benchmark.core.scoring.sources import read_references

    outcomes = rows(shared_data / PARITY / "scoring_cctu" / "validator_outcomes.jsonl")
    cases = {case.external_id: ReferenceCase(case) for case in read_references(shared_data / "cctu" / "native", "cctu")}
    by_validator = {}
    for row in outcomes:
        by_validator.setdefault((row["case"], row["constraint"]), []).append(row)
    with Sandbox() as sandbox:
        for (case, position), expected in by_validator.items():
            source, function = source_of(cases[case].document["constraints"][position]["validator"])
            found = sandbox.run(source, function, [Call((row["response"],)) for row in expected])
            assert [(one.accepted, one.message) for one in found] == [
                (row["accepted"], row["message"]) for row in expected
            ]
    assert len(outcomes) == 602


def test_runs_of_async_agree(shared_data):
    folder = shared_data / "async"
    entries, summary, outcome = scored(folder, [folder / "predictions.jsonl"], "async")
    expected = {row["id"]: row for row in rows(folder / "expected_scores.jsonl")}
    assert len(entries) == len(expected) == 1050
    for one in entries:
        agree(one, expected[one["id"]])
    groups = {(row["model"], row["over"]): row for row in summary["groups"]}
    for row in rows(folder / "expected_summary.jsonl"):
        assert groups[row["model"], row["over"]] == row
    assert outcome.problems == 0
    # Two players that played the same composites under the same delays are compared.
    by_run = {}
    for one in entries:
        by_run.setdefault(one["run"], {})[one["entry"]] = one
    assert sum(map(len, by_run.values())) == 1050
    assert compare_entries(by_run["eager"], by_run["prose_and_fences"])["n"] == 8
