"""Notices: who is told, what is counted, what goes by mail and how often."""

import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from annotator.core.text import Message, counted_message, message
from annotator.errors import Hidden, Invalid
from annotator.models import Digest, Event, Job, Membership, Notice, NoticeKind
from annotator.services.accounts.notice_settings import change_settings, settings_of
from annotator.services.database.filters import UnknownFilter
from annotator.services.database.keyset import cursor_of
from annotator.services.history.events import append_event
from annotator.services.jobs import jobs
from annotator.services.notices import digests, notices
from tests.factories import Team
from tests.html_forms import HtmlForm
from tests.languages import add_german

pytestmark = pytest.mark.django_db

#: Eight in the morning in Kyiv, six in London.
MORNING = datetime(2026, 5, 4, 5, 30, tzinfo=UTC)


def tell(team: Team, *people: Any, kind: NoticeKind = NoticeKind.MENTION, text: str = "Look.", key: str = "") -> None:
    notices.notify(
        actor=None,
        project=team.project,
        people=[one.pk for one in people],
        kind=kind,
        text=Message(text),
        target="/x/",
        key=key,
    )


# --- who is told ------------------------------------------------------------------------------------------------------


def test_everybody_is_told_once_but_nobody_of_what_they_did_themselves(team: Team) -> None:
    ada, ann = team.administrator, team.annotator
    told = notices.notify(
        actor=ada, project=team.project, people=[ada.pk, None, ann.pk, ann.pk], kind=NoticeKind.ALARM,
        text=Message("a\n b"),
        target="/",
    )  # fmt: skip
    assert told == [ann.pk]
    assert [(row.person, row.text) for row in Notice.objects.all()] == [(ann, "a b")]


def test_what_has_not_been_read_is_not_said_twice(team: Team) -> None:
    for _ in range(3):
        tell(team, team.senior, key="escalation")
    first = Notice.objects.get()
    notices.mark_read(actor=team.senior, public_id=first.public_id)
    tell(team, team.senior, team.annotator, key="escalation")
    assert Notice.objects.filter(person=team.senior).count() == 2
    assert notices.unread_count(team.senior) == 1


def test_administrators_hear_of_alarms_whoever_writes_the_event(team: Team) -> None:
    for _ in range(2):
        append_event(
            actor=None, project=team.project, kind="protocol.discrepancy_alarm", after={"stage": "x", "rate": 0.12}
        )
    notice = Notice.objects.get()
    assert (notice.person, notice.kind) == (team.administrator, NoticeKind.ALARM)
    assert "12 %" in notice.text
    assert Event.objects.count() == 2


def test_who_asked_for_a_job_hears_of_its_end(team: Team) -> None:
    @jobs.job_kind("told", "A long thing")
    def run(running: jobs.Running) -> dict[str, Any]:
        if running.job.parameters.get("fail"):
            raise Invalid("The file is empty.")
        return {}

    for parameters in ({}, {"fail": True}):
        job = Job.objects.create(project=team.project, requester=team.administrator, kind="told", parameters=parameters)
        jobs.run(job.pk)
    assert [row.text for row in Notice.objects.order_by("pk")] == [
        "A long thing finished.",
        "A long thing failed: The file is empty.",
    ]
    assert set(Notice.objects.values_list("person", flat=True)) == {team.administrator.pk}


# --- reading ----------------------------------------------------------------------------------------------------------


def test_one_reads_ones_own_and_only_while_a_member(team: Team) -> None:
    tell(team, team.annotator)
    notice = Notice.objects.get()
    for other in (team.senior, team.administrator, team.outsider):
        with pytest.raises(Hidden):
            notices.mark_read(actor=other, public_id=notice.public_id)
    Membership.objects.filter(user=team.annotator).update(ended_at=MORNING)
    assert notices.unread_count(team.annotator) == 0
    assert notices.list_notices(actor=team.annotator).rows == []
    with pytest.raises(Hidden):
        notices.mark_read(actor=team.annotator, public_id=notice.public_id)


