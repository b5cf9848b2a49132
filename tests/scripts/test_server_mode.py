"""Server mode refuses to start unsafely, and starts on PostgreSQL and Redis."""

import http.client
import os
import re
import secrets
import string
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from django.core.management import CommandError, call_command

from benchmark.management.commands import load_demo
from scripts.demo import listening_socket
from scripts.supervisor import Supervisor

ROOT = Path(__file__).resolve().parents[2]
OWN_KEY = secrets.token_urlsafe(50)


def server_variables(folder, **more):
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
    return kept | {
        "ASSAY_MODE": "server",
        "ASSAY_DATA": str(folder / "data"),
        "ALLOWED_HOSTS": "assay.example,localhost",
        "DATABASE_URL": "postgres://assay@127.0.0.1:1/assay",
        "REDIS_URL": "redis://127.0.0.1:1/0",
        "DJANGO_SETTINGS_MODULE": "annotator.config.settings",
        "STATIC_ROOT": str(folder / "static"),
        **more,
    }


def run_settings(variables, show="SECRET_KEY"):
    """Load the settings in a process of its own that prints one of them."""
    command = [sys.executable, "-c", f"from django.conf import settings; print(settings.{show})"]
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)


def load_settings(variables):
    """The last line of errors of loading the settings, empty when there is none."""
    outcome = run_settings(variables)
    lines = outcome.stderr.strip().splitlines()
    assert bool(lines) == (outcome.returncode != 0)
    return lines[-1] if lines else ""


def test_start_without_a_secret_key_is_refused(tmp_path):
    assert "needs a secret key: set SECRET_KEY or SECRET_KEY_FILE" in load_settings(server_variables(tmp_path))


def test_start_with_the_public_key_of_the_demo_is_refused(tmp_path):
    from annotator.config.settings import EMBEDDED_SECRET_KEY

    assert "SECRET_KEY is the demo's public key" in load_settings(
        server_variables(tmp_path, SECRET_KEY=EMBEDDED_SECRET_KEY)
    )


def test_start_with_a_short_key_is_refused(tmp_path):
    assert "shorter than 32 characters" in load_settings(server_variables(tmp_path, SECRET_KEY="too short"))


def test_sign_in_without_password_is_refused(tmp_path):
    assert "ASSAY_DEMO" in load_settings(server_variables(tmp_path, SECRET_KEY=OWN_KEY, ASSAY_DEMO="1"))


def test_people_whose_password_is_public_are_made_in_server_mode_only_when_asked_for(settings, monkeypatch):
    made = []
    monkeypatch.setattr(load_demo, "is_loaded", lambda: False)
    monkeypatch.setattr(load_demo, "load_demo", lambda log: made.append("people"))
    settings.EMBEDDED = False
    with pytest.raises(CommandError, match=r"public password.*does not run in server mode.*add --public-password"):
        call_command("load_demo")
    assert not made
    call_command("load_demo", "--public-password")
    settings.EMBEDDED = True
    call_command("load_demo")
    assert made == ["people", "people"]


def test_debug_mode_is_refused(tmp_path):
    variables = server_variables(tmp_path, SECRET_KEY=OWN_KEY)
    assert "DEBUG shows settings and data" in load_settings(variables | {"DEBUG": "1"})
    assert load_settings(variables | {"DEBUG": "0"}) == ""


@pytest.mark.parametrize(
    "key", ["x" * 50, "ab" * 25, "change-me-" * 5, string.ascii_lowercase + string.digits], ids=str
)
def test_start_with_a_key_that_repeats_itself_is_refused(tmp_path, key):
    assert "SECRET_KEY is too repetitive" in load_settings(server_variables(tmp_path, SECRET_KEY=key))


def test_no_random_key_is_taken_for_one_that_repeats_itself(tmp_path):
    random = Random(1)
    keys = ["".join(random.choices(signs, k=32)) for signs in (string.digits, "0123456789abcdef") for _ in range(3)]
    assert [load_settings(server_variables(tmp_path, SECRET_KEY=key)) for key in keys] == [""] * len(keys)


WRITES_EVERYTHING = """
import django, sys
django.setup()
from django.conf import settings
from django.core.mail import send_mail
from django.db import connection
from benchmark.services.stored_files import written_whole
connection.cursor().execute("CREATE TABLE one (number INTEGER)")
send_mail("subject", "text", None, ["nadia@example.org"])
with written_whole(settings.MEDIA_ROOT / "imports" / "a.jsonl") as out:
    out.write(b"{}")
for path in sorted(settings.DATA_DIR.rglob("*")):
    print(path.is_dir(), oct(path.stat().st_mode & 0o777), path.relative_to(settings.DATA_DIR))
"""


def test_what_is_written_is_closed_to_other_users_of_the_machine(tmp_path):
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    variables = server_variables(tmp_path, ASSAY_MODE="embedded", DATABASE_URL="")
    variables["EMAIL_BACKEND"] = "django.core.mail.backends.filebased.EmailBackend"
    command = [sys.executable, "-c", WRITES_EVERYTHING]
    outcome = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=True)
    lines = outcome.stdout.splitlines()
    for written in ("assay.sqlite3", "assay.sqlite3-wal", "assay.sqlite3-shm", "a.jsonl", ".log"):
        assert any(line.endswith(written) for line in lines)
    assert {tuple(line.split()[:2]) for line in lines} == {("True", "0o700"), ("False", "0o600")}
    assert data.stat().st_mode & 0o777 == 0o700


def test_key_may_come_from_a_file(tmp_path):
    (tmp_path / "key").write_text(f"{OWN_KEY}\n")
    assert load_settings(server_variables(tmp_path, SECRET_KEY_FILE=str(tmp_path / "key"))) == ""


