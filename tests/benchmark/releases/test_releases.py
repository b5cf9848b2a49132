"""Releases: what enters, what is left out and why, and archives that are whole or not there at all."""

import copy
import json
import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone
from django.utils.translation import override

from annotator.core import concurrency
from annotator.core.checks import clean_marks as clean
from annotator.core.schema import content_hash
from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Dialogue, Job, Revision, User
from annotator.models.content import DialogueStatus
from annotator.presentation.components.labels import LABELS
from annotator.services.dialogues.revisions import check_document, revise
from annotator.services.dialogues.variants import match_variants
from annotator.services.integrity.history_checks import history_problems
from annotator.services.jobs import jobs
from annotator.views.request_limits import BUFFERED
from benchmark.core.archives.verifying import verify_archive
from benchmark.core.formats import FORMATS
from benchmark.models import ImportBatch, LeftOutDialogue, Release, ReleaseItem, ReleaseState
from benchmark.services import stored_files
from benchmark.services.releases import building, freezing, requests, runner
from benchmark.services.releases.building import build_archive
from benchmark.services.releases.items import Item
from benchmark.services.releases.requests import archive_path, find_release, list_releases, load_release, start_release
from benchmark.services.releases.runner import hand_out
from benchmark.services.stored_files import full_path, sha256_of
from reviews.core.protocols import load_preset, read_protocol
from reviews.core.protocols.presets import MAJORITY_OF_THREE
from reviews.models import Draw
from reviews.services.cycles.migration import start_migration
from reviews.services.protocols.versions import adopt_preset, adopt_protocol
from reviews.services.sampling.draws import close_population_and_draw
from tests.benchmark.conftest import as_lines, begin_import, candidate, counters, make_verified, run_release
from tests.conftest import ROOT
from tests.factories import (
    WEATHER_TOOLS,
    Team,
    adopt_c3,
    begin,
    broken,
    changed,
    claim_and_submit,
    current,
    depends,
    make_dialogue,
    make_document,
    make_item,
    make_team,
)

RunImport = Callable[..., ImportBatch]


class Killed(BaseException):
    """The process is gone."""


def members(release: Release) -> dict[str, bytes]:
    """Return the contents of the archive, by name below its folder."""
    with zipfile.ZipFile(archive_path(release)) as archive:
        prefix = f"release-{release.version}/"
        assert all(name.startswith(prefix) for name in archive.namelist())
        return {name.removeprefix(prefix): archive.read(name) for name in archive.namelist()}


def lines(content: bytes) -> list[dict[str, Any]]:
    return [json.loads(line) for line in content.splitlines()]


def test_verified_dialogues_enter_with_their_trail(team: Team) -> None:
    plain = make_verified(team, "b")
    make_item(team, "expert", external_id="a")
    release = run_release(team)

    assert (release.state, release.item_count, release.left_out_count) == ("frozen", 1, 1)
    files = members(release)
    assert set(files) == {
        "dialogues.jsonl", "openai.jsonl", "items.jsonl", "data/default/verified.parquet", "errata.jsonl",
        "entries.jsonl", "data/entries/verified.parquet", "croissant.json", "CITATION.cff", "README.md", "SHA256SUMS",
        "manifest.json",
    }  # fmt: skip
    (item,) = lines(files["items.jsonl"])
    assert (item["id"], item["revision_sha256"], item["cycle"]) == ("b", plain.content_hash, 1)
    assert [stage["stage"] for stage in item["stages"]][:3] == ["self_check_single", "self_check_multi", "cross_check"]
    crossed = item["stages"][2]
    assert [review["verdict"] for review in crossed["reviews"]] == ["approve", "approve"]
    assert {review["reviewer"] for review in crossed["reviews"]} == {
        person.pseudonym for person in team.annotators[1:3]
    }
    everything = b"".join(files.values()).decode(errors="replace")
    assert not any(person.username in everything or person.display_name in everything for person in team.everybody)
    left = LeftOutDialogue.objects.get(release=release)
    assert (left.dialogue.external_id, "Escalated" in left.reason) == ("a", True)


def test_a_trail_names_the_version_each_stage_was_passed_under_and_why_a_round_was_broken_off(db: None) -> None:
    team = make_team(annotators=4)
    adopt_c3(team, audit_fraction=0.0)
    begun = make_item(team, "cross_check", external_id="a")
    claim_and_submit(team.annotators[1], begun, "approve")
    untouched = make_verified(team, "b")
    for reviewers, blind in ((3, True), (3, False)):
        definition = load_preset("c3", audit_fraction=0.0).model_dump(mode="json")
        table = [row.model_dump(mode="json") for row in MAJORITY_OF_THREE]
        definition["stages"][2] |= {"reviewers": reviewers, "blind": blind, "outcomes": table}
        adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(definition))
        jobs.run(start_migration(actor=team.administrator, project=team.project, reason=team.annotator.username).pk)
    # Nothing is broken off by the last one.
    definition["name"] = "Renamed"
    claim_and_submit(team.annotators[1], begun, "approve")
    adopt_protocol(actor=team.administrator, project=team.project, protocol=read_protocol(definition))
    jobs.run(start_migration(actor=team.administrator, project=team.project).pk)
    for person in team.annotators[2:4]:
        claim_and_submit(person, begun, "approve")

    files = members(run_release(team))
    moved, plain = lines(files["items.jsonl"])
    assert (moved["protocol"], plain["protocol"]) == (4, 1)
    assert {stage["protocol"] for stage in plain["stages"]} == {1}
    assert not any("broken_off" in stage for stage in plain["stages"])
    found = [(one["stage"], one["protocol"], one["outcome"], one.get("broken_off")) for one in moved["stages"]]
    added = "Earlier reviews cannot be combined with new ones."
    assert found[:5] == [
        ("self_check_single", 1, "pass", None),
        ("self_check_multi", 1, "pass", None),
        ("cross_check", 1, "", f"The number of reviewers changes from 2 to 3. {added}"),
        ("cross_check", 2, "", f"The stage is no longer blind. {added}"),
        ("cross_check", 4, "pass", None),
    ]
    manifest = json.loads(files["manifest.json"])
    assert [one["number"] for one in manifest["protocols"]] == [1, 2, 4]
    assert manifest["protocol"]["number"] == 4
    assert team.annotator.username not in files["items.jsonl"].decode()
    card = files["README.md"].decode()
    assert all(f"(version {number}" in card for number in (1, 2, 4))
    assert untouched.content_hash == plain["revision_sha256"]