def test_pages_go_forth_and_back_by_key(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notices, "PAGE", 2)
    for n in range(5):
        tell(team, team.annotator, text=str(n))
    first = notices.list_notices(actor=team.annotator)
    second = notices.list_notices(actor=team.annotator, after=first.after)
    third = notices.list_notices(actor=team.annotator, after=second.after)
    assert [[row.text for row in page.rows] for page in (first, second, third)] == [["4", "3"], ["2", "1"], ["0"]]
    assert (first.before, third.after) == (None, None)
    assert notices.list_notices(actor=team.annotator, before=second.before).rows == first.rows


def test_all_that_the_page_knew_of_is_read_and_what_came_since_is_new(team: Team) -> None:
    for _ in range(2):
        tell(team, team.annotator)
    seen = cursor_of(notices.list_notices(actor=team.annotator).rows[0])
    tell(team, team.annotator)
    with pytest.raises(UnknownFilter, match="isn’t a valid page of this list"):
        notices.mark_all_read(actor=team.annotator, through="nonsense")
    assert notices.mark_all_read(actor=team.annotator, through=seen) == 2
    assert notices.unread_count(team.annotator) == 1


def test_the_bar_asks_once_however_many_there_are(team: Team, client: Client) -> None:
    for _ in range(120):
        tell(team, team.annotator)
    client.force_login(team.annotator)
    with CaptureQueriesContext(connection) as captured:
        page = client.get("/notices/settings/").content.decode()
    assert "99+" in page
    assert sum(bool(re.search(r"annotator_notice\b", query["sql"])) for query in captured) == 1
    with CaptureQueriesContext(connection) as captured:
        client.get("/notices/")
    assert len(captured) <= 8


def test_pages_work_without_scripts(team: Team, client: Client) -> None:
    client.force_login(team.annotator)
    assert "No notices yet" in client.get("/notices/").content.decode()
    for text in ("One", "Two"):
        tell(team, team.annotator, text=text)
    one = Notice.objects.earliest("pk")
    assert client.post(f"/notices/{one.public_id}/", {"open": "1"})["Location"] == "/x/"
    assert client.post(f"/notices/{one.public_id}/", {"next": "https://evil.example/"})["Location"] == "/notices/"
    page = client.get("/notices/?show=unread").content.decode()
    assert "Two" in page
    assert "One" not in page
    client.post("/notices/", {"through": cursor_of(Notice.objects.latest("pk"))})
    assert "No notices match these filters" in client.get("/notices/?show=unread").content.decode()


def test_each_reader_gets_a_notice_in_their_own_language(
    team: Team, client: Client, settings: Any, tmp_path: Path
) -> None:
    add_german(
        settings,
        tmp_path,
        {
            "%(author)s commented on %(dialogue)s: %(text)s": "%(author)s zu %(dialogue)s: %(text)s",
            "%(job)s failed: %(error)s": "%(job)s schlug fehl: %(error)s",
            "Import": "Einlesen",
            "%(count)s item\0%(count)s items": "%(count)s Eintrag\0%(count)s Einträge",
        },
    )
    in_kyiv(team)
    said = {"author": "Ann %s", "dialogue": "%(text)s", "text": "100 % sure? " + "x" * 500}
    for text in (
        message("%(author)s commented on %(dialogue)s: %(text)s", **said),
        message(
            "%(job)s failed: %(error)s",
            job=message("Import"),
            error=counted_message("%(count)s item", "%(count)s items", 1),
        ),
        counted_message("%(count)s item", "%(count)s items", 1234),
        Message("100 % of an earlier text"),
    ):
        notices.notify(
            actor=None, project=team.project, people=[team.annotator.pk, team.senior.pk], kind=NoticeKind.MENTION,
            text=text, target="/x/",
        )  # fmt: skip
    german = [
        "Ann %s zu %(text)s: 100 % sure? xxx", "Einlesen schlug fehl: 1 Eintrag", "1,234 Einträge",
        "100 % of an earlier text",
    ]  # fmt: skip
    english = ["Ann %s commented on %(text)s: 100 % sure? xxx", "Import failed: 1 item", "1,234 items", german[-1]]
    assert {len(row.text) for row in Notice.objects.filter(person=team.senior)} == {500, 21, 11, 24}
    for person, language, expected in ((team.annotator, "de", german), (team.senior, "en", english)):
        client.defaults["HTTP_ACCEPT_LANGUAGE"] = language
        person.set_password("long enough 1")
        person.save()
        client.post("/accounts/login/", {"login": person.username, "password": "long enough 1"})
        for path in ("/", "/notices/"):
            page = client.get(path).content.decode()
            assert [text for text in expected if text not in page] == []
    assert digests.send_due_digests(now=MORNING + timedelta(hours=2)) == 2
    bodies = {sent.to[0]: sent.body for sent in mail.outbox}
    assert [text for text in german if text not in bodies[team.annotator.email]] == []
    assert [text for text in english if text not in bodies[team.senior.email]] == []