def test_links_in_mails_lead_to_a_name_the_server_answers_to(tmp_path):
    variables = server_variables(tmp_path, SECRET_KEY=OWN_KEY)
    assert run_settings(variables, "SITE_URL").stdout == "https://assay.example\n"
    assert run_settings(variables | {"SITE_URL": "https://a.example/"}, "SITE_URL").stdout == "https://a.example\n"
    assert "it must be an address like" in load_settings(variables | {"SITE_URL": "assay.example"})
    # With “*” they led to http://localhost:8000.
    assert "Set SITE_URL to the address of Assay" in load_settings(variables | {"ALLOWED_HOSTS": "*"})
    assert load_settings(variables | {"ALLOWED_HOSTS": "*", "SITE_URL": "https://a.example"}) == ""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({}, "Server mode needs a secret key: set SECRET_KEY or SECRET_KEY_FILE."),
        ({"SECRET_KEY": OWN_KEY}, "Check DATABASE_URL and run “manage.py migrate”."),
    ],
)
def test_a_command_of_the_framework_says_in_a_sentence_what_an_operator_has_set_wrong(tmp_path, more, words):
    command = [sys.executable, "manage.py", "migrate"]
    variables = server_variables(tmp_path, **more)
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert done.stderr.strip().endswith(words)


@pytest.mark.parametrize("value", ["-1", "never", "30d"])
def test_days_and_seconds_that_are_no_whole_number_are_refused(tmp_path, value):
    """Days of -1 would remove all there is, seconds of -1 would let no request connect."""
    variables = server_variables(tmp_path, SECRET_KEY=OWN_KEY, KEEP_UPLOADS_DAYS=value)
    assert f"KEEP_UPLOADS_DAYS is “{value}”; it must be a whole number, 0 or more." in load_settings(variables)


def test_unknown_mode_is_refused(tmp_path):
    assert "it must be embedded or server" in load_settings(server_variables(tmp_path, ASSAY_MODE="cluster"))


@pytest.mark.parametrize(
    ("program", "code"),
    [
        (["gunicorn", "annotator.config.wsgi:application", "--preload", "--no-control-socket", "--bind", "fd://0"], 3),
        (["gunicorn", "annotator.config.wsgi:application", "--no-control-socket", "--bind", "fd://0"], 3),
        (["celery", "--app", "annotator.config.celery:app", "worker"], 1),
        (["celery", "--app", "annotator.config.celery:app", "beat"], 1),
    ],
    ids=["web", "web process", "worker", "beat"],
)
def test_a_program_that_meets_a_wrong_setting_ends_with_the_sentence_alone(tmp_path, program, code):
    """The sentence was the last of forty lines of a traceback, and in a web server's log in the midst of others."""
    variables = server_variables(tmp_path, SECRET_KEY=OWN_KEY, LOG_LEVEL="chatty")
    with listening_socket("0") as listener:
        outcome = subprocess.run(
            [sys.executable, "-m", *program],
            cwd=ROOT, env=variables, stdin=listener, capture_output=True, text=True, check=False,
        )  # fmt: skip
    assert outcome.returncode == code
    # gunicorn's own lines begin with the time.
    said = [line for line in (outcome.stdout + outcome.stderr).splitlines() if not line.startswith("[")]
    assert said == ["LOG_LEVEL is “CHATTY”; it must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL."]


@pytest.mark.servers
@pytest.mark.postgres
@pytest.mark.redis
def test_server_mode_serves_behind_a_proxy(tmp_path, process_environment):
    variables = server_variables(
        tmp_path,
        SECRET_KEY=OWN_KEY,
        DATABASE_URL=process_environment["DATABASE_URL"],
        REDIS_URL=process_environment["REDIS_URL"],
    )
    command = [sys.executable, "manage.py", "collectstatic", "--noinput", "--verbosity", "0"]
    subprocess.run(command, cwd=ROOT, env=variables, check=True)
    modules = Path(variables["STATIC_ROOT"], "app")
    [autosave] = modules.glob("autosave.????????????.js")
    imported = re.findall(r'from "\./(.+?)"', autosave.read_text())
    assert [re.sub(r"\.[0-9a-f]{12}\.js$", "", name) for name in imported] == ["edit-queue", "json", "translation"]
    assert all((modules / name).is_file() for name in imported)
    with listening_socket("0") as listener, Supervisor() as programs:
        port = listener.getsockname()[1]
        number = listener.fileno()
        command = [sys.executable, "-m", "gunicorn", "annotator.config.wsgi:application", "--no-control-socket"]
        programs.start(
            "web server",
            [*command, "--bind", f"fd://{number}", "--worker-class", "gthread"],
            env=variables,
            cwd=ROOT,
            log=tmp_path / "web.log",
            pass_fds=[number],
        )
        assert programs.wait_until_ready(f"http://localhost:{port}/healthz", seconds=60)
        status, headers = ask(port, {"Host": "assay.example"})
        assert (status, headers["Location"]) == (301, "https://assay.example/accounts/login/")
        status, headers = ask(port, {"Host": "assay.example", "X-Forwarded-Proto": "https"})
        assert status == 200
        assert "max-age=31536000" in headers["Strict-Transport-Security"]
        assert "script-src 'self'" in headers["Content-Security-Policy"]
        assert "Secure" in headers["Set-Cookie"]
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["Server"] == "gunicorn"  # without a version
        assert ask(port, {"Host": "elsewhere.example", "X-Forwarded-Proto": "https"})[0] == 400


def ask(port, headers):
    """Ask for the sign-in page and return status and headers."""
    client = http.client.HTTPConnection("localhost", port, timeout=30)
    try:
        client.request("GET", "/accounts/login/", headers=headers)
        answer = client.getresponse()
        answer.read()
        return answer.status, answer.headers
    finally:
        client.close()
