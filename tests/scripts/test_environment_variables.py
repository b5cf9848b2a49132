"""A mistake in the environment is a sentence at the start that says what to write instead."""

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from traceback import format_exception
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from annotator.config import environment as env
from annotator.config.postgresql.encoding import check_encoding

SQLITE = {"ENGINE": "django.db.backends.sqlite3"}
embedded, server = partial(env.database, sqlite=SQLITE), partial(env.database, sqlite=None)


@pytest.mark.parametrize(
    ("read", "name", "value", "words"),
    [
        (partial(env.boolean, "ASSAY_HTTPS", default=True), "ASSAY_HTTPS", "maybe", "it must be 1 (yes) or 0 (no)"),
        (server, "DATABASE_URL", "", "Server mode needs PostgreSQL: set DATABASE_URL"),
        (server, "DATABASE_URL", "sqlite:////srv/assay.sqlite3", "it must be postgres://"),
        (server, "DATABASE_URL", "mysql://u:p@localhost/assay", "it must be postgres://"),
        (server, "DATABASE_URL", "postgres:/localhost/assay", "it must be postgres://"),
        (server, "DATABASE_URL", "postgres://localhost:5432", "it must be postgres://"),
        (embedded, "DATABASE_URL", "assay", "or sqlite:///path"),
        (partial(env.redis, required=True), "REDIS_URL", "", "Server mode needs Redis: set REDIS_URL"),
        (partial(env.redis, required=False), "REDIS_URL", "localhost:6379", "it must be redis://host:port/0"),
        (partial(env.redis, required=False), "REDIS_URL", "redis://localhost:abc/0", "it must be redis://host:port/0"),
        (partial(env.redis, required=False), "REDIS_URL", "redis://localhost/abc", "it must be redis://host:port/0"),
        (partial(env.hosts, default=[]), "ALLOWED_HOSTS", "https://a.example", "without https:// or a port"),
        (partial(env.hosts, default=[]), "ALLOWED_HOSTS", "a.example:8000", "without https:// or a port"),
        (partial(env.hosts, default=[]), "ALLOWED_HOSTS", "a.example b.example", "separated by commas"),
        (env.origins, "CSRF_TRUSTED_ORIGINS", "a.example", "it must be addresses like https://"),
        (env.origins, "CSRF_TRUSTED_ORIGINS", "https://a.example/", "not even a slash"),
        (env.origins, "CSRF_TRUSTED_ORIGINS", "https://a.example https://b.example", "separated by commas"),
        (partial(env.mail_host, default=""), "EMAIL_HOST", "mail.example:587", "Set the port with EMAIL_PORT"),
        (partial(env.level, "LOG_LEVEL", default="INFO"), "LOG_LEVEL", "chatty", "it must be one of DEBUG, INFO"),
        (partial(env.days, "KEEP_MAILS_DAYS", default=1), "KEEP_MAILS_DAYS", "99999999", "from 0 to 36500"),
        (partial(env.seconds, "REQUEST_LOCK_SECONDS", default=1), "REQUEST_LOCK_SECONDS", "9999999", "to 2000000"),
        (partial(env.seconds, "EMAIL_TIMEOUT", default=1, minimum=1), "EMAIL_TIMEOUT", "0", "from 1 to"),
        (partial(env.mail_backend, default=""), "EMAIL_BACKEND", "smtp", "mail.backends.smtp.EmailBackend"),
        (partial(env.mail_backend, default=""), "EMAIL_BACKEND", "os.path", "mail.backends.smtp.EmailBackend"),
        (partial(env.mail_address, "DEFAULT_FROM_EMAIL", default=""), "DEFAULT_FROM_EMAIL", "us", "be an address"),
        (partial(env.file_content, "SECRET_KEY_FILE"), "SECRET_KEY_FILE", "/nowhere", "can't be read: No such file"),
        (partial(env.file_content, "SECRET_KEY_FILE"), "SECRET_KEY_FILE", "/dev/null", "is empty"),
    ],
)  # fmt: skip
def test_a_mistake_is_refused_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, read: Callable[[], Any], name: str, value: str, words: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ImproperlyConfigured) as refusal:
        read()
    assert name in str(refusal.value)
    assert words in str(refusal.value)


@pytest.mark.parametrize(("encoding", "found"), [("UTF8", []), ("LATIN1", ["LATIN1"]), ("SQL_ASCII", ["SQL_ASCII"])])
def test_a_database_that_cannot_hold_every_text_is_refused(
    monkeypatch: pytest.MonkeyPatch, encoding: str, found: list[str]
) -> None:
    """It was taken, and failed at the first dialogue that was not English."""
    info = SimpleNamespace(parameter_status={"server_encoding": encoding}.get)
    database = SimpleNamespace(
        vendor="postgresql",
        ensure_connection=lambda: None,
        connection=SimpleNamespace(info=info),
        settings_dict={"NAME": "assay"},
    )
    monkeypatch.setattr("annotator.config.postgresql.encoding.connections", {"default": database})
    said = [str(message.msg) for message in check_encoding(databases=["default"])]
    assert said == [f"The database assay has the encoding {name}, which can't store every text." for name in found]
    assert check_encoding(databases=None) == []


def test_no_sentence_repeats_a_password(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, read in (("DATABASE_URL", server), ("REDIS_URL", partial(env.redis, required=False))):
        monkeypatch.setenv(
            name, f"{'postgres' if read is server else 'redis'}://assay:sesame/open@localhost:5432/assay"
        )
        with pytest.raises(ImproperlyConfigured) as refusal:
            read()
        assert "sesame" not in "".join(format_exception(refusal.value))


def test_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ImproperlyConfigured, match="Set ASSAY_DATA to a folder that this user may write to"):
        env.folder("ASSAY_DATA", tmp_path / "file" / "data")


def test_a_folder_that_is_closed_to_the_program_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An upload into it was an error of the program. (Root may open anything, so the answer is put in its mouth.)"""
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(ImproperlyConfigured, match=r"This user can.t write to .* set ASSAY_DATA"):
        env.folder("ASSAY_DATA", tmp_path)


def test_what_is_right_is_read_as_it_is_meant(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ASSAY_HTTPS", " ")
    assert env.boolean("ASSAY_HTTPS", default=True)
    monkeypatch.setenv("ASSAY_HTTPS", "Off")
    assert not env.boolean("ASSAY_HTTPS", default=True)
    monkeypatch.setenv("ALLOWED_HOSTS", "a.example, .b.example,[::1],*")
    assert env.hosts(default=[]) == ["a.example", ".b.example", "[::1]", "*"]
    monkeypatch.setenv("LOG_LEVEL", "info")
    assert env.level("LOG_LEVEL", default="ERROR") == "INFO"
    monkeypatch.setenv("DATABASE_URL", "postgres:///assay")
    assert server()["NAME"] == "assay"
    monkeypatch.setenv("DATABASE_URL", "postgresql://assay:a%2Fb@db:5433/assay")
    assert (server()["PASSWORD"], server()["PORT"]) == ("a/b", 5433)
    monkeypatch.delenv("DATABASE_URL")
    assert embedded() == SQLITE
