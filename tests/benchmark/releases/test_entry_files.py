"""The files with the entries of a release: built, rebuilt, checked offline, and answered by a model."""

import hashlib
import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from pyarrow import parquet

from annotator.core.schema.exact_json import dumps
from annotator.errors import Invalid
from annotator.models import Dialogue
from benchmark.core.archives.manifest import MANIFEST, SUMS, sum_lines
from benchmark.core.archives.table import CHALLENGES, Table, TableWriter
from benchmark.core.archives.verifying import verify_archive
from benchmark.core.formats import FORMATS
from benchmark.core.scoring.scoring_run import Options, score_files
from benchmark.models import Release
from benchmark.services.releases.building import build_archive
from benchmark.services.releases.requests import archive_path
from benchmark.services.stored_files import sha256_of
from tests.benchmark.conftest import as_lines, make_verified, run_release
from tests.factories import WEATHER_TOOLS, Team, claim_and_submit, depends, make_document

pytestmark = pytest.mark.any_database
Files = dict[str, bytes]
ROOT = "release-1.0/"
JSONL = [f"challenges/challenge_{number}.jsonl" for number in (1, 2, 3)]


def several(tag: str) -> dict[str, Any]:
    """Three tasks: one call, a chat, and two calls one after the other."""
    document = make_document(tag, tasks=3)
    (call, answer), task = document["tasks"][0]["steps"], document["tasks"][2]
    order = {"id": "s0", "kind": "logical"}
    again = {**call, "id": "s1", "arguments": {"city": f"Bruges {tag}"}, "depends_on": [order]}
    task |= {"user_message": f"And first there, then in Bruges {tag}?", "policy": "multi_tool"}
    task |= {"steps": [call, again, {**answer, "id": "s2", "depends_on": depends("s1")}]}
    return document


@pytest.fixture
def release(team: Team) -> Release:
    make_verified(team, "d_0", several("a"))
    make_verified(team, "d_1", make_document("b"))
    return run_release(team, native_format="c3")


def members_of(path: Path) -> Files:
    with zipfile.ZipFile(path) as archive:
        return {name.partition("/")[2]: archive.read(name) for name in archive.namelist()}


