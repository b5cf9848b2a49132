"""The commands for pipelines, as a shell runs them; what they refuse, in this process."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.utils import timezone

from annotator.models import Dialogue, Job, Membership, Project
from annotator.services.archiving import archive_project
from annotator.services.dialogues.revisions import lock_dialogue, revise
from benchmark.core.archives.verifying import verify_archive
from benchmark.core.formats.examples import example_file
from benchmark.models import ImportBatch, Release
from reviews.services.protocols.versions import current_version
from tests.benchmark.conftest import (
    as_lines,
    as_zip,
    begin_import,
    candidate,
    candidates,
    counters,
    make_verified,
    run_release,
)
from tests.conftest import ROOT
from tests.factories import (
    Team,
    adopt_c3,
    broken,
    changed,
    current,
    make_dialogue,
    make_document,
    make_item,
    make_project,
    make_team,
    make_user,
)

pytestmark = [pytest.mark.servers, pytest.mark.slow]

Done = subprocess.CompletedProcess[str]
Manage = Callable[..., Done]
Write = Callable[..., Path]

SUMMARY = {"read": 0, "created": 0, "revised": 0, "unchanged": 0, "rejected": 0, "with_errors": 0}


def last_line(done: Done) -> dict[str, Any]:
    """The machine-readable line."""
    assert "Traceback" not in done.stderr, done.stderr
    summary: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return summary


def assert_refused(done: Done, said: str) -> None:
    """Wrong use: a sentence on standard error, nothing else."""
    assert (done.returncode, done.stdout) == (2, "")
    assert "Traceback" not in done.stderr
    assert said in done.stderr


class TestImport:
    def test_a_new_project_from_a_file(self, manage: Manage, candidate_file: Write, tmp_path: Path) -> None:
        records = [*candidates(2), candidate("bad", document=broken(make_document()))]
        report = tmp_path / "report.jsonl"
        done = manage(
            "import_dialogues", candidate_file(records), "--project", "new", "--format", "neutral",
            "--create-project", "--report", report,
        )  # fmt: skip

        assert done.returncode == 0, done.stderr
        assert last_line(done) == SUMMARY | {"read": 3, "created": 3, "with_errors": 1}
        assert len(done.stdout.splitlines()) == 1
        project = Project.objects.get(slug="new")
        assert not Membership.objects.filter(project=project).exists()
        assert "It has no administrator" in done.stderr
        version = current_version(project)
        assert version is not None
        assert version.preset == "c3"
        assert set(Dialogue.objects.filter(project=project).values_list("published", "stage")) == {
            (True, "self_check_single")
        }
        entries = [json.loads(line) for line in report.read_text().splitlines()]
        assert {entry["id"] for entry in entries if entry["severity"] == "error"} == {"bad"}
        assert set(entries[0]) == {"line", "id", "pointer", "check", "severity", "message"}
        assert not Job.objects.exclude(state="done").exists(), "nothing is left for a worker"

    def test_an_archived_project_refuses_it(self, manage_here: Manage, candidate_file: Write) -> None:
        team = make_team("old")
        archive_project(actor=team.administrator, project=team.project)
        done = manage_here("import_dialogues", candidate_file(candidates(1)), "--project", "old", "--format", "neutral")
        assert_refused(done, "This project is archived, so nothing in it can be changed")
        assert not ImportBatch.objects.exists()

    def test_the_format_is_recognised_unless_it_is_named(
        self, manage_here: Manage, tmp_path: Path, candidate_file: Write
    ) -> None:
        make_user("root", is_staff=True)
        folder = tmp_path / "chats"
        folder.mkdir()
        (folder / "a.jsonl").write_bytes(example_file("sharegpt"))
        done = manage_here("import_dialogues", folder, "--project", "chats", "--create-project")
        assert (done.returncode, last_line(done)["created"]) == (0, 2)
        assert "Recognised as sharegpt." in done.stderr
        batch = ImportBatch.objects.get()
        assert (batch.native_format, batch.filename) == ("sharegpt", "chats.zip")

        table = tmp_path / "pairs.csv"
        table.write_text("key,ask,tell\nq1,Hello?,Hello!\n")
        done = manage_here("import_dialogues", table, "--project", "chats")
        assert done.returncode == 2
        assert "doesn’t recognise the format" in done.stderr
        chosen = ("--format", "openai", "--map", "user=ask", "--map", "assistant=tell", "--map", "id=key")
        done = manage_here("import_dialogues", table, "--project", "chats", *chosen)
        assert (done.returncode, last_line(done)["created"]) == (0, 1)
        assert Dialogue.objects.get(external_id="q1").title == "Hello?"
        for wrong, said in (
            (("--map", "user=ask"), "Name the format"),
            (("--format", "openai", "--map", "user"), "Write ROLE=FIELD"),
            (("--format", "openai", "--map", "title=ask"), "no role 'title'"),
            (("--revise", "--reopen-at", "nowhere"), "can’t be sent back to the stage “nowhere”. Choose one of:"),
        ):
            assert_refused(manage_here("import_dialogues", table, "--project", "chats", *wrong), said)

        done = manage_here("convert_dialogues", table, *chosen[2:], "--from", "openai", "--to", "sharegpt")
        assert json.loads(done.stdout)["conversations"] == [
            {"from": "human", "value": "Hello?"},
            {"from": "gpt", "value": "Hello!"},
        ]
        done = manage_here("convert_dialogues", folder / "a.jsonl", "--to", "openai")
        assert (done.returncode, len(done.stdout.splitlines())) == (0, 2)
        assert "Recognised as sharegpt." in done.stderr

    @pytest.mark.parametrize(
        ("native_format", "preset"), [("wild", "wild"), ("mmtb", "c3"), ("cctu", "cctu"), ("openai", "c3")]
    )
    def test_a_new_project_has_an_administrator_and_the_protocol_of_its_format(
        self, manage_here: Manage, candidate_file: Write, native_format: str, preset: str
    ) -> None:
        make_user("ada")
        owner = make_user("root", is_staff=True)
        file = candidate_file(["{"])
        options = ("--project", "new", "--format", native_format, "--create-project")
        assert "Root administers it" in manage_here("import_dialogues", file, *options).stderr
        project = Project.objects.get(slug="new")
        assert [(m.user, m.role) for m in project.memberships.select_related("user")] == [(owner, "administrator")]
        version = current_version(project)
        assert version is not None
        assert version.preset == preset

    def test_who_administers_a_new_project_is_asked_where_several_could(
        self, manage_here: Manage, candidate_file: Write
    ) -> None:
        for n in range(2):
            make_user(f"root{n}", is_staff=True)
        closed = make_user("closed", email="closed@example.org")
        closed.is_active = False
        closed.save()
        ada = make_user("ada", email="ada@example.org")
        command = ("import_dialogues", candidate_file(candidates(1)), "--project", "new", "--format", "neutral")
        make = (*command, "--create-project")
        assert_refused(manage_here(*make), "root0 and root1 could administer the new project. Choose one with --owner")
        for name in ("closed", "closed@example.org", "nobody"):
            assert_refused(manage_here(*make, "--owner", name), f"No active account is called “{name}”")
        assert not Project.objects.exists()
        assert manage_here(*make, "--owner", "Ada@example.org").returncode == 0
        assert Membership.objects.get().user == ada
        assert manage_here(*make, "--owner", "ada").returncode == 0
        assert_refused(manage_here(*make, "--owner", "root0"), "new has other administrators")
        assert Membership.objects.count() == 1

    def test_a_project_that_nobody_administers_gets_somebody(self, manage_here: Manage, candidate_file: Write) -> None:
        project = make_project("p")
        make_user("root", is_staff=True)
        command = ("import_dialogues", candidate_file(candidates(1)), "--project", "p", "--format", "neutral")
        assert "Root now administers p" in manage_here(*command, "--owner", "root").stderr
        assert project.memberships.get().role == "administrator"

    def test_refused_records_are_listed(self, manage_here: Manage, candidate_file: Write) -> None:
        make_project("p")
        options = ("--project", "p", "--format", "neutral")
        done = manage_here("import_dialogues", candidate_file([candidate("a"), "{", candidate("b")]), *options)
        assert done.returncode == 1
        assert last_line(done) == SUMMARY | {"read": 3, "created": 2, "rejected": 1}
        assert "line 2" in done.stderr

        other = candidate_file([candidate("a", document=changed(make_document("a")))])
        assert manage_here("import_dialogues", other, *options).returncode == 1
        revised = manage_here("import_dialogues", other, *options, "--revise")
        assert (revised.returncode, last_line(revised)) == (0, SUMMARY | {"read": 1, "revised": 1})
        again = manage_here("import_dialogues", other, *options)
        assert (again.returncode, last_line(again)) == (0, SUMMARY | {"read": 1, "unchanged": 1})

    def test_what_people_have_worked_on_is_reopened_by_an_option_of_its_own(
        self, manage_here: Manage, candidate_file: Write
    ) -> None:
        team = make_team()
        dialogue = make_dialogue(team.project, external_id="a")
        document = changed(current(dialogue))
        with transaction.atomic():
            revise(actor=None, dialogue=lock_dialogue(dialogue.pk), seen=dialogue.head, document=document, message="")
        file = candidate_file([candidate("a", document=changed(document, "Imported anew."))])
        options = ("--project", team.project.slug, "--format", "neutral", "--revise")
        for more in ((), ("--reopen",), ("--dry-run",)):
            done = manage_here("import_dialogues", file, *options, *more)
            assert (done.returncode, last_line(done)) == (1, SUMMARY | {"read": 1, "rejected": 1})
            assert "a was edited" in done.stderr
        done = manage_here("import_dialogues", file, *options, "--reopen")
        assert (done.returncode, last_line(done)) == (0, SUMMARY | {"read": 1, "revised": 1})
        assert "a was edited; it is reopened" in done.stderr

    def test_a_dry_run(self, manage_here: Manage, candidate_file: Write, tmp_path: Path) -> None:
        make_project("p")
        report = tmp_path / "r.jsonl"
        done = manage_here(
            "import_dialogues", candidate_file([candidate("a"), "{"]), "--project", "p", "--format", "neutral",
            "--dry-run", "--report", report,
        )  # fmt: skip
        assert (done.returncode, last_line(done)) == (1, SUMMARY | {"read": 2, "created": 1, "rejected": 1})
        assert not Dialogue.objects.exists()
        assert json.loads(report.read_text())["line"] == 2

    def test_a_dry_run_leaves_no_project_behind(
        self, manage_here: Manage, candidate_file: Write, tmp_path: Path
    ) -> None:
        report = tmp_path / "r.jsonl"
        done = manage_here(
            "import_dialogues", candidate_file([candidate("a"), "{"]), "--project", "new", "--format", "neutral",
            "--dry-run", "--create-project", "--report", report,
        )  # fmt: skip
        assert (done.returncode, last_line(done)) == (1, SUMMARY | {"read": 2, "created": 1, "rejected": 1})
        assert "2 records read: 1 dialogue would be created" in done.stderr
        assert json.loads(report.read_text())["line"] == 2
        assert not Project.objects.exists()
        assert not Job.objects.exists()
        assert [path for path in Path(settings.MEDIA_ROOT).rglob("*") if path.is_file()] == []

    @pytest.mark.parametrize(
        ("content", "name", "said"),
        [
            (as_lines(candidates(3))[:-50], "a.jsonl", "cut off"),
            (as_zip({"a.jsonl": (b" " * 1023 + b"\n") * (64 << 10)}), "a.zip", "zip bomb"),
            (b"\n  \n", "a.jsonl", "no record"),
            (b"[]", "a.json", "no record"),
            (b'{"id": "x", "messages": [{"role": "user", "content": "hi"}]}\n', "a.jsonl", "openai"),
        ],
    )
    def test_a_file_that_cannot_be_imported(
        self, manage_here: Manage, candidate_file: Write, content: bytes, name: str, said: str
    ) -> None:
        make_project("p")
        file = candidate_file(name=name, content=content)
        done = manage_here("import_dialogues", file, "--project", "p", "--format", "neutral")
        assert done.returncode == 2
        assert said in done.stderr
        assert last_line(done)["created"] == 0
        assert not Dialogue.objects.exists()

    @pytest.mark.any_database
    def test_wrong_use(self, manage_here: Manage, candidate_file: Write, tmp_path: Path) -> None:
        make_project("p")
        file = candidate_file(candidates(1))
        options = ("--project", "p", "--format", "neutral")
        assert_refused(manage_here("import_dialogues", tmp_path / "none.jsonl", *options), "is not a file")
        empty = tmp_path / "empty"
        empty.mkdir()
        (empty / ".hidden.jsonl").write_bytes(as_lines(candidates(1)))
        assert_refused(manage_here("import_dialogues", empty, *options), "has no files")
        assert_refused(manage_here("import_dialogues", file, *options, "--reverse"), "--reverse")
        assert_refused(manage_here("import_dialogues", file, "--format", "neutral"), "--project")
        assert_refused(manage_here("import_dialogues", file, "--project", "p", "--format", "csv"), "csv")
        assert_refused(
            manage_here("import_dialogues", file, "--project", "no", "--format", "neutral"), "--create-project"
        )
        assert_refused(
            manage_here("import_dialogues", file, "--project", "No Way", "--format", "neutral", "--create-project"),
            "lower-case letters",
        )
        assert_refused(
            manage_here("import_dialogues", file, *options, "--report", tmp_path / "no" / "r.jsonl"), "does not exist"
        )
        assert_refused(manage_here("import_dialogues", file, *options, "--report", tmp_path), "is a folder")
        before = file.read_bytes()
        assert_refused(manage_here("import_dialogues", file, *options, "--report", file), "is given twice")
        assert file.read_bytes() == before
        assert_refused(manage_here("import_dialogues", candidate_file(candidates(1), name="a.txt"), *options), ".jsonl")
        assert Project.objects.count() == 1
        assert not ImportBatch.objects.exists()

    @pytest.mark.any_database
    def test_a_file_that_may_not_be_read(
        self, manage_here: Manage, candidate_file: Write, team: Team, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Root may read anything, so the refusal comes from the first that opens the file."""
        file = candidate_file(candidates(1))

        def refuse(path: Path, *_: Any, **__: Any) -> None:
            raise PermissionError(13, "Permission denied", str(path))

        monkeypatch.setattr(Path, "open", refuse)
        for command in (
            ("import_dialogues", file, "--project", "p", "--format", "neutral", "--create-project"),
            ("convert_dialogues", file, "--from", "neutral", "--to", "neutral"),
        ):
            assert_refused(manage_here(*command), f"This user may not read or write {file}.")

    @pytest.mark.any_database
    def test_a_full_disk(
        self, manage_here: Manage, candidate_file: Write, team: Team, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def full(handle: int) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(os, "fsync", full)
        file = candidate_file(candidates(1))
        done = manage_here("import_dialogues", file, "--project", team.project.slug, "--format", "neutral")
        assert_refused(done, "The server’s disk is full. Free some space")

    @pytest.mark.any_database
    def test_a_database_that_cannot_be_used(
        self, manage: Manage, process_environment: dict[str, str], tmp_path: Path
    ) -> None:
        process_environment["DATABASE_URL"] = f"sqlite:///{tmp_path / 'empty.sqlite3'}"
        file = tmp_path / "a.jsonl"
        file.write_bytes(as_lines(candidates(1)))
        done = manage("import_dialogues", file, "--project", "p", "--format", "neutral")
        assert_refused(done, "migrate")

    @pytest.mark.any_database
    def test_a_folder_is_one_import_of_its_files(self, manage_here: Manage, tmp_path: Path) -> None:
        make_project("p")
        folder = tmp_path / "candidates"
        (folder / "b").mkdir(parents=True)
        (folder / "b" / "two.jsonl").write_bytes(as_lines(candidates(2, start=1)) + b"{")
        (folder / "a.jsonl").write_bytes(as_lines(candidates(1)))
        (folder / "notes.txt").write_text("Not records.")
        (folder / ".hidden.jsonl").write_text("{")
        (folder / "again.jsonl").symlink_to(folder / "a.jsonl")
        (folder / "loop").symlink_to(folder)
        report = tmp_path / "report.jsonl"
        options = ("--project", "p", "--format", "neutral", "--report", report)
        done = manage_here("import_dialogues", folder, *options)
        assert (done.returncode, counters(ImportBatch.objects.get())) == (2, (0, 0, 0, 0, 0, 0))
        assert "b/two.jsonl: The file is cut off in line 3" in done.stderr

        (folder / "b" / "two.jsonl").write_bytes(as_lines(candidates(2, start=1)) + b"{\n")
        done = manage_here("import_dialogues", folder, *options)
        assert (done.returncode, last_line(done)) == (1, SUMMARY | {"read": 4, "created": 3, "rejected": 1})
        rows = [json.loads(line) for line in report.read_text().splitlines()]
        assert [(row.get("file"), row["line"]) for row in rows] == [("b/two.jsonl", 3), ("notes.txt", 0)]
        assert ImportBatch.objects.order_by("-pk")[0].filename == "candidates.zip"

    def test_real_candidates(self, manage_here: Manage, shared_data: Path) -> None:
        options = ("--project", "real", "--format", "wild", "--create-project")
        for name, count in (("wild/candidates.jsonl", 27), ("c3/paper_cases.jsonl", 7)):
            done = manage_here("import_dialogues", shared_data / name, *options)
            assert (done.returncode, last_line(done)["created"]) == (0, count)
        found = Dialogue.objects.get(external_id="c3_globalmap_four_tasks").findings.filter(
            check_id__startswith="schema."
        )
        assert found.filter(severity="error").exists()


class TestKilled:
    """SIGKILL in the middle, and the same command again."""

    def start(self, environment: dict[str, str], *arguments: str | Path) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "manage.py", *map(str, arguments)],
            cwd=ROOT,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            # A suite that was started in the background ignores it, and its children would.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def wait_for(self, process: subprocess.Popen[bytes], ready: Callable[[], bool]) -> None:
        while not ready():
            assert process.poll() is None, "it ended before it could be killed"
            try:
                process.wait(0.02)
            except subprocess.TimeoutExpired:
                continue

    def test_an_import(self, manage: Manage, process_environment: dict[str, str], candidate_file: Write) -> None:
        make_project("p")
        file = candidate_file([*candidates(2000), "{"])
        arguments = ("import_dialogues", file, "--project", "p", "--format", "neutral")
        process = self.start(process_environment, *arguments)
        self.wait_for(process, lambda: Dialogue.objects.filter(published=False).count() >= 500)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        assert not Dialogue.objects.filter(published=True).exists()

        done = manage(*arguments)
        assert done.returncode == 1, done.stderr
        assert "continuing" in done.stderr
        assert last_line(done) == SUMMARY | {"read": 2001, "created": 2000, "rejected": 1}
        assert Dialogue.objects.filter(published=True).count() == Dialogue.objects.count() == 2000
        assert ImportBatch.objects.count() == 1

    def test_interrupting_an_import_takes_it_back(
        self, process_environment: dict[str, str], candidate_file: Write
    ) -> None:
        make_project("p")
        file = candidate_file(candidates(2000))
        process = self.start(process_environment, "import_dialogues", file, "--project", "p", "--format", "neutral")
        self.wait_for(process, lambda: Dialogue.objects.filter(published=False).exists())
        process.send_signal(signal.SIGINT)
        assert process.wait() == 2
        assert not Dialogue.objects.exists()
        assert Job.objects.get().state == "cancelled"


