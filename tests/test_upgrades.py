"""Upgrades: stored installations of every version are restored, migrated, used, and taken back."""

import json
import os
import re
import secrets
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from psycopg.conninfo import make_conninfo

from annotator import VERSION
from annotator.services.backups.programs import program
from scripts import migration_rules
from scripts.store_database import STORED, environment, stored_path
from tests.conftest import ROOT

PATIENCE = 120
VERSIONS = sorted({path.name.rpartition("-")[0] for path in STORED.glob("*.tar.xz")})
#: Every demo person opens the main pages of their projects, and takes the next item of each.
USE = """
import json
from django.conf import settings
from django.test import Client
from django.urls import reverse
from annotator.errors import DomainError
from annotator.models import Project, User
from annotator.services.access.permissions import roles_in
from reviews.services.queue.claims import claim_next

settings.ALLOWED_HOSTS = ["*"]
opened, failed, claimed = 0, [], 0
for person in User.objects.filter(is_active=True).order_by("pk"):
    client = Client()
    client.force_login(person)
    for project in Project.objects.filter(memberships__user=person, archived_at=None).distinct():
        roles = roles_in(project, person)
        for name, _, _, needed, *_ in settings.PROJECT_BAR:
            if not needed or roles.intersection(needed):
                status = client.get(reverse(name, args=[project.slug]), follow=True).status_code
                opened += 1
                if status != 200:
                    failed.append([person.username, project.slug, name, status])
        try:
            claimed += claim_next(actor=person, project=project) is not None
        except DomainError:
            pass
print(json.dumps({"opened": opened, "failed": failed, "claimed": claimed}))
"""


class Installation:
    """A restored installation: its environment and what it runs."""

    def __init__(self, folder: Path, version: str, database: str, url: str = "") -> None:
        shutil.unpack_archive(stored_path(version, database), folder)
        self.backups = folder / "backups"
        self.data = folder / "data"
        self.environment = environment(self.data, url)

    def run(self, *arguments: object) -> Any:
        """Run a command; return the JSON of its last line, if that is an object."""
        command = [sys.executable, "manage.py", *map(str, arguments)]
        done = subprocess.run(
            command, cwd=ROOT, env=self.environment, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert done.returncode == 0, done.stderr
        last = done.stdout.strip().rpartition("\n")[2]
        return json.loads(last) if last.startswith("{") else None

    def upgrade_and_use(self) -> None:
        """Restore it, which migrates it and checks every history and counter; use it."""
        restored = self.run("restore", self.backups)
        assert (restored["ok"], restored["problems"]) == (True, [])
        used = self.run("shell", "--verbosity=0", "-c", USE)
        assert used["failed"] == []
        assert used["opened"] > 100
        assert used["claimed"] > 5

    def go_back_and_forward(self) -> None:
        """Undo all migrations after the first version, as for a return to it, and apply them again."""
        for application, first in reversed(migration_rules.FIRST.items()):
            self.run("migrate", "--verbosity=0", application, first)
        self.run("migrate", "--verbosity=0")


TABLES = "SELECT type, name, coalesce(sql, '') FROM sqlite_master WHERE name NOT LIKE 'sqlite_stat%'"


def schema_of_sqlite(path: Path) -> set[tuple[str, str, str]]:
    with closing(sqlite3.connect(path)) as database:
        return set(database.execute(TABLES))


def schema_of_postgresql(name: str) -> list[str]:
    dumped = subprocess.run(
        [program("pg_dump"), "--schema-only", "--no-owner", address_of(name)],
        capture_output=True,
        text=True,
        check=True,
    )
    # Newer programs fence the dump with random words; a restored condition has its casts in other places.
    lines = [line for line in dumped.stdout.splitlines() if not line.startswith(("\\restrict", "\\unrestrict"))]
    return [re.sub(r"::(?:character varying|text)|[()\[\]]", "", line) for line in lines]


def address_of(name: str) -> str:
    """Return how PostgreSQL's own programs and driver write the address of a database beside that of the tests."""
    known = connection.settings_dict
    parts = {part: known[part.upper()] or None for part in ("host", "port", "user", "password")}
    return make_conninfo(dbname=name, **parts)


@pytest.fixture
def empty_database() -> Iterator[str]:
    """The name of an empty database beside that of the tests."""
    name = f"upgrade_{secrets.token_hex(4)}"
    with psycopg.connect(address_of("postgres"), autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
        try:
            yield name
        finally:
            server.execute(f"DROP DATABASE {name} WITH (FORCE)")


def test_every_version_has_its_stored_installations() -> None:
    assert VERSION in VERSIONS
    assert all(stored_path(version, database).exists() for version in VERSIONS for database in ("sqlite", "postgresql"))


@pytest.mark.slow(seconds=30)
@pytest.mark.django_db
@pytest.mark.any_database
@pytest.mark.parametrize("version", VERSIONS)
def test_an_installation_with_sqlite_is_upgraded(tmp_path: Path, version: str) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("The schema of SQLite is compared.")
    installation = Installation(tmp_path, version, "sqlite")
    installation.upgrade_and_use()
    with connection.cursor() as cursor:
        cursor.execute(TABLES)
        expected = set(cursor.fetchall())
    upgraded = installation.data / "assay.sqlite3"
    assert schema_of_sqlite(upgraded) == expected
    installation.go_back_and_forward()
    assert schema_of_sqlite(upgraded) == expected


@pytest.mark.slow(seconds=30)
@pytest.mark.postgres
@pytest.mark.django_db
@pytest.mark.parametrize("version", VERSIONS)
def test_an_installation_with_postgresql_is_upgraded(tmp_path: Path, empty_database: str, version: str) -> None:
    url = os.environ["TEST_DATABASE_URL"].rpartition("/")[0] + f"/{empty_database}"
    installation = Installation(tmp_path, version, "postgresql", url)
    installation.upgrade_and_use()
    expected = schema_of_postgresql(connection.settings_dict["NAME"])
    assert schema_of_postgresql(empty_database) == expected
    installation.go_back_and_forward()
    assert schema_of_postgresql(empty_database) == expected
