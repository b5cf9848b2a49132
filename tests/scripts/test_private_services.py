import os
from pathlib import Path

import psycopg
import pytest
import redis as redis_client

from scripts import private_services
from scripts.private_services import (
    find_chromium,
    find_postgresql,
    find_redis,
    private_folder,
    private_postgresql,
    private_redis,
    version_in_path,
)


def test_versions_sort_as_numbers():
    folders = [Path("/usr/lib/postgresql/9.6/bin"), Path("/usr/lib/postgresql/15/bin")]
    assert max(folders, key=version_in_path) == folders[1]


def test_private_folder_is_gone_afterwards():
    with private_folder("try") as folder:
        (folder / "file").write_text("")
        assert folder.is_dir()
        assert len(str(folder / ".s.PGSQL.5432")) < 100
    assert not folder.exists()


def test_named_chromium_comes_first(monkeypatch, tmp_path):
    own = tmp_path / "browser"
    own.write_text("#!/bin/sh\n")
    own.chmod(0o755)
    monkeypatch.setenv("CHROMIUM", str(own))
    assert find_chromium() == own


def test_absent_programs_are_none(monkeypatch):
    monkeypatch.setattr(private_services.shutil, "which", lambda name: None)
    assert find_chromium() is None
    assert find_redis() is None


@pytest.mark.servers
@pytest.mark.postgres
def test_private_postgresql_answers_and_ends():
    programs = find_postgresql()
    if programs is None:
        pytest.skip("NOT TESTED: starting PostgreSQL: its programs are not on this machine")
    with private_postgresql(programs) as url:
        folder = url.removeprefix("postgres://assay@/").removesuffix("/assay")
        with psycopg.connect(host=folder, user="assay", dbname="assay") as connection:
            assert connection.execute("SELECT 6 * 7").fetchone() == (42,)
    assert not Path(folder).exists()


@pytest.mark.servers
@pytest.mark.redis
def test_private_redis_answers_and_ends():
    server = find_redis()
    if server is None:
        pytest.skip("NOT TESTED: starting Redis: its program is not on this machine")
    with private_redis(server) as url:
        client = redis_client.Redis.from_url(url)
        assert client.ping()
        client.close()
    with pytest.raises(redis_client.ConnectionError):
        redis_client.Redis.from_url(url).ping()


def test_who_runs_postgresql():
    user = private_services.unprivileged_user()
    assert (user is None) == (os.geteuid() != 0)
    assert user is None or user.pw_uid != 0
