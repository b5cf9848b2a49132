"""Sessions that are listed and end, mails about new browsers, and the security log."""

import contextlib
import json
import logging
import socket
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.db.utils import DatabaseError
from django.test import Client, RequestFactory
from django.utils import timezone

from annotator.config.logs import Syslog
from annotator.models import Role, SecurityEvent, User
from annotator.services.accounts import password_mails, sessions, tokens
from annotator.services.accounts.devices import device_name
from annotator.services.accounts.security_events import sign_in_failed
from annotator.services.jobs.retention import tidy_up
from annotator.services.members import end_role, grant_role
from annotator.services.security_log import SYSLOG, log_security
from tests.factories import Team, make_user

pytestmark = [pytest.mark.django_db]
any_database = pytest.mark.any_database

PASSWORD = "a-long-enough-passphrase"
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"
PAGE = "/account/sessions/"


@pytest.fixture
def person() -> User:
    user = make_user("nadia")
    user.set_password(PASSWORD)
    user.save()
    return user


def signed_in(password: str = PASSWORD, **where: Any) -> Client:
    client = Client(**where)
    client.post("/accounts/login/", {"login": "nadia", "password": password})
    return client


def is_in(client: Client) -> bool:
    return client.get("/projects/").status_code == 200


def kinds(person: User | None) -> list[str]:
    return list(SecurityEvent.objects.filter(person=person).order_by("pk").values_list("kind", flat=True))


@any_database
def test_sessions_are_shown_and_ended(person: User) -> None:
    here = signed_in(headers={"user-agent": FIREFOX}, REMOTE_ADDR="2001:db8::7")
    one, two, three = (signed_in(REMOTE_ADDR=f"203.0.113.{number}") for number in range(3))
    page = here.get(PAGE).content.decode()
    assert "Firefox 140 on Linux" in page
    assert page.count("This browser") == 1
    assert "203.0.113.2" in page
    assert "Unknown browser" in page
    stranger = Client()
    stranger.force_login(make_user("otto"))
    key = UserSession.objects.get(ip="203.0.113.0").pk
    assert stranger.post(f"{PAGE}{key}/end/").status_code == 404
    assert is_in(one)
    here.post(f"{PAGE}{key}/end/")
    assert (is_in(one), is_in(two), is_in(three), is_in(here)) == (False, True, True, True)
    assert here.post(f"{PAGE}{key}/end/").status_code == 404
    here.post(f"{PAGE}end/")
    assert (is_in(two), is_in(three), is_in(here)) == (False, False, True)
    assert [one.session_key for one in sessions.list_sessions(person)] == [here.session.session_key]
    assert kinds(person).count("session_ended") == 2
    own = UserSession.objects.get(session_key=here.session.session_key)
    assert here.post(f"{PAGE}{own.pk}/end/").status_code == 302
    assert not is_in(here)


@any_database
def test_a_new_password_ends_the_other_sessions(person: User) -> None:
    here, other = signed_in(), signed_in()
    new = "another-long-passphrase"
    here.post("/accounts/reauthenticate/", {"password": PASSWORD})
    here.post("/accounts/password/change/", {"oldpassword": PASSWORD, "password1": new, "password2": new})
    assert (is_in(here), is_in(other)) == (True, False)
    assert UserSession.objects.filter(user=person).count() == 1
    assert "password_changed" in kinds(person)