def rows(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def table(content: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = parquet.read_table(io.BytesIO(content)).to_pylist()
    return found


def test_a_release_has_its_entries_as_lines_and_as_tables(release: Release, tmp_path: Path) -> None:
    files = members_of(archive_path(release))
    assert [row["id"] for row in rows(files["entries.jsonl"])] == ["d_0#0", "d_0#1", "d_0#2", "d_1#0"]
    expected = {
        JSONL[0]: ["d_0#2@challenge_1"],
        JSONL[1]: ["d_0#1@challenge_2", "d_0#2@challenge_2"],
        JSONL[2]: ["d_0#1@challenge_3", "d_0#2@challenge_3"],
    }
    assert {name: [row["id"] for row in rows(files[name])] for name in JSONL} == expected
    for name in ("entries.jsonl", *JSONL):
        parquet_name = name.replace(".jsonl", ".parquet")
        cells = table(files[f"data/{'entries/verified.parquet' if name == 'entries.jsonl' else parquet_name}"])
        for row, cell in zip(rows(files[name]), cells, strict=True):
            assert row["canary"] == release.canary
            assert row == {
                key: json.loads(value) if key in ("messages", "tools", "reference") else value
                for key, value in cell.items()
            }
    item = {one["id"]: one["toolset_sha256"] for one in rows(files["items.jsonl"])}
    assert {row["item"]: row["toolset_sha256"] for row in rows(files["entries.jsonl"])} == item

    card = files["README.md"].decode()
    configs = yaml.safe_load(card.removeprefix("---\n").partition("\n---\n")[0])["configs"]
    assert [(one["config_name"], [split["split"] for split in one["data_files"]]) for one in configs] == [
        ("default", ["verified"]), ("c3", ["verified"]), ("entries", ["verified"]),
        ("challenges", ["challenge_1", "challenge_2", "challenge_3"]),
    ]  # fmt: skip
    assert all(split["path"] in files for one in configs for split in one["data_files"])
    assert "| 1 | 1 | 3 whose last task is not labelled as needing several tools |" in card
    manifest = json.loads(files[MANIFEST])
    assert manifest["entries"]["challenges"]["challenge_2"] == {
        "history": "answers", "entries": 2, "dialogues": 1, "excluded": {"first_task": 2},
    }  # fmt: skip
    assert manifest["schema_versions"]["release"] == 4
    croissant = json.loads(files["croissant.json"])
    assert [one["name"] for one in croissant["recordSet"]][2:] == [
        "entries", "challenge_1", "challenge_2", "challenge_3",
    ]  # fmt: skip
    build_archive(release, tmp_path / "again.zip")
    assert sha256_of(tmp_path / "again.zip") == release.sha256
    assert verify_archive(archive_path(release)).problems == []


def test_a_release_without_a_challenge_has_no_file_for_it(team: Team) -> None:
    make_verified(team, "d_0")
    release = run_release(team)
    files = members_of(archive_path(release))
    assert not [name for name in files if CHALLENGES in name]
    assert "| file | entries" not in files["README.md"].decode()
    assert json.loads(files[MANIFEST])["entries"]["challenges"]["challenge_1"]["entries"] == 0
    assert verify_archive(archive_path(release)).ok


def test_a_corrected_value_is_in_no_file(team: Team, run_import: Callable[..., Any]) -> None:
    """The revision that is released decides, not the line that was imported, whose layout the record follows."""
    (read,) = FORMATS["neutral"].read(
        {"id": "d_0", "document": make_document("Zwolle", tasks=3), "tools": WEATHER_TOOLS}
    )
    run_import(content=json.dumps(FORMATS["wild"].write([read], full=True)).encode(), native_format="wild")
    dialogue = Dialogue.objects.get(project=team.project)
    assert dialogue.head is not None
    corrected = json.loads(json.dumps(dialogue.head.document()).replace("Zwolle", "Utrecht"))
    claim_and_submit(team.annotator, dialogue, "fix", document=corrected)
    claim_and_submit(team.annotator, dialogue)
    for person in team.annotators[1:3]:
        claim_and_submit(person, dialogue, "approve")
    files = members_of(archive_path(run_release(team, native_format="wild")))
    assert {name for name in files if name.endswith(".jsonl") and b"Utrecht" in files[name]} == {
        "wild.jsonl", "dialogues.jsonl", "openai.jsonl", "entries.jsonl", "challenges/history_answers.jsonl",
        "challenges/history_calls.jsonl",
    }  # fmt: skip
    tables = [json.dumps(table(files[name])) for name in files if name.endswith(".parquet")]
    assert len(tables) == 5
    assert not [name for name in files if b"Zwolle" in files[name]]
    assert not [one for one in tables if "Zwolle" in one]


def test_a_release_of_the_layout_before_is_built_as_it_was(release: Release, tmp_path: Path) -> None:
    release.frozen["layout"] = 2
    build_archive(release, tmp_path / "old.zip")
    files, now = members_of(tmp_path / "old.zip"), members_of(archive_path(release))
    assert now.keys() - files.keys() == {
        "entries.jsonl", "data/entries/verified.parquet", *JSONL,
        *(f"data/{name.replace('.jsonl', '.parquet')}" for name in JSONL),
    }  # fmt: skip
    assert json.loads(files[MANIFEST])["schema_versions"]["release"] == 2
    assert "entries" not in json.loads(files[MANIFEST])
    assert b"## Entries" not in files["README.md"]
    assert verify_archive(tmp_path / "old.zip").problems == []
    release.frozen["layout"] = 1
    with pytest.raises(Invalid, match="frozen by an earlier version"):
        build_archive(release, tmp_path / "older.zip")


def sealed(path: Path, files: Files) -> Path:
    """Write files with the checksums of what they contain now, as somebody would who changes more than one."""
    manifest = json.loads(files[MANIFEST])
    manifest["files"] = [file for file in manifest["files"] if file["path"] in files]
    for file in manifest["files"]:
        content = files[file["path"]]
        file |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        file["records"] = content.count(b"\n") if file["path"].endswith(".jsonl") else None
        if file["path"] == SUMS:
            sums = sum_lines((one["path"], one["sha256"]) for one in manifest["files"] if one["path"] != SUMS)
            files[SUMS] = sums
            file |= {"sha256": hashlib.sha256(sums).hexdigest(), "bytes": len(sums)}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (files | {MANIFEST: dumps(manifest)}).items():
            archive.writestr(ROOT + name, content)
    return path


def changed(name: str, change: Callable[[list[dict[str, Any]]], Any]) -> Callable[[Files], None]:
    """Change the rows of one file: JSON lines, or a table."""

    def apply(files: Files) -> None:
        if name.endswith(".jsonl"):
            found = rows(files[name])
            change(found)
            files[name] = as_lines(found)
            return
        found = table(files[name])
        change(found)
        pieces: list[bytes] = []
        writer = TableWriter(name.split("/")[1], pieces.append)
        for row in found:
            writer.add(row)
        writer.close()
        files[name] = b"".join(pieces)

    return apply


def easier(found: list[dict[str, Any]]) -> None:
    found[0]["reference"][0]["action"]["arguments"] = {"city": "anywhere"}


def counted_wrong(files: Files) -> None:
    manifest = json.loads(files[MANIFEST])
    manifest["entries"]["challenges"]["challenge_1"]["entries"] = 7
    files[MANIFEST] = dumps(manifest)


CHALLENGE_2 = Table(CHALLENGES, "challenge_2").path


#: A change, and the only problem that is found then.
CHANGES: list[tuple[Callable[[Files], Any], str]] = [
    (changed("entries.jsonl", easier), "entries.jsonl, line 1 at /reference/0/action/arguments/city differs from"),
    (changed("entries.jsonl", lambda found: found.pop()), "entries.jsonl ends before the record of “d_1#0”"),
    (changed(JSONL[0], easier), f"{JSONL[0]}, line 1 at /reference/0/action/arguments/city differs from"),
    (changed(JSONL[1], lambda found: found[0]["messages"].pop(1)), f"{JSONL[1]}, line 1 at /messages differs from"),
    (changed(JSONL[2], lambda found: found.append(found[0])), f"{JSONL[2]} has more records than there are"),
    (changed(JSONL[2], lambda found: found[0].update(canary="x")), "does not contain the release's canary"),
    (changed(CHALLENGE_2, lambda found: found.reverse()), "row 1: the record of “d_0#1@challenge_2” is expected"),
    (
        changed("data/entries/verified.parquet", lambda found: found[3].update(policy="chat")),
        "data/entries/verified.parquet, row 4 at /policy differs from",
    ),
    (lambda files: files.pop("entries.jsonl"), "entries.jsonl is missing, but the documents have rows for it."),
    (lambda files: files.pop(CHALLENGE_2), f"{CHALLENGE_2} is missing, but the documents have rows for it."),
    (counted_wrong, "The manifest counts the entries or challenges differently than the documents do."),
]  # fmt: skip


def test_every_change_of_an_entry_is_found(release: Release, tmp_path: Path) -> None:
    files = members_of(archive_path(release))
    assert verify_archive(sealed(tmp_path / "same.zip", dict(files))).problems == []
    for number, (change, sentence) in enumerate(CHANGES):
        altered = dict(files)
        change(altered)
        (problem,) = verify_archive(sealed(tmp_path / f"{number}.zip", altered)).problems
        assert sentence in problem


def answered(content: bytes) -> list[dict[str, Any]]:
    """The rows of a challenge with a model's replies after their messages: those of the reference."""
    found = rows(content)
    for row in found:
        for place, one in enumerate(row["reference"]):
            action = one["action"]
            if action["name"] == "prepare_to_answer":
                row["messages"].append({"role": "assistant", "content": one["observation"]})
                continue
            function = {"name": action["name"], "arguments": json.dumps(action["arguments"])}
            call = {"id": f"m{place}", "type": "function", "function": function}
            row["messages"] += [
                {"role": "assistant", "content": None, "tool_calls": [call]},
                {"role": "tool", "tool_call_id": f"m{place}", "content": json.dumps(one["observation"])},
            ]
    return found


def test_the_scorer_takes_a_challenge_with_the_replies_of_a_model(release: Release, tmp_path: Path) -> None:
    archive = archive_path(release)
    files = members_of(archive)
    for name in JSONL:
        (tmp_path / Path(name).name).write_bytes(as_lines(answered(files[name])))
    out = io.BytesIO()
    paths = [tmp_path / f"challenge_{number}.jsonl" for number in (1, 2, 3)]
    summary, outcome = score_files(archive, paths, Options("c3"), out)
    assert (outcome.problems, outcome.foreign, outcome.listed) == (0, 0, [])
    runs = summary["runs"]
    assert {run: (one["history"], one["counts"]["challenge"]) for run, one in runs.items()} == {
        "challenge_1": ("calls", {"1": [1, 1], "3": [1, 1]}),
        "challenge_2": ("answers", {"2": [2, 2]}),
        "challenge_3": ("calls", {"1": [1, 1], "3": [2, 2]}),
    }
    entries = {row["entry"] for row in rows(out.getvalue())}
    assert entries == {"d_0#1", "d_0#2"} <= {row["id"] for row in rows(files["entries.jsonl"])}

    # Without other fields, the id says which entry it is, and with which history.
    short = [{"id": row["id"], "messages": row["messages"]} for row in answered(files[JSONL[1]])]
    (tmp_path / "short.jsonl").write_bytes(as_lines(short))
    summary, _ = score_files(archive, [tmp_path / "short.jsonl"], Options("c3"), io.BytesIO())
    assert summary["runs"]["short"]["counts"]["all"] == [2, 2]
    assert (summary["runs"]["short"]["history"], summary["runs"]["short"]["counts"]["challenge"]) == (
        "answers",
        {"2": [2, 2]},
    )
    calls = Options("c3", history="calls")
    _, outcome = score_files(archive, [tmp_path / "short.jsonl"], calls, io.BytesIO())
    assert (outcome.entries, outcome.problems) == (0, 2)

    _, outcome = score_files(archive, [tmp_path / "challenge_2.jsonl"], Options("c3", history="calls"), io.BytesIO())
    assert (outcome.entries, outcome.problems) == (0, 2)
    assert "/history is answers, but challenge_2 is scored with the history calls." in outcome.listed[0]