# --- mail -------------------------------------------------------------------------------------------------------------


def in_kyiv(team: Team, **more: Any) -> None:
    change_settings(actor=team.annotator, **{"daily": ["mention"], "time_zone": "Europe/Kyiv"} | more)


def test_two_windows_of_the_mail_settings_keep_what_each_changed(team: Team, client: Client) -> None:
    """The older one sent all that it showed, and so undid what had been chosen in the other."""
    client.force_login(team.annotator)
    one, two, three = (HtmlForm(client, "/notices/settings/", "mail") for _ in range(3))
    shown = set(one.fields["daily"])
    assert one.send(daily=[*(shown - {"alarm"}), "job"], time_zone="Europe/Kyiv").status_code == 302
    assert two.send(daily=[*(shown - {"reply"}), "job", "comment"]).status_code == 302
    now = settings_of(team.annotator)
    assert (set(now.daily), now.time_zone) == (shown - {"alarm", "reply"} | {"job", "comment"}, "Europe/Kyiv")
    assert "Saved, together with the changes from another window." in client.get("/notices/settings/").content.decode()
    asked = three.send(time_zone="Europe/London")
    assert asked.status_code == 409
    assert "changed the time zone to “Europe/Kyiv”" in asked.content.decode()
    assert settings_of(team.annotator).time_zone == "Europe/Kyiv"
    three.read(asked)
    assert three.send().status_code == 302
    after = settings_of(team.annotator)
    assert (after.daily, after.time_zone) == (now.daily, "Europe/London")
    for nonsense in ("{", "[]", '{"daily": [1], "time_zone": ""}', '{"daily": 1, "time_zone": 2}'):
        assert three.send(seen=nonsense).status_code == 422


def test_a_mail_holds_what_nobody_has_read_of_the_kinds_one_wants(team: Team) -> None:
    in_kyiv(team)
    tell(team, team.annotator, text="Read me <soon>.")
    tell(team, team.annotator, kind=NoticeKind.JOB, text="A job.")
    tell(team, team.annotator, text="Read already.")
    Notice.objects.filter(pk=Notice.objects.latest("pk").pk).update(read_at=MORNING)
    assert digests.send_due_digests(now=MORNING) == 1
    [message] = mail.outbox
    assert message.to == [team.annotator.email]
    assert "Read me <soon>." in message.body
    assert "A job." not in message.body
    assert "already" not in message.body
    [(html, kind)] = message.alternatives
    assert kind == "text/html"
    assert "Read me &lt;soon&gt;." in html


@pytest.mark.parametrize(("zone", "sent"), [("Europe/Kyiv", 1), ("Europe/London", 0), ("", 0)])
def test_it_comes_in_ones_own_morning(team: Team, zone: str, sent: int) -> None:
    in_kyiv(team, time_zone=zone)  # the project's own zone is UTC: half past five
    tell(team, team.annotator)
    assert digests.send_due_digests(now=MORNING) == sent


