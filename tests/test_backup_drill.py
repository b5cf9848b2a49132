"""The drill: the demo on PostgreSQL, people at work, a backup meanwhile; all is destroyed, restored and compared."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psycopg
import pytest

from scripts.demo import NOT_INHERITED, listening_socket, web_command
from scripts.private_services import find_postgresql, private_postgresql
from scripts.supervisor import Supervisor
from tests.api_colleagues import Colleague
from tests.conftest import ROOT, not_tested

PATIENCE = 120

#: A project with work for everybody, beside those of the demo.
TEAM = """
import json
from annotator.services.accounts.tokens import create_token
from tests.factories import adopt_c3, begin, make_dialogues, make_team
team = make_team(annotators=3)
adopt_c3(team, audit_fraction=0.0)
begin(team.project, make_dialogues(team.project, 300))
tokens = [create_token(actor=one, name="work", expires_at=None)[1] for one in (*team.annotators, team.administrator)]
print(json.dumps([team.project.slug, tokens]))
"""
STATE = """
import json
from annotator.models import Dialogue, User
from benchmark.models import ImportBatch
from reviews.models import Review
reviews = [list(row) for row in Review.objects.values_list("public_id", "slot__public_id", "verdict")]
imports = [list(row) for row in ImportBatch.objects.values_list("public_id", "sha256", "file")]
print(json.dumps([reviews, imports, Dialogue.objects.count(), sorted(User.objects.values_list("username", flat=True))]))
"""


class Installation:
    """A database, a data folder, and commands that work on them."""

    def __init__(self, url: str, data: Path, key: Path) -> None:
        kept = {name: value for name, value in os.environ.items() if name not in NOT_INHERITED}
        self.data = data
        self.environment = {name: value for name, value in kept.items() if not name.startswith(("PYTEST", "TEST_"))} | {
            "ASSAY_MODE": "embedded", "ASSAY_DATA": str(data), "DATABASE_URL": url, "BACKUP_KEY_FILE": str(key),
            "ASSAY_PLAIN_STATIC": "1", "DJANGO_SETTINGS_MODULE": "annotator.config.settings",
        }  # fmt: skip

    def start(self, *arguments: object) -> "subprocess.Popen[str]":
        command = [sys.executable, "manage.py", *map(str, arguments)]
        pipe = subprocess.PIPE
        return subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=pipe, stderr=pipe, text=True)

    def run(self, *arguments: object, code: int = 0) -> Any:
        """Run a command; return the JSON of its last line."""
        process = self.start(*arguments)
        said, complained = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, complained
        return json.loads(said.splitlines()[-1]) if said.strip().endswith(("}", "]")) else complained

    def files(self) -> dict[str, str]:
        """Return {path: hash} of the stored files."""
        root = self.data / "files"
        return {
            str(path.relative_to(root)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in root.rglob("*")
            if path.is_file() and path.suffix != ".part"
        }


def execute(url: str, statement: str) -> None:
    """Run a statement as the superuser."""
    folder, name = url.partition("@/")[2].rsplit("/", 1)
    with psycopg.connect(host=folder, user="assay", dbname=name, autocommit=True) as server:
        server.execute(statement)


def until(ready: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.servers
def test_the_demo_is_backed_up_at_work_destroyed_and_restored(tmp_path: Path) -> None:
    programs = find_postgresql()
    if programs is None:
        not_tested("PostgreSQL is not installed.")
    key, folder = tmp_path / "key", tmp_path / "backups"
    with key.open("w") as out:
        subprocess.run([sys.executable, "manage.py", "new_backup_key"], cwd=ROOT, stdout=out, check=True)
    with private_postgresql(programs) as url:
        execute(url, "CREATE EXTENSION pg_stat_statements")
        there = Installation(url, tmp_path / "data", key)
        there.run("migrate", "--verbosity=0")
        there.run("load_demo")
        slug, (*tokens, administrator) = there.run("shell", "--verbosity=0", "-c", TEAM)
        before, at_begin, files = work_and_back_up(there, folder, slug, tokens, administrator)
    shutil.rmtree(there.data)

    with private_postgresql(programs) as url:
        # Elsewhere, the application is no superuser, and operators have made an extension.
        execute(url, "CREATE ROLE plain LOGIN; CREATE EXTENSION pg_stat_statements")
        execute(url, "GRANT CREATE ON SCHEMA public TO plain")
        again = Installation(url.replace("assay@", "plain@", 1), tmp_path / "elsewhere", key)
        restored = again.run("restore", folder)
        assert (restored["ok"], restored["problems"]) == (True, [])
        reviews, imports, _, people = again.run("shell", "--verbosity=0", "-c", STATE)
        # Everything that was acknowledged before the backup began, and every file of that time.
        assert before.items() <= {review: (slot, verdict) for review, slot, verdict in reviews}.items()
        assert {tuple(row) for row in at_begin[1]} <= {tuple(row) for row in imports}
        assert people == at_begin[3]
        assert files.items() <= again.files().items()
        for _, digest, name in imports:
            assert not name or again.files()[name] == digest

        # A restore over it that is killed leaves it as it was.
        changed = "from annotator.models import User; User.objects.filter(username='amina').update(username='changed')"
        again.run("shell", "--verbosity=0", "-c", changed)
        process = again.start("restore", folder, "--replace")
        assert process.stderr is not None
        while "Restoring the database" not in process.stderr.readline():
            assert process.poll() is None
        process.kill()
        process.communicate()
        people = again.run("shell", "--verbosity=0", "-c", STATE)[3]
        assert "changed" in people or people == at_begin[3]
        # What was restored can be backed up and restored again.
        again.run("backup", tmp_path / "second")
        assert again.run("restore", tmp_path / "second", "--replace")["ok"]
        assert again.run("restore", folder, "--replace")["ok"]
        assert again.run("shell", "--verbosity=0", "-c", STATE)[3] == at_begin[3]


def work_and_back_up(there: Installation, folder: Path, slug: str, tokens: list[str], administrator: str) -> Any:
    """Let people review and import, and back up meanwhile; return what was there when the backup began."""
    with listening_socket("0") as listener, Supervisor() as programs:
        port = listener.getsockname()[1]
        programs.start(
            "web server", web_command(Path(sys.executable), listener.fileno()), env=there.environment, cwd=ROOT,
            log=folder.with_name("web.log"), pass_fds=[listener.fileno()],
        )  # fmt: skip
        assert programs.wait_until_ready(f"http://localhost:{port}/healthz", seconds=PATIENCE)
        stop, colleagues = threading.Event(), [Colleague(None, token, slug, port) for token in tokens]
        threads = [threading.Thread(target=one.work, args=(stop,), daemon=True) for one in colleagues]

        def reviews() -> dict[str, tuple[str, str]]:
            return {review: what for one in colleagues for review, what in one.acknowledged.items()}

        for thread in threads:
            thread.start()
        try:
            until(lambda: len(reviews()) > 20)
            before, state, files = reviews(), there.run("shell", "--verbosity=0", "-c", STATE), there.files()
            backup = there.start("backup", folder)
            said, complained = backup.communicate(timeout=PATIENCE)
            assert backup.returncode == 0, complained
            until(lambda: len(reviews()) > len(before) + 5)
        finally:
            stop.set()
            for thread in threads:
                thread.join(PATIENCE)
        assert [surprise for one in colleagues for surprise in one.surprises] == []
    summary = json.loads(said.splitlines()[-1])
    assert (summary["encrypted"], summary["read_again"], summary["files"]) == (True, True, len(files))
    assert there.run("verify_backup", folder)["ok"]
    return before, state, files