class TestRelease:
    @pytest.fixture
    def team(self, transactional_db: None) -> Team:
        team = make_team("tested")
        adopt_c3(team, audit_fraction=0.0)
        return team

    def freeze(self, manage: Manage, out: Path, *options: str, version: str = "1.0", fmt: str = "wild") -> Done:
        return manage(
            "freeze_release", "--project", "tested", "--format", fmt, "--release-version", version, "--out", out,
            *options,
        )  # fmt: skip

    def test_freeze_verify_and_import_again(self, team: Team, manage: Manage, tmp_path: Path) -> None:
        make_verified(team, "a", make_document(tasks=3))
        make_verified(team, "b")
        make_item(team, "cross_check", external_id="open")
        done = self.freeze(manage, tmp_path / "out")
        assert done.returncode == 0, done.stderr
        summary = last_line(done)
        assert (summary["items"], summary["left_out"]) == (2, 1)
        assert "open: In review" in done.stderr
        archive = Path(summary["archive"])
        assert archive.parent == tmp_path / "out"

        verified = manage("verify_release", archive)
        assert (verified.returncode, last_line(verified)) == (
            0, {"ok": True, "files": 17, "items": 2, "problems": []},
        )  # fmt: skip

        again = self.freeze(manage, tmp_path / "again")
        assert last_line(again)["sha256"] == summary["sha256"]
        assert "Release 1.0 exists" in again.stderr
        assert "The dialogues that are verified now are the same. Nothing new is frozen" in again.stderr
        assert (tmp_path / "again" / archive.name).read_bytes() == archive.read_bytes()
        assert Release.objects.count() == 1

        copied = manage("import_dialogues", archive, "--project", "copy", "--format", "wild", "--create-project")
        assert last_line(copied) == SUMMARY | {"read": 2, "created": 2}

    def test_a_version_that_exists_is_not_handed_out_for_what_is_verified_since(
        self, team: Team, manage_here: Manage, tmp_path: Path
    ) -> None:
        make_verified(team, "a")
        first = last_line(self.freeze(manage_here, tmp_path / "out"))
        make_verified(team, "b")
        since = self.freeze(manage_here, tmp_path / "since")
        assert_refused(since, "differ from it: 1 dialogue more. Releases are never edited. Choose the next version")
        assert not (tmp_path / "since").exists()
        again = self.freeze(manage_here, tmp_path / "again", "--again")
        assert (again.returncode, last_line(again)["sha256"]) == (0, first["sha256"])
        assert "1 dialogue more" in again.stderr
        Dialogue.objects.filter(external_id="a").update(archived_at=timezone.now())
        assert_refused(self.freeze(manage_here, tmp_path / "out"), "1 dialogue more, 1 dialogue fewer")

    def test_what_is_refused(self, team: Team, manage_here: Manage, tmp_path: Path) -> None:
        make_item(team, "cross_check", external_id="open")
        none = self.freeze(manage_here, tmp_path / "out")
        assert (none.returncode, last_line(none)) == (
            1, {"items": 0, "left_out": 1, "archive": None, "sha256": None},
        )  # fmt: skip
        assert "open: In review" in none.stderr
        make_verified(team, "a")
        some = self.freeze(manage_here, tmp_path / "out", "--require-all")
        assert (some.returncode, last_line(some)["left_out"]) == (1, 1)
        assert not (tmp_path / "out").exists()
        # Said before anything is frozen: that could not be taken back.
        (tmp_path / "file").touch()
        assert_refused(self.freeze(manage_here, tmp_path / "file" / "out"), "is not a folder")
        assert not Release.objects.filter(state="frozen").exists()

        assert self.freeze(manage_here, tmp_path / "out").returncode == 0
        assert self.freeze(manage_here, tmp_path / "out2", "--require-all").returncode == 1
        assert not (tmp_path / "out2").exists()
        assert_refused(self.freeze(manage_here, tmp_path / "out", fmt="c3"), "never edited")
        assert_refused(self.freeze(manage_here, tmp_path / "out", version="../1"), "version")
        assert_refused(self.freeze(manage_here, tmp_path / "out", fmt="toolace"), "toolace")
        assert_refused(
            manage_here(
                "freeze_release", "--project", "no", "--format", "wild", "--release-version", "1", "--out", tmp_path
            ),
            "no project",
        )

    def test_a_killed_release_is_finished_by_the_next(
        self, team: Team, manage: Manage, process_environment: dict[str, str], tmp_path: Path
    ) -> None:
        make_verified(team, "a")
        # After a killed command: the job still belongs to it, but the process is gone.
        first = run_release(team, "0.9")
        Release.objects.filter(pk=first.pk).update(state="freezing", archive="", sha256="")
        Job.objects.filter(pk=first.job_id).update(state="running", checkpoint={"frozen": True}, ended_at=None)
        done = self.freeze(manage, tmp_path / "out", version="0.9", fmt="neutral")
        assert done.returncode == 0, done.stderr
        assert last_line(done)["sha256"] == first.sha256
        assert Release.objects.get().state == "frozen"