def test_once_a_day_and_nothing_twice(team: Team) -> None:
    in_kyiv(team)
    tell(team, team.annotator, text="First.")
    assert digests.send_due_digests(now=MORNING) == 1
    tell(team, team.annotator, text="Second.")
    assert digests.send_due_digests(now=MORNING + timedelta(hours=9)) == 0
    assert digests.send_due_digests(now=MORNING + timedelta(days=1)) == 1
    assert ["First." in message.body for message in mail.outbox] == [True, False]


def test_a_worker_that_dies_before_it_sends_loses_nothing(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    in_kyiv(team)
    tell(team, team.annotator)

    def die(*_: Any) -> Any:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(digests, "_mail", die)
        with pytest.raises(KeyboardInterrupt):
            digests.send_due_digests(now=MORNING)
    assert mail.outbox == []
    # Somebody else might be at it still; later it is taken up, once.
    assert digests.send_due_digests(now=MORNING + timedelta(minutes=5)) == 0
    assert digests.send_due_digests(now=MORNING + timedelta(minutes=11)) == 1
    assert digests.send_due_digests(now=MORNING + timedelta(minutes=30)) == 0
    assert len(mail.outbox) == 1


def test_a_worker_that_dies_before_it_has_made_a_mail_leaves_the_notices_to_the_next(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_kyiv(team)
    tell(team, team.annotator)
    with monkeypatch.context() as patch:
        patch.setattr(Notice.objects.all().__class__, "update", lambda *_, **__: (_ for _ in ()).throw(RuntimeError))
        with pytest.raises(RuntimeError):
            digests.compose_due(now=MORNING)
    assert not Digest.objects.exists()
    assert digests.send_due_digests(now=MORNING) == 1


def test_a_second_attempt_has_the_same_message_id(team: Team) -> None:
    in_kyiv(team)
    tell(team, team.annotator)
    digests.send_due_digests(now=MORNING)
    # As if the worker had died right after the server took the mail.
    Digest.objects.update(sent_at=None)
    digests.send_due_digests(now=MORNING + timedelta(hours=1))
    assert len({message.extra_headers["Message-ID"] for message in mail.outbox}) == 1


class Server(EmailBackend):
    """A mail server that may be away, refuse what it is told to, or go away in the middle."""

    away, refused, gone_at, opened = False, "", "", 0

    def open(self) -> bool:
        Server.opened += 1
        if Server.away:
            raise ConnectionRefusedError(111, "Connection refused")
        return True

    def send_messages(self, messages: Any) -> int:
        [message] = messages
        if message.to[0] == Server.refused:
            raise UnicodeError("label empty or too long")
        if message.to[0] == Server.gone_at:
            raise SMTPServerDisconnected("Connection unexpectedly closed: timed out")
        return int(super().send_messages(messages))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> type[Server]:
    for name, value in {"away": False, "refused": "", "gone_at": "", "opened": 0}.items():
        monkeypatch.setattr(Server, name, value)
    monkeypatch.setattr(digests, "get_connection", Server)
    return Server


def test_a_mail_that_is_refused_is_tried_again_for_days_but_not_for_ever(team: Team, server: type[Server]) -> None:
    in_kyiv(team)
    tell(team, team.annotator)
    server.refused = team.annotator.email
    tried = set()
    for hour in range(24 * 7):
        assert digests.send_due_digests(now=MORNING + timedelta(hours=hour)) == 0
        tried.add(Digest.objects.get().taken_at)
    digest = Digest.objects.get()
    assert (digest.attempts, digest.error) == (digests.MAX_ATTEMPTS, "label empty or too long")
    assert digest.sent_at is None
    assert timedelta(days=3) < max(tried) - min(tried) < timedelta(days=5)


def test_a_mail_that_was_tried_while_the_clock_was_ahead_is_tried_again_by_the_new_time(
    team: Team, server: type[Server]
) -> None:
    """It stood until the wrong time had come, and its notices were in no other mail."""
    in_kyiv(team)
    tell(team, team.annotator)
    server.refused = team.annotator.email
    digests.send_due_digests(now=MORNING + timedelta(days=40))
    server.refused = ""
    assert digests.send_due_digests(now=MORNING) == 1
    # That clocks differ by moments does not send one in two mails.
    Digest.objects.update(sent_at=None, taken_at=MORNING + timedelta(minutes=1))
    assert digests.send_due_digests(now=MORNING) == 0


def test_a_mail_server_that_is_away_for_long_loses_no_mail_and_is_asked_once_a_round(
    team: Team, server: type[Server]
) -> None:
    tell(team, team.annotator, team.senior)
    noon = MORNING + timedelta(hours=6)
    server.away = True
    rounds = [noon + timedelta(minutes=30 * n) for n in range(4 * 48)]
    assert {digests.send_due_digests(now=moment) for moment in rounds} == {0}
    assert server.opened == len(rounds)
    server.away = False
    assert digests.send_due_digests(now=rounds[-1] + timedelta(minutes=10)) == 2


def test_a_mail_that_cannot_be_sent_does_not_hold_up_those_of_others(team: Team, server: type[Server]) -> None:
    tell(team, team.annotator, team.senior)
    server.refused = min(team.annotator, team.senior, key=lambda person: person.pk).email
    assert digests.send_due_digests(now=MORNING + timedelta(hours=6)) == 1


def test_a_mail_server_that_goes_away_ends_the_round_and_the_next_begins_with_others(
    team: Team, server: type[Server]
) -> None:
    tell(team, team.annotator, team.senior)
    server.gone_at = min(team.annotator, team.senior, key=lambda person: person.pk).email
    noon = MORNING + timedelta(hours=6)
    assert digests.send_due_digests(now=noon) == 0
    assert digests.send_due_digests(now=noon + timedelta(minutes=11)) == 1
    server.gone_at = ""
    assert digests.send_due_digests(now=noon + timedelta(minutes=40)) == 1


def test_a_slow_mail_server_holds_a_worker_for_the_time_of_a_round(
    team: Team, server: type[Server], monkeypatch: pytest.MonkeyPatch
) -> None:
    tell(team, team.annotator, team.senior)
    clock = iter(range(0, 10_000, 400))
    monkeypatch.setattr(digests, "monotonic", lambda: next(clock))
    noon = MORNING + timedelta(hours=6)
    assert digests.send_due_digests(now=noon) == 0
    monkeypatch.setattr(digests, "monotonic", lambda: 0)
    assert digests.send_due_digests(now=noon + timedelta(minutes=1)) == 2


def test_what_was_read_meanwhile_makes_no_mail(team: Team) -> None:
    in_kyiv(team)
    tell(team, team.annotator)
    digests.compose_due(now=MORNING)
    notices.mark_all_read(actor=team.annotator)
    assert digests.send_due_digests(now=MORNING) == 0
    assert Digest.objects.get().sent_at is not None
    assert mail.outbox == []


def test_without_an_address_or_a_place_in_the_project_there_is_no_mail(team: Team) -> None:
    tell(team, team.annotator, team.senior)
    type(team.annotator).objects.filter(pk=team.annotator.pk).update(email="")
    Membership.objects.filter(user=team.senior).update(ended_at=MORNING)
    assert digests.send_due_digests(now=MORNING + timedelta(hours=6)) == 0


def test_what_cannot_be_chosen(team: Team) -> None:
    with pytest.raises(Invalid, match="no kind of notice"):
        in_kyiv(team, daily=["gossip"])
    with pytest.raises(Invalid, match="isn’t a time zone"):
        in_kyiv(team, time_zone="Middle/Earth")
    assert "mention" in settings_of(team.annotator).daily