@any_database
def test_sessions_end_by_themselves(person: User, settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SESSION_IDLE_MINUTES, settings.SESSION_MAX_HOURS = 60, 3
    begin, shift = timezone.now(), [0.0]
    monkeypatch.setattr(sessions.timezone, "now", lambda: begin + timedelta(minutes=shift[0]))
    client = signed_in()
    for minute in (50, 100, 150):
        shift[0] = minute
        assert is_in(client)
        # A page that is only open asks by itself; that is no use.
        client.get("/signed-in/")
        client.get("/notices/", headers={"HX-Request": "true"})
    shift[0] = 179
    assert is_in(client)
    shift[0] = 181
    assert not is_in(client)
    shift[0] = 0
    client = signed_in()
    shift[0] = 59
    assert client.get("/signed-in/").content == b"yes"
    shift[0] = 61
    assert client.get("/signed-in/").content == b"no"
    assert SecurityEvent.objects.filter(kind="session_ended", details={"reason": "time-out"}).count() == 2
    Session.objects.all().delete()
    tidy_up()
    assert not UserSession.objects.exists()


@any_database
def test_the_last_use_is_written_seldom(person: User, django_assert_num_queries: Any) -> None:
    client = signed_in()
    is_in(client)
    with django_assert_num_queries(2):
        # The session and the person.
        client.get("/signed-in/")
    before = UserSession.objects.get(user=person).last_seen_at
    client.get("/projects/")
    assert UserSession.objects.get(user=person).last_seen_at == before


@pytest.mark.django_db(transaction=True)
@any_database
def test_a_new_browser_is_announced(person: User) -> None:
    known = signed_in(headers={"user-agent": FIREFOX})
    known.post("/accounts/logout/")
    known.post("/accounts/login/", {"login": "nadia", "password": PASSWORD})
    password_mails.MAILING.submit(int).result(60)
    assert mail.outbox == []
    signed_in(headers={"user-agent": FIREFOX}, REMOTE_ADDR="203.0.113.9")
    password_mails.MAILING.submit(int).result(60)
    (sent,) = mail.outbox
    assert sent.to == ["nadia@example.org"]
    assert "new browser" in sent.subject
    assert "Firefox 140 on Linux\n203.0.113.9\n" in sent.body
    assert PAGE in sent.body


@any_database
def test_what_is_logged(person: User, team: Team) -> None:
    client = signed_in()
    signed_in("wrong")
    Client().post("/accounts/login/", {"login": "my-password-as-a-name", "password": "x"})
    client.post("/accounts/logout/")
    assert kinds(person) == ["signed_in", "sign_in_failed", "signed_out"]
    unknown = SecurityEvent.objects.filter(person=None).first()
    assert unknown is not None
    assert "my-password" not in json.dumps([unknown.kind, unknown.address, unknown.device, unknown.details])
    grant_role(actor=team.administrator, project=team.project, user=person, role=Role.ANNOTATOR)
    end_role(actor=team.administrator, project=team.project, user=person, role=Role.ANNOTATOR)
    token, secret = tokens.create_token(actor=person, name="nightly", expires_at=None)
    assert tokens.find_live_token(secret, address="203.0.113.1")
    tokens.revoke_token(actor=person, public_id=token.public_id)
    assert kinds(person)[3:] == ["role_granted", "role_ended", "token_created", "token_used", "token_revoked"]
    role = SecurityEvent.objects.get(kind="role_granted", person=person)
    assert (role.actor, role.details) == (team.administrator, {"project": team.project.slug, "role": "annotator"})


@any_database
def test_strangers_fill_no_log(person: User) -> None:
    request = RequestFactory().get("/", REMOTE_ADDR="203.0.113.77")
    for number in range(30):
        sign_in_failed({"username": f"stranger{number}"}, request)
    assert SecurityEvent.objects.filter(person=None, address="203.0.113.77").count() == 20
    sign_in_failed({"username": "nadia"}, request)
    assert kinds(person) == ["sign_in_failed"]


def test_the_log_only_grows(person: User) -> None:
    event = log_security("signed_in", person=person)
    with pytest.raises((IntegrityError, DatabaseError)), transaction.atomic():
        SecurityEvent.objects.filter(pk=event.pk).update(address="203.0.113.1")
    assert SecurityEvent.objects.get(pk=event.pk).address == ""


@any_database
def test_operators_read_filter_and_download_it(person: User, tmp_path: Path) -> None:
    client = Client()
    client.force_login(make_user("otto", is_staff=True))
    for number in range(60):
        log_security("factor_used", person=person, factor=f"app {number}")
    page = client.get("/operator/security-log/").content.decode()
    assert "Second factor used (app 59)" in page
    assert "(app 3)" not in page
    found = client.get("/operator/security-log/?kind=signed_in&person=OTTO")
    assert "Signed in" in found.content.decode()
    assert "(app 59)" not in found.content.decode()
    assert client.get("/operator/security-log/?kind=odd").status_code == 400
    assert client.get("/operator/security-log/?since=yesterday").status_code == 400
    assert client.get("/operator/security-log/?since=0001-01-01&until=9999-12-31").status_code == 200
    file = client.get("/operator/security-log.jsonl?kind=factor_used&person=nadia")
    lines = [json.loads(line) for line in b"".join(file.streaming_content).splitlines()]
    assert [one["details"]["factor"] for one in lines] == [f"app {number}" for number in range(60)]
    assert {one["person"] for one in lines} == {person.public_id}
    tomorrow = (timezone.now() + timedelta(days=2)).date().isoformat()
    for options, count in (({"since": tomorrow}, 0), ({"kind": "factor_used"}, 60)):
        with (tmp_path / "log.jsonl").open("w") as out, contextlib.redirect_stdout(out):
            call_command("export_security_log", **options)
        assert len((tmp_path / "log.jsonl").read_text().splitlines()) == count
    client.force_login(person)
    assert client.get("/operator/security-log/").status_code == 404
    assert client.get("/operator/security-log.jsonl").status_code == 404


@any_database
def test_events_go_to_syslog(person: User, django_capture_on_commit_callbacks: Any) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
        server.bind(("127.0.0.1", 0))
        server.settimeout(20)
        handler = Syslog(address=server.getsockname(), facility="auth")
        SYSLOG.addHandler(handler)
        SYSLOG.setLevel(logging.INFO)
        try:
            with django_capture_on_commit_callbacks(execute=True):
                log_security("signed_in", person=person)
            line = server.recv(4096).decode()
        finally:
            SYSLOG.removeHandler(handler)
            handler.close()
    priority, _, text = line.rstrip("\0").partition(">")
    assert priority == "<38"
    assert json.loads(text)["kind"] == "signed_in"
    assert json.loads(text)["person"] == person.public_id
    # A name that is not known stops nothing.
    lost = Syslog(address=("no-such-host.invalid", 514))
    lost.raiseExceptions = False  # type: ignore[attr-defined]
    lost.close()


@any_database
@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (FIREFOX, "Firefox 140 on Linux"),
        ("python-requests/2.32", "Python Requests 2"),
        ("", "Unknown browser"),
        ("\x00<script>" * 100, "Unknown browser"),
    ],
)
def test_browsers_in_words(agent: str, name: str) -> None:
    assert device_name(agent) == name