def test_anybody_can_draw_a_releases_samples_again(team: Team, tmp_path: Path) -> None:
    adopt_c3(team, audit_fraction=0.5)
    items = [make_verified(team, name) for name in ("b", "a", "c")]
    draw = close_population_and_draw(actor=team.administrator, project=team.project)
    assert draw is not None
    under_way = run_release(team)
    assert under_way.item_count == 1
    assert "draws.jsonl" not in members(under_way), "it would say whose work a reviewer has before them"
    drawn = [item for item in items if item.external_id in drawn_of(draw)]
    for item in drawn:
        claim_and_submit(team.senior, item, "approve")

    release = run_release(team, "2.0")
    assert verify_archive(archive_path(release)).ok
    population = lines(members(release)["draws.jsonl"])
    assert [(one["id"], one["stage"], one["draw"]) for one in population] == [(name, "expert", 1) for name in "abc"]
    assert "draws.jsonl" in members(release)["README.md"].decode()
    with zipfile.ZipFile(archive_path(release)) as archive:
        archive.extractall(tmp_path)
    (program,) = re.findall(r"```python\n(.*?)\n```", (ROOT / "docs/sampling.md").read_text(), re.DOTALL)
    command = [sys.executable, "-c", program, str(tmp_path / "release-2.0")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == f"expert 1 {' '.join(sorted(drawn_of(draw)))}\n"


def drawn_of(draw: Draw) -> set[str]:
    return set(draw.items.filter(selected=True).values_list("dialogue__external_id", flat=True))


def test_each_is_left_out_for_its_own_reason(team: Team) -> None:
    make_verified(team, "fit")
    make_dialogue(team.project, external_id="candidate")
    make_item(team, "self_check_single", external_id="first")
    make_item(team, "cross_check", external_id="crossed")
    rejected = make_item(team, "expert", external_id="rejected")
    claim_and_submit(team.senior, rejected, "reject", reason="Nobody would ask this.")
    archived = make_verified(team, "archived")
    Dialogue.objects.filter(pk=archived.pk).update(archived_at=timezone.now())
    make_dialogue(team.project, external_id="unpublished", published=False)

    release = run_release(team)
    reasons = {row.dialogue.external_id: row.reason for row in LeftOutDialogue.objects.filter(release=release)}
    assert set(reasons) == {"candidate", "first", "crossed", "rejected"}
    assert reasons["candidate"] == "Not reviewed yet."
    assert reasons["first"] == "In review at “Self-check, single round”."
    assert reasons["crossed"] == "In review at “Cross-check”."
    assert reasons["rejected"].startswith("Rejected in review")


@pytest.mark.parametrize(("preset", "stage"), [("c3", "Expert verification"), ("wild", "Review in pairs")])
def test_what_waits_for_a_draw_is_left_out_and_not_called_approved(team: Team, preset: str, stage: str) -> None:
    adopt_preset(actor=team.administrator, project=team.project, preset=preset)
    if preset == "c3":
        item = make_verified(team, "pooled")
    else:
        item = make_dialogue(team.project)
        begin(team.project, [item])
        claim_and_submit(team.annotator, item)
    item.refresh_from_db()
    # Under wild nobody but its author has looked at it, and no audit will.
    assert item.get_status_display() == LABELS["status"][item.status].text == "Waiting for the draw"
    assert LeftOutDialogue.objects.get(release=run_release(team)).reason == f"Waiting for the draw at “{stage}”."


def test_verified_content_with_errors_is_left_out(team: Team) -> None:
    make_verified(team, "good")
    document = make_document()
    task = document["tasks"][0]
    call, answer = task["steps"]
    second = call | {"id": "s2", "arguments": {"city": "Bruges"}, "depends_on": [{"id": "s0", "kind": "logical"}]}
    task["user_message"] += " And in Bruges?"
    task |= {"policy": "multi_tool", "steps": [call, second, answer | {"depends_on": depends("s0", "s2")}]}
    make_verified(team, "bad", document)
    # The rules got stricter after it was verified.
    team.project.check_settings = {"graph.redundant_edge": "error"}
    team.project.save(update_fields=["check_settings"])
    release = run_release(team)
    assert (release.state, release.item_count) == ("frozen", 1)
    reason = LeftOutDialogue.objects.get(release=release).reason
    assert reason.startswith("graph.redundant_edge at /tasks/t1/steps/s1")


def test_a_stale_language_variant_is_left_out(team: Team) -> None:
    chinese = make_document("中文") | {"language": "zh"}
    make_verified(team, "pair", variant_group="pair")
    make_verified(team, "pair:zh", chinese, variant_group="pair")
    make_verified(team, "stale", variant_group="stale")
    sibling = make_verified(team, "stale:zh", chinese, variant_group="stale")
    Dialogue.objects.filter(pk=sibling.pk).update(policies=",multi_tool,")

    release = run_release(team, native_format="wild")
    reasons = {row.dialogue.external_id: row.reason for row in LeftOutDialogue.objects.filter(release=release)}
    assert set(reasons) == {"stale", "stale:zh"}
    assert all("language variant" in reason for reason in reasons.values())
    files = members(release)
    assert [record["id"] for record in lines(files["dialogues.jsonl"])] == ["pair", "pair:zh"]
    (record,) = lines(files["wild.jsonl"])
    assert (record["id"], bool(record["tasks"]), bool(record["english_tasks"])) == ("pair", True, True)

    # Rejected items stay as they are and block nothing.
    Dialogue.objects.filter(pk=sibling.pk).update(status=DialogueStatus.REJECTED)
    release = run_release(team, "2.0", native_format="wild")
    assert LeftOutDialogue.objects.get(release=release).dialogue_id == sibling.pk


@pytest.mark.parametrize("change", ["message", "argument"])
def test_a_variant_whose_sibling_has_other_words_since_holds_both_back(team: Team, change: str) -> None:
    chinese = make_document("中文") | {"language": "zh"}
    english = make_document("pair")
    make_verified(team, "pair:zh", chinese, variant_group="pair")
    one = make_dialogue(team.project, english, external_id="pair", variant_group="pair")
    begin(team.project, [one])
    task = copy.deepcopy(english)["tasks"][0]
    if change == "message":
        task["user_message"] += " Please."
    else:
        task["steps"][0]["arguments"]["city"] = "Ghent"
    claim_and_submit(team.annotator, one, "fix", document=english | {"tasks": [task]})
    claim_and_submit(team.annotator, one, "approve")
    for person in team.annotators[1:3]:
        claim_and_submit(person, one, "approve")

    release = run_release(team, native_format="wild")
    assert release.state == "failed"
    reasons = {row.dialogue.external_id: row.reason for row in LeftOutDialogue.objects.filter(release=release)}
    assert set(reasons) == {"pair", "pair:zh"}
    assert all("last compared" in reason for reason in reasons.values())

    heads = [Dialogue.objects.select_related("head", "project").get(external_id=name) for name in reasons]
    assert all(each.head is not None for each in heads)
    seen = (str(heads[0].head and heads[0].head.public_id), str(heads[1].head and heads[1].head.public_id))
    match_variants(actor=team.senior, dialogue=heads[0], other=heads[1].public_id, seen=seen)
    assert run_release(team, "2.0", native_format="wild").item_count == 2


def test_nothing_verified_is_no_release(team: Team) -> None:
    make_item(team, "self_check_single", external_id="a")
    release = run_release(team)
    assert (release.state, release.left_out_count, release.archive) == ("failed", 1, "")
    assert "No dialogue in this project is verified" in release.job.error
    assert not full_path(f"releases/{release.public_id}").exists()
    assert not ReleaseItem.objects.exists()


def test_require_all_refuses_what_leaves_something_out(team: Team) -> None:
    make_verified(team, "a")
    make_item(team, "self_check_single", external_id="b")
    release = run_release(team, require_all=True)
    assert release.state == "failed"
    assert "would be left out" in release.job.error
    assert not ReleaseItem.objects.exists()

    again = run_release(team, require_all=False)
    assert (again.state, again.version) == ("frozen", release.version), "a version that failed is free again"


@pytest.mark.parametrize("native_format", ["wild", "c3", "mmtb", "neutral", "openai"])
def test_an_archive_verifies_and_is_the_same_when_built_again(team: Team, tmp_path: Path, native_format: str) -> None:
    for n in range(3):
        make_verified(team, f"d{n}", make_document(str(n), tasks=2 + n))
    make_item(team, "cross_check", external_id="open")
    release = run_release(team, native_format=native_format)
    path = archive_path(release)

    report = verify_archive(path)
    assert (report.ok, report.items, report.problems) == (True, 3, [])
    assert sha256_of(path) == release.sha256
    assert path.stat().st_size == release.archive_bytes
    for name in ("once.zip", "twice.zip"):
        build_archive(release, tmp_path / name)
        assert (tmp_path / name).read_bytes() == path.read_bytes()
    manifest = json.loads(members(release)["manifest.json"])
    assert manifest["counts"] == {"items": 3, "dialogues": 3, "entries": 9, "calls": 3}
    assert manifest["protocol"]["preset"] == "c3"
    assert (native_format == "neutral") == (f"{native_format}.jsonl" not in members(release))


def test_a_release_is_the_same_whatever_language_its_administrator_reads(team: Team, tmp_path: Path) -> None:
    for n in range(2):
        make_verified(team, f"d{n}", make_document(str(n)))
    User.objects.filter(pk=team.administrator.pk).update(language="zh-hans", chosen_language="zh-hans")
    with override("zh-hans"):
        release = run_release(team)
        build_archive(release, tmp_path / "chinese.zip")
    build_archive(release, tmp_path / "english.zip")
    assert (tmp_path / "english.zip").read_bytes() == archive_path(release).read_bytes()
    assert (tmp_path / "chinese.zip").read_bytes() == archive_path(release).read_bytes()
    for name, content in members(release).items():
        assert name.endswith(".parquet") or not re.search("[\u4e00-\u9fff]", content.decode()), name


def test_a_release_stays_as_it_was_frozen(team: Team, tmp_path: Path) -> None:
    dialogue = make_verified(team, "a")
    release = run_release(team)
    before = archive_path(release).read_bytes()
    Dialogue.objects.filter(pk=dialogue.pk).update(title="changed", status="in_review", search_text="x")
    make_verified(team, "b")
    team.project.name = "Another name"
    team.project.save()
    build_archive(Release.objects.get(pk=release.pk), tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == before


@pytest.mark.parametrize("native_format", ["wild", "c3", "neutral"])
def test_released_files_import_into_another_project_as_the_same_records(
    team: Team, run_import: RunImport, native_format: str
) -> None:
    for n in range(3):
        make_verified(team, f"d{n}", make_document(str(n), tasks=3))
    release = run_release(team, native_format=native_format)
    other = make_team()
    adopt_c3(other)
    options = {"project": other.project, "actor": other.administrator}

    whole = run_import(
        content=archive_path(release).read_bytes(), filename="r.zip", native_format=native_format, **options
    )
    assert (whole.job.state, counters(whole)) == ("done", (3, 3, 0, 0, 0, 0))
    name = "dialogues.jsonl" if native_format == "neutral" else f"{native_format}.jsonl"
    again = run_import(content=members(release)[name], filename=name, native_format=native_format, **options)
    assert counters(again) == (3, 0, 0, 3, 0, 0)
    if native_format == "neutral":
        hashes = [
            dict(project.dialogues.values_list("external_id", "content_hash"))
            for project in (team.project, other.project)
        ]
        assert hashes[0] == hashes[1]


def test_released_records_are_laid_out_as_the_lines_they_came_from(
    team: Team, run_import: RunImport, tmp_path: Path
) -> None:
    """Keys in their order, numbers as they were written; what was corrected does not come back from the old line."""
    adopt_c3(team, audit_fraction=0.0)
    odd = '{"n": 123456789012345678901, "hours" : 40.0,"zero": -0.0, "share": 1.50, "many":1E2, "sky": "clear"}'
    texts = {}
    for name in ("plain", "fixed"):
        (read,) = FORMATS["neutral"].read({"id": name, "document": make_document(name), "tools": WEATHER_TOOLS})
        call = read.document["tasks"][0]["steps"][0]
        call["observation"] = {"was": call["observation"], "odd": "@"}
        record = dict(reversed(FORMATS["wild"].write([read], full=True).items()))
        texts[name] = json.dumps(record).replace('"@"', odd)
    file = "\r\n".join(texts.values()).encode()
    assert counters(run_import(content=file, native_format="wild"))[:2] == (2, 2)
    plain, fixed = (Dialogue.objects.get(project=team.project, external_id=name) for name in texts)
    document = current(fixed)
    document["tasks"][0]["steps"][0]["observation"]["odd"]["sky"] = "grey"
    document["tasks"][0]["steps"][0]["observation"]["odd"]["many"] = 7
    claim_and_submit(team.annotator, fixed, "fix", document=document)
    claim_and_submit(team.annotator, fixed)
    for _ in range(2):
        claim_and_submit(team.annotator, plain)
    for person in team.annotators[1:3]:
        for dialogue in (plain, fixed):
            claim_and_submit(person, dialogue, "approve")

    release = run_release(team, native_format="wild")
    corrected = odd.replace("1E2", "7").replace("clear", "grey")
    expected = {"plain": texts["plain"], "fixed": texts["fixed"].replace(odd, corrected)}
    canary = f', "canary": "{release.canary}"}}'
    written = members(release)["wild.jsonl"].decode().splitlines()
    assert sorted(written) == sorted(f"{text[:-1]}{canary}" for text in expected.values())
    assert verify_archive(archive_path(release)).ok

    # A later import brings lines of its own, and the release is as it was frozen.
    again = texts["plain"].replace("1.50", "2.50")
    options = {"content": again.encode(), "native_format": "wild", "revise": True}
    run_import(**options, dry_run=True)
    assert counters(run_import(**options, reopen=True))[2] == 1
    build_archive(release, tmp_path / "again.zip")
    assert (tmp_path / "again.zip").read_bytes() == archive_path(release).read_bytes()


def test_a_release_of_the_copy_holds_the_same_native_records(team: Team, run_import: RunImport) -> None:
    """Released, imported elsewhere, verified and released again: only the canary differs."""
    fixed = make_item(team, "self_check_single", external_id="fixed")
    claim_and_submit(team.annotator, fixed, "fix", document=changed(current(fixed)))
    claim_and_submit(team.annotator, fixed)
    for person in team.annotators[1:3]:
        claim_and_submit(person, fixed, "approve")
    make_verified(team, "plain", make_document(tasks=4))
    first = run_release(team, native_format="wild")

    other = make_team()
    adopt_c3(other, audit_fraction=0.0)
    run_import(
        content=members(first)["wild.jsonl"], filename="w.jsonl", native_format="wild", project=other.project,
        actor=other.administrator,
    )  # fmt: skip
    for dialogue in Dialogue.objects.filter(project=other.project):
        claim_and_submit(other.annotator, dialogue)
        claim_and_submit(other.annotator, dialogue)
        for person in other.annotators[1:3]:
            claim_and_submit(person, dialogue, "approve")
    second = run_release(other, native_format="wild")

    def records(release: Release) -> list[dict[str, Any]]:
        return [{k: v for k, v in record.items() if k != "canary"} for record in lines(members(release)["wild.jsonl"])]

    assert records(first) == records(second)


@pytest.mark.parametrize("native_format", ["neutral", "wild", "c3", "mmtb", "openai"])
def test_a_release_imported_into_its_own_project_changes_nothing(
    team: Team, run_import: RunImport, native_format: str
) -> None:
    for name in ("a", "b"):
        make_verified(team, name)
    release = run_release(team, native_format=native_format)
    archive = archive_path(release).read_bytes()
    options = {"filename": "release.zip", "native_format": native_format, "revise": True, "reopen": True}
    for dry_run in (True, False):
        assert counters(run_import(content=archive, dry_run=dry_run, **options)) == (2, 0, 0, 2, 0, 0)
    # A change in it counts as a change.
    content = members(release)
    name = f"{native_format}.jsonl" if f"{native_format}.jsonl" in content else "dialogues.jsonl"
    text = content[name]
    edited = text.replace(b"Ghent a", b"Bruges", 1)
    assert edited != text
    batch = run_import(content=edited, **options | {"filename": name, "dry_run": True})
    assert (batch.unchanged, batch.revised + batch.rejected) == (1, 1)


def test_a_release_says_in_which_formats_it_can_be_read(team: Team, run_import: RunImport) -> None:
    make_verified(team, "a")
    archive = archive_path(run_release(team, native_format="wild")).read_bytes()
    batch = run_import(content=archive, filename="release.zip", native_format="c3")
    assert batch.job.error.startswith("The archive is a release of Assay without records in the format c3. Choose ")


def test_a_release_laid_out_as_its_records_came_changes_nothing_either(team: Team, run_import: RunImport) -> None:
    """Messages repeat observations as text, whose order of keys is that of the line."""
    drafted = make_dialogue(team.project, external_id="a")
    record = FORMATS["c3"].write([Item.of(drafted, drafted.head)]) | {"id": "b"}
    record["english_answer_list"][0][0]["observation"] = {"sky": "clear", "degrees": 18}
    run_import([record], native_format="c3")
    dialogue = Dialogue.objects.get(external_id="b")
    for person in (team.annotator, *team.annotators):
        claim_and_submit(person, dialogue, "approve")
    release = run_release(team, native_format="c3")
    archive = archive_path(release).read_bytes()
    again = run_import(content=archive, filename="release.zip", native_format="c3", revise=True, reopen=True)
    assert (release.item_count, again.unchanged, again.revised) == (1, 1, 0)


class TestMarks:
    """Clean items are not checked again; items changed since then are."""

    @pytest.fixture
    def checked(self, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
        """Documents that a release checks."""
        seen: list[dict[str, Any]] = []

        def look(document: dict[str, Any], *arguments: Any, **options: Any) -> Any:
            seen.append(document)
            return check_document(document, *arguments, **options)

        monkeypatch.setattr(freezing, "check_document", look)
        return seen

    @pytest.fixture
    def imported(self, team: Team, run_import: RunImport) -> Dialogue:
        """A dialogue as an import marked it, verified unchanged."""
        run_import([candidate("a", document=make_document("a", tasks=2))])
        dialogue = Dialogue.objects.get(external_id="a")
        self.verify(team, dialogue)
        return dialogue

    def verify(self, team: Team, dialogue: Dialogue, **first: Any) -> None:
        claim_and_submit(team.annotator, dialogue, **first)
        claim_and_submit(team.annotator, dialogue)
        for person in team.annotators[1:3]:
            claim_and_submit(person, dialogue, "approve")

    def test_what_an_import_found_clean_is_not_checked_again(
        self, team: Team, imported: Dialogue, checked: list[Any], tmp_path: Path
    ) -> None:
        release = run_release(team)
        assert (release.state, release.item_count, checked) == ("frozen", 1, [])
        assert verify_archive(archive_path(release)).ok
        # The labels of the rows are counted as those of the contents are.
        Revision.objects.update(clean_mark=None)
        other = run_release(team, version="2.0")
        assert len(checked) == 1
        assert release.frozen["counts"]["entries"] == 2
        assert other.frozen["counts"] == release.frozen["counts"]

    def test_what_a_person_changed_is_marked_too(self, team: Team, run_import: RunImport, checked: list[Any]) -> None:
        run_import([candidate("a")])
        dialogue = Dialogue.objects.get(external_id="a")
        self.verify(team, dialogue, verdict="fix", document=changed(current(dialogue)))
        assert run_release(team).item_count == 1
        assert Revision.objects.filter(dialogue=dialogue).count() == 2
        assert checked == []

    def test_a_release_marks_what_it_had_to_check(self, team: Team, checked: list[Any]) -> None:
        make_verified(team, "a")
        for version in ("1.0", "2.0"):
            assert run_release(team, version=version).item_count == 1
        assert len(checked) == 1

    def test_other_settings_void_a_mark(self, team: Team, imported: Dialogue, checked: list[Any]) -> None:
        team.project.check_settings = {"provenance.value_nowhere": "warning"}
        team.project.save(update_fields=["check_settings"])
        assert run_release(team).item_count == 1
        assert len(checked) == 1

    def test_another_program_voids_a_mark(
        self, team: Team, imported: Dialogue, checked: list[Any], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(clean, "_PROGRAM", b"the next version")
        assert run_release(team).item_count == 1
        assert len(checked) == 1

    def test_content_with_errors_has_no_mark(self, team: Team, run_import: RunImport) -> None:
        run_import([candidate("bad", document=broken(make_document())), candidate("good")])
        marks = Revision.objects.values_list("dialogue__external_id", "clean_mark")
        assert {name: mark is not None for name, mark in marks} == {"bad": False, "good": True}


def test_damaged_content_is_not_released(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_verified(team, "a")
    # The database keeps contents as they were written; this simulates a damaged one.
    monkeypatch.setattr(building, "checksum", lambda text: "0" * 64)
    release = run_release(team)
    assert (release.state, release.job.state) == ("failed", "failed")
    assert "The stored data of dialogue a doesn’t match its checksum" in release.job.error


def test_damaged_tools_are_not_released(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_verified(team, "a")
    tools = '{"tools"'
    monkeypatch.setattr(building, "checksum", lambda text: "0" * 64 if text.startswith(tools) else content_hash(text))
    assert "the tools of dialogue a doesn’t match its checksum" in run_release(team).job.error


class TestKilled:
    """A release whose worker is killed: the next attempt finishes it, and nobody sees anything half done."""

    def kill_at(self, monkeypatch: pytest.MonkeyPatch, owner: Any, name: str) -> None:
        def die(*arguments: Any, **options: Any) -> None:
            raise Killed

        monkeypatch.setattr(owner, name, die)

    @pytest.mark.parametrize(
        "place",
        ["require_worth_releasing", "build_archive", "sha256_of", "sync_folder", "append_event", "_clear"],
    )
    def test_at_every_step(self, team: Team, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
        make_verified(team, "a")
        release = self.begin(team)
        with monkeypatch.context() as patch:
            self.kill_at(patch, runner, place)
            with pytest.raises(Killed):
                jobs.run(release.job_id)
        self.finish_and_check(release, visible=place == "_clear")

    @pytest.mark.parametrize("place", ["write_card", "build_manifest"])
    def test_while_writing(self, team: Team, monkeypatch: pytest.MonkeyPatch, place: str) -> None:
        make_verified(team, "a")
        release = self.begin(team)
        with monkeypatch.context() as patch:
            self.kill_at(patch, building, place)
            # A killed process does not clean up behind itself.
            patch.setattr(Path, "unlink", lambda self, missing_ok=False: None)
            with pytest.raises(Killed):
                jobs.run(release.job_id)
        assert list(full_path(f"releases/{release.public_id}").iterdir())
        self.finish_and_check(release, visible=False)

    def test_twice(self, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
        """While it writes, and right after it has frozen: what the first has left is removed all the same."""
        make_verified(team, "a")
        release = self.begin(team)
        aside = full_path(f"releases/{release.public_id}/attempt-0.zip")
        aside.parent.mkdir(parents=True)
        aside.write_bytes(b"half an archive")
        with monkeypatch.context() as patch:
            self.kill_at(patch, runner, "_clear")
            with pytest.raises(Killed):
                jobs.run(release.job_id)
        self.finish_and_check(release, visible=True)

    def begin(self, team: Team) -> Release:
        return start_release(
            actor=team.administrator, project=team.project, version="1.0", native_format="wild", wake_worker=False
        )

    def finish_and_check(self, release: Release, *, visible: bool) -> None:
        release = Release.objects.select_related("job", "project").get(pk=release.pk)
        assert (release.state == ReleaseState.FROZEN) == visible
        if not visible:
            with pytest.raises(Conflict):
                archive_path(release)
        Job.objects.filter(pk=release.job_id).update(heartbeat_at=timezone.now() - timedelta(minutes=5))
        assert jobs.run(release.job_id).state == "done"
        release = Release.objects.select_related("job", "project").get(pk=release.pk)
        assert verify_archive(archive_path(release)).ok
        assert ReleaseItem.objects.filter(release=release).count() == 1
        assert [file.name for file in archive_path(release).parent.iterdir()] == ["release-1.0.zip"]


def test_a_cancelled_release_leaves_nothing(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_verified(team, "a")
    release = start_release(
        actor=team.administrator, project=team.project, version="1.0", native_format="wild", wake_worker=False
    )
    build = runner.build_archive

    def cancel_first(*arguments: Any, **options: Any) -> None:
        jobs.cancel_job(actor=team.administrator, job=release.job)
        build(*arguments, **options)

    monkeypatch.setattr(runner, "build_archive", cancel_first)
    assert jobs.run(release.job_id).state == "cancelled"
    release.refresh_from_db()
    assert release.state == "failed"
    assert not full_path(f"releases/{release.public_id}").exists()
    assert not ReleaseItem.objects.exists()


def test_a_worker_that_lost_its_release_does_not_publish(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    make_verified(team, "a")
    release = start_release(
        actor=team.administrator, project=team.project, version="1.0", native_format="wild", wake_worker=False
    )
    hashing = runner.sha256_of

    def replaced(path: Path) -> str:
        digest = hashing(path)
        monkeypatch.undo()
        Job.objects.filter(pk=release.job_id).update(heartbeat_at=timezone.now() - timedelta(minutes=5))
        assert jobs.run(release.job_id).state == "done"
        return digest

    monkeypatch.setattr(runner, "sha256_of", replaced)
    job = jobs.run(release.job_id)
    assert (job.state, job.attempt) == ("done", 2)
    frozen = find_release(project=team.project, version="1.0")
    assert frozen is not None
    assert verify_archive(archive_path(frozen)).ok


def test_handing_out_gives_what_was_frozen_or_builds_it_again(
    team: Team, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_verified(team, "a")
    release = run_release(team)
    archive_path(release).rename(tmp_path / "moved.zip")
    with pytest.raises(Conflict, match="gone from the server"):
        archive_path(release)
    for _ in ("gone", "damaged"):
        hand_out(release, tmp_path / "sub" / "out.zip")
        assert sha256_of(tmp_path / "sub" / "out.zip") == release.sha256
        # The page says that an operator can build it again; this is where it then appears.
        assert sha256_of(archive_path(release)) == release.sha256
        full_path(release.archive).write_bytes(b"PK damaged")
        with pytest.raises(Conflict, match="is damaged: 10 of"):
            archive_path(release)

    monkeypatch.setattr(building, "write_card", lambda release, *more: f"# {release.canary}\n")
    with pytest.raises(Invalid, match="can’t be built again"):
        hand_out(release, tmp_path / "other.zip")
    (tmp_path / "moved.zip").rename(full_path(release.archive))
    hand_out(release, tmp_path / "other.zip")
    assert sha256_of(tmp_path / "other.zip") == release.sha256
    assert sorted(path.name for path in tmp_path.iterdir()) == ["other.zip", "sub"]


def test_an_archive_with_another_bit_is_not_served(
    team: Team, client: Client, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    make_verified(team, "a")
    release = run_release(team)
    path, pages = archive_path(release), f"/p/{team.project.slug}/releases/{release.public_id}/archive.zip"
    addresses = (pages, f"/api/projects/{team.project.slug}/releases/{release.public_id}/archive/")
    client.force_login(team.annotator)

    def downloaded() -> bool:
        return b"".join(client.get(pages).streaming_content).startswith(b"PK")

    read: list[Path] = []
    hashed = stored_files.sha256_of
    monkeypatch.setattr(stored_files, "sha256_of", lambda path: read.append(path) or hashed(path))
    for address in addresses * 2:
        assert b"".join(client.get(address).streaming_content).startswith(b"PK")
    assert read == [], "once is enough while nobody touches it"

    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    for address in addresses:
        refused = client.get(address)
        assert (refused.status_code, b"its SHA-256 has changed" in refused.content) == (409, True)
        assert b"freeze_release --again" in refused.content
    assert "release 1.0 of" in caplog.text
    problem = "Release 1.0: its archive is damaged: its SHA-256 has changed"
    assert list(history_problems(team.project)) == [problem]

    hand_out(release, tmp_path / "out.zip")
    assert downloaded()
    assert list(history_problems(team.project)) == []
    # A disk that fails touches nothing: what was read an hour ago is read again.
    monkeypatch.setattr(stored_files, "REMEMBERED", -1.0)
    assert downloaded()
    assert len(read) == 3


def test_a_release_is_built_again_the_same_after_a_dialogue_was_given_another_language(
    team: Team, tmp_path: Path
) -> None:
    variants = [
        make_verified(team, name, document, variant_group="v")
        for name, document in (("b", make_document("Ghent")), ("a", make_document("根特") | {"language": "zh"}))
    ]
    release = run_release(team)
    assert [(line["id"], line["language"]) for line in lines(members(release)["items.jsonl"])] == [
        ("b", "en"),
        ("a", "zh"),
    ]
    for dialogue in variants:
        with transaction.atomic():
            head = dialogue.head
            assert head is not None
            document = head.document() | {"language": None}
            revise(actor=team.annotator, dialogue=dialogue, seen=head, document=document, message="Whose language?")
    archive_path(release).unlink()
    hand_out(release, tmp_path / "again.zip")


@pytest.mark.parametrize("version", ["", " ", "1 0", "../1", "-1", "x" * 41, "1.0\n"])
def test_versions_that_cannot_be(team: Team, version: str) -> None:
    with pytest.raises(Invalid, match="version"):
        start_release(actor=team.administrator, project=team.project, version=version, native_format="wild")


def test_a_release_begun_by_a_second_click_is_one_release(team: Team) -> None:
    ask = {"project": team.project, "version": "1.0", "native_format": "wild", "wake_worker": False}
    release = start_release(actor=team.administrator, **ask)
    assert start_release(actor=team.administrator, **ask) == release
    with pytest.raises(Conflict, match="is being frozen"):
        start_release(actor=team.administrator, **ask | {"require_all": True})
    assert Job.objects.filter(kind="release").count() == 1


def test_a_second_click_at_the_same_moment_is_told_from_a_fault(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database that takes no release, because it is not migrated say, was reported as somebody else's release."""
    ask = {"actor": team.administrator, "project": team.project, "native_format": "wild", "wake_worker": False}
    release = start_release(version="1.0", **ask)
    looks = iter([None, release, None, release])
    monkeypatch.setattr(requests, "find_release", lambda **which: next(looks))
    assert start_release(version="1.0", **ask) == release
    with pytest.raises(Conflict, match="is being frozen"):
        start_release(version="1.0", **ask | {"native_format": "c3"})
    monkeypatch.setattr(requests, "find_release", lambda **which: None)
    with pytest.raises(IntegrityError):
        start_release(version="1.0", **ask)


def test_a_version_is_given_once(team: Team) -> None:
    make_verified(team, "a")
    run_release(team)
    with pytest.raises(Conflict, match="never edited"):
        run_release(team)
    with pytest.raises(Invalid, match="toolace"):
        run_release(team, "2.0", native_format="toolace")


def test_members_see_releases_and_only_administrators_make_them(team: Team) -> None:
    make_verified(team, "a")
    release = run_release(team)
    for person in (team.annotator, team.senior):
        assert load_release(actor=person, project=team.project, public_id=release.public_id) == release
        with pytest.raises(Denied):
            run_release(team, "2.0", actor=person)
    assert not list_releases(actor=team.outsider, project=team.project).exists()
    with pytest.raises(Hidden):
        load_release(actor=team.outsider, project=team.project, public_id=release.public_id)


def test_a_person_is_sent_one_large_file_at_a_time_and_all_together_leave_threads_to_others(
    team: Team, client: Client
) -> None:
    make_verified(team, "a")
    release = run_release(team)
    page = f"/p/{team.project.slug}/releases/{release.public_id}/"
    address = f"/api/projects/{team.project.slug}/releases/{release.public_id}/archive/"

    def ask(person: User, address: str = address) -> Any:
        client.force_login(person)
        return client.get(address)

    # A response that the proxy takes at once occupies no thread.
    small = [ask(team.annotator) for _ in range(4)]
    assert [answer.status_code for answer in small] == [200] * 4
    path = archive_path(release)
    os.truncate(path, BUFFERED + 1)
    Release.objects.filter(pk=release.pk).update(archive_bytes=BUFFERED + 1, sha256=sha256_of(path))
    first = ask(team.annotator)
    refused = ask(team.annotator)
    assert (first.status_code, refused.status_code, refused["Retry-After"]) == (200, 503, "10")
    assert "large uploads or downloads are running" in refused.json()["sentence"]
    assert "large uploads or downloads are running" in ask(team.annotator, f"{page}archive.zip").content.decode()
    assert ask(team.annotator, page).status_code == 200
    second = ask(team.senior)
    assert (second.status_code, ask(team.administrator).status_code) == (200, 503)
    assert len(b"".join(first.streaming_content)) == BUFFERED + 1
    third = ask(team.administrator)
    assert third.status_code == 200
    head = client.head(address)
    assert head.status_code == 200
    for answer in (*small, second, third, head):
        assert b"".join(answer.streaming_content) or answer is head
    assert not concurrency._running


def test_a_big_release_is_built_in_few_queries(team: Team, tmp_path: Path, django_assert_max_num_queries: Any) -> None:
    for n in range(4):
        make_verified(team, f"d{n}")
    release = run_release(team, native_format="wild")
    with django_assert_max_num_queries(8):
        build_archive(release, tmp_path / "a.zip")


def test_broken_candidates_import_but_do_not_verify(team: Team, run_import: RunImport) -> None:
    """The way round: what came in with errors is in no release until somebody repairs it."""
    batch = begin_import(team, as_lines([candidate("bad", document=broken(make_document()))]))
    jobs.run(batch.job_id)
    make_verified(team, "good")
    release = run_release(team)
    assert [item.dialogue.external_id for item in release.items.select_related("dialogue")] == ["good"]


def test_a_release_says_how_sure_it_is(team: Team) -> None:
    for n in range(3):
        make_verified(team, f"d{n}")
    release = run_release(team)
    figures = json.loads(members(release)["manifest.json"])["figures"]
    # Three dialogues went through unchanged: right from the beginning, and nothing was found.
    assert figures["accuracy"]["finished"] == 3
    assert {point["key"]: (point["right"], point["of"]) for point in figures["accuracy"]["by_stage"]} == {
        point["key"]: (3, 3) for point in figures["accuracy"]["by_stage"]
    }
    first = figures["accuracy"]["by_stage"][0]
    # Wilson's lower bound of 3 in 3: 3 / (3 + 1.96²).
    assert first["accuracy"] | {"name": "", "undefined": ""} == {
        "name": "", "n": 3, "value": 1.0, "low": pytest.approx(0.438503, abs=1e-6), "high": 1.0, "undefined": "",
        "interval": {"name": "wilson", "version": 1}, "caution": "",
    }  # fmt: skip
    agreed = [figure for one in figures["agreement"] for figure in one["figures"]]
    assert {"wilson"} <= {figure["interval"]["name"] for figure in agreed if figure["low"] is not None}
    assert all(figure["interval"] is None for figure in agreed if figure["low"] is None)
    card = members(release)["README.md"].decode()
    assert "### Accuracy by stage" in card
    assert "| 3 of 3 | 100.0 % (43.9 to 100.0) |" in card
    # Everybody approved, so kappa is undefined; the card says so.
    assert "| cross\\_check | verdict | Fleiss' kappa | 3 | Undefined: everyone gave the same value" in card


def test_archives_with_the_figures_of_an_earlier_version_are_built_and_verify(team: Team, tmp_path: Path) -> None:
    """Those had intervals without a method, and no caution, warnings or missing labels."""
    for n in range(2):
        make_verified(team, f"d{n}", make_document(str(n), tasks=2))
    release = run_release(team)
    card = members(release)["README.md"].decode()
    assert "The tasks are from fewer than 15 dialogues." in card
    assert "This concerns: cross\\_check, policy, Percent agreement; " in card

    def earlier(value: Any) -> Any:
        if isinstance(value, list):
            return [earlier(one) for one in value]
        if not isinstance(value, dict):
            return value
        new = {"interval", "caution", "warnings", "sensitivity", "without_missing_labels"}
        return {key: earlier(one) for key, one in value.items() if key not in new}

    release.frozen["figures"] = earlier(release.frozen["figures"])
    release.frozen["figures"]["notes"].pop("audits")
    build_archive(release, tmp_path / "old.zip")
    assert verify_archive(tmp_path / "old.zip").problems == []
    with zipfile.ZipFile(tmp_path / "old.zip") as archive:
        manifest, card = (archive.read(f"release-{release.version}/{name}") for name in ("manifest.json", "README.md"))
    assert json.loads(manifest)["figures"] == release.frozen["figures"]
    assert "| 2 of 2 | 100.0 % (34.2 to 100.0) |" in card.decode()
    assert "Undefined" not in card.decode()


def test_a_release_counts_switches_by_entry_and_topologies_of_multi_tool_tasks(team: Team) -> None:
    """Two tasks with another policy each: the first entry has no switch, the second has one."""
    document = make_document(tasks=2)
    assert [task["policy"] for task in document["tasks"]] == ["single_tool", "chat"]
    make_verified(team, "switching", document)
    make_verified(team, "staying")
    counts = run_release(team).frozen["counts"]
    assert counts["entries"] == 3
    assert counts["by_entry_switches"] == {"0": 2, "1": 1}
    # Every task here has a single call or none; topology is a word of multi-tool tasks.
    assert counts["by_topology"] == {}


def test_the_card_names_the_protocol_of_the_project(team: Team) -> None:
    protocol = load_preset("c3", audit_fraction=0.0).model_copy(update={"name": "Harbour checks"})
    version = adopt_protocol(actor=team.administrator, project=team.project, protocol=protocol)
    make_verified(team, "a")
    card = members(run_release(team))["README.md"].decode()
    assert (
        f"By the project's protocol “Harbour checks” (version {version.number}, based on the preset c3, SHA-256" in card
    )


def test_records_stand_in_the_order_of_the_numbers_in_their_ids(team: Team, tmp_path: Path) -> None:
    """The published evaluator of wild looks for the record of ``d_2`` on the third line."""
    for name in ("d_0", "d_10", "d_2", "d"):
        make_verified(team, name)
    release = run_release(team)

    def ids(files: dict[str, bytes]) -> list[str]:
        return [json.loads(line)["id"] for line in files["items.jsonl"].splitlines()]

    assert ids(members(release)) == ["d", "d_0", "d_2", "d_10"]