class TestVerify:
    @pytest.mark.any_database
    def test_it_needs_no_database(
        self, team: Team, manage: Manage, process_environment: dict[str, str], tmp_path: Path
    ) -> None:
        make_verified(team, "a")
        release = run_release(team)
        archive = tmp_path / "r.zip"
        from benchmark.services.releases.requests import archive_path

        archive.write_bytes(archive_path(release).read_bytes())
        process_environment["DATABASE_URL"] = "postgres://nobody@127.0.0.1:1/none"
        process_environment["ASSAY_DATA"] = str(tmp_path / "data")
        done = manage("verify_release", archive)
        assert (done.returncode, last_line(done)["ok"]) == (0, True)

        content = bytearray(archive.read_bytes())
        content[len(content) // 2] ^= 1
        archive.write_bytes(content)
        done = manage("verify_release", archive)
        assert done.returncode == 1
        assert last_line(done)["ok"] is False
        assert last_line(done)["problems"]
        assert not verify_archive(archive).ok

    @pytest.mark.any_database
    def test_wrong_use(self, manage_here: Manage, tmp_path: Path) -> None:
        assert_refused(manage_here("verify_release", tmp_path / "none.zip"), "is not a file")
        assert_refused(manage_here("verify_release"), "ARCHIVE")
        assert_refused(manage_here("verify_release", "a", "--strict"), "--strict")


def test_the_counters_of_a_batch_are_those_of_the_command(
    transactional_db: None, manage: Manage, candidate_file: Write
) -> None:
    team = make_team("p")
    begin_import(team, b"{}")
    done = manage("import_dialogues", candidate_file(candidates(2)), "--project", "p", "--format", "neutral")
    batch = ImportBatch.objects.latest("pk")
    assert tuple(last_line(done).values()) == counters(batch)
    assert batch.requester is None
    assert connection.vendor in ("sqlite", "postgresql")
