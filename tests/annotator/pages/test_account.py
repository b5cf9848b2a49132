"""Signing in and up, passwords, invitations on their way through both, tokens, and the demo's buttons."""

from datetime import timedelta
from functools import partial
from ipaddress import ip_network
from smtplib import SMTPRecipientsRefused
from threading import Event
from types import SimpleNamespace
from urllib.parse import quote, urlencode

import pytest
from allauth.account.auth_backends import AuthenticationBackend
from celery.exceptions import Retry
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from annotator import tasks
from annotator.core import concurrency
from annotator.models import ApiToken, AttemptCount, Invitation, Role, User
from annotator.services import members
from annotator.services.access.permissions import roles_in
from annotator.services.accounts import accounts, attempts, password_mails, tokens
from annotator.services.client_address import client_address
from tests.factories import make_user
from tests.racing import overlap, race

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

#: Mails are made in another thread, which has a connection of its own.
mailing = pytest.mark.django_db(transaction=True)
PASSWORD = "a-long-enough-passphrase"
WRONG = "not-this-one"
LOGIN, SIGNUP = "/accounts/login/", "/accounts/signup/"


@pytest.fixture
def person():
    user = make_user("nadia", email="nadia@example.org")
    user.set_password(PASSWORD)
    user.save()
    return user


@pytest.fixture
def link(team):
    """The path of an open invitation for an annotator."""
    return f"/invitation/{invite(team)}/"


def invite(team, *roles):
    return members.create_invitation(
        actor=team.administrator, project=team.project, roles=[str(role.value) for role in roles or [Role.ANNOTATOR]]
    )[1]


def mails():
    """All that went out; mails go out beside the answers, one by one."""
    password_mails.MAILING.submit(int).result(60)
    return mail.outbox


def words(response):
    return response.content.decode()


def sign_in(client, login="nadia", password=PASSWORD, **more):
    return client.post(LOGIN, {"login": login, "password": password, **more})


def signed_in_as(client):
    key = client.session.get("_auth_user_id")
    return User.objects.get(pk=key) if key else None


def fill_in(client, username="newcomer", **fields):
    return client.post(
        SIGNUP, {"username": username, "email": "", "password1": PASSWORD, "password2": PASSWORD, **fields}
    )


# --- signing in -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("login", ["nadia", "nadia@example.org", "NADIA@example.org"])
def test_signing_in_by_name_or_address(client, person, login):
    response = sign_in(client, login)
    assert (response.status_code, response["Location"]) == (302, "/")
    assert signed_in_as(client) == person
    cookie = response.cookies["sessionid"]
    assert (bool(cookie["httponly"]), cookie["samesite"]) == (True, "Lax")


@pytest.mark.parametrize(
    ("login", "password"),
    [("nadia", "wrong"), ("nobody", PASSWORD), ("", ""), ("nadia", ""), ("x" * 10_000, "y" * 10_000)],
)
def test_a_failed_sign_in_says_one_thing_whoever_it_was(client, person, login, password):
    response = sign_in(client, login, password)
    assert response.status_code == 200
    assert "field-error" in words(response) or "error-summary" in words(response)
    assert signed_in_as(client) is None


def test_failed_sign_ins_do_not_tell_who_has_an_account(client, person):
    def refusal(login):
        page = words(sign_in(client, login, "wrong"))
        return page.partition("error-summary")[2].partition("</div>")[0]

    assert refusal("nadia") == refusal("nobody") != ""


@pytest.fixture
def clock(monkeypatch):
    """Time stops between tries; ``clock.seconds += 1`` advances it."""
    begin, reading = timezone.now(), SimpleNamespace(seconds=0)
    monkeypatch.setattr(attempts.timezone, "now", lambda: begin + timedelta(seconds=reading.seconds))
    return reading


def try_from(address, password=WRONG, **more):
    return sign_in(Client(REMOTE_ADDR=address), password=password, **more)


AT_ONCE = "Too many people are signing in right now. Wait a second and try again."
TOO_OFTEN = "Too many attempts. Wait"


def test_failed_sign_ins_are_delayed_ever_longer(person, clock):
    for _ in range(4):
        try_from("203.0.113.9")
    for delay in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 900, 900):
        assert TOO_OFTEN not in words(try_from("203.0.113.9"))
        clock.seconds += delay - 0.5
        assert TOO_OFTEN in words(try_from("203.0.113.9", PASSWORD))
        clock.seconds += 0.5
    assert try_from("203.0.113.9", PASSWORD).status_code == 302


def test_a_delay_that_a_wrong_clock_has_set_holds_nobody_up(person, clock):
    clock.seconds += 8 * 3600
    for _ in range(8):
        try_from("203.0.113.9")
    assert TOO_OFTEN in words(try_from("203.0.113.9", PASSWORD))
    clock.seconds -= 8 * 3600
    assert try_from("203.0.113.9", PASSWORD).status_code == 302


@pytest.mark.postgres
@pytest.mark.django_db(transaction=True)
def test_of_tries_at_one_moment_no_more_are_looked_at_than_are_free(clock):
    one = {"what": "sign-in", "name": "nadia", "address": "10.0.0.1"}
    waits = race(*[partial(attempts.count_attempt, **one)] * 12)
    assert sorted(waits) == [0] * attempts.FREE + [1] * (12 - attempts.FREE)
    # One that was right makes the next the first, also where both come at one moment.
    _, wait = overlap(lambda: attempts.forget_attempts(**one), lambda: attempts.count_attempt(**one))
    assert (wait, AttemptCount.objects.get().count) == (0, 1)


def test_failed_sign_ins_hold_up_neither_other_names_nor_other_addresses(person, clock):
    for n in range(40):
        try_from("203.0.113.9")
        try_from("203.0.113.9", login=f"somebody{n}")
    assert TOO_OFTEN in words(try_from("203.0.113.9", PASSWORD))
    assert TOO_OFTEN in words(try_from("203.0.113.9", PASSWORD, login=" NADIA"))
    assert try_from("203.0.113.8", PASSWORD).status_code == 302
    other = make_user("olena")
    other.set_password(PASSWORD)
    other.save()
    assert try_from("203.0.113.9", PASSWORD, login="olena").status_code == 302


def test_passwords_that_are_looked_at_take_few_of_the_threads(person, monkeypatch):
    """Each computes for half a second: forty at once, each under another name, held every thread of the site."""
    device = Client()
    assert sign_in(device).status_code == 302
    del device.cookies["sessionid"]
    first, second, third = (Client(REMOTE_ADDR=f"203.0.113.{n}") for n in (9, 8, 7))
    # Each comes while those before it, as far as they are not refused, are looked at.
    coming = [(first, "somebody"), (second, "nadia"), (third, "nadia"), *[(device, "nadia")] * 3]
    refused, looked_at = [], []

    def look(backend, request, **credentials):
        while coming:
            client, login = coming.pop(0)
            page = words(sign_in(client, login, WRONG))
            (refused if AT_ONCE in page else looked_at).append(client)

    with monkeypatch.context() as patched:
        patched.setattr(AuthenticationBackend, "authenticate", look)
        sign_in(first, "anybody", WRONG)
    assert refused == [first, third, device]
    assert looked_at == [device, device, second]
    assert try_from("203.0.113.9", PASSWORD).status_code == 302
    assert not concurrency._running


def test_a_known_device_is_never_refused_until_the_password_changes(person, clock):
    device = Client()
    sign_in(device)
    device.post("/accounts/logout/")
    cookie = device.cookies["known_device"]
    assert (bool(cookie["httponly"]), cookie["samesite"], cookie["path"]) == (True, "Lax", "/accounts/")
    for _ in range(20):
        sign_in(Client(), password="wrong")
        sign_in(device, password="wrong")
    assert TOO_OFTEN in words(sign_in(Client()))
    forged = Client()
    forged.cookies["known_device"] = cookie.value[:-3] + "abc"
    assert TOO_OFTEN in words(sign_in(forged))
    assert sign_in(device).status_code == 302
    device.post("/accounts/logout/")
    person.set_password("quite-another-passphrase")
    person.save()
    for _ in range(6):
        sign_in(Client(), password="wrong")
    assert TOO_OFTEN in words(sign_in(device, password="quite-another-passphrase"))


def test_a_right_password_forgets_the_wrong_ones_and_a_day_forgets_all(person, clock):
    for _ in range(4):
        try_from("203.0.113.9")
    assert try_from("203.0.113.9", PASSWORD).status_code == 302
    assert not AttemptCount.objects.exists()
    try_from("203.0.113.9")
    assert attempts.forget_old_attempts() == 0
    clock.seconds += 86401
    assert attempts.forget_old_attempts() == 1


@mailing
def test_old_passwords_and_forgotten_ones_are_limited_as_well(client, person, clock):
    sign_in(client)
    for _ in range(5):
        assert TOO_OFTEN not in words(change_password(client, old="wrong"))
    assert TOO_OFTEN in words(change_password(client))
    for _ in range(5):
        assert client.post("/accounts/password/reset/", {"email": "nadia@example.org"}).status_code == 302
    assert TOO_OFTEN in words(client.post("/accounts/password/reset/", {"email": "nadia@example.org"}))
    assert len(mails()) == 5
    assert client.post("/accounts/password/reset/", {"email": "oskar@example.org"}).status_code == 302


@mailing
def test_a_mail_server_that_is_away_tells_nobody_who_has_an_account_and_the_mail_waits(
    client, person, settings, monkeypatch, caplog
):
    waiting = []
    monkeypatch.setattr(
        tasks.mail_new_password, "apply_async", lambda arguments, countdown, **_: waiting.append((arguments, countdown))
    )
    at_hand = settings.EMAIL_BACKEND
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", 1
    for email in ("nadia@example.org", "nobody@example.org"):
        answer = client.post("/accounts/password/reset/", {"email": email})
        assert (answer.status_code, answer["Location"]) == (302, "/accounts/password/reset/done/")
    assert mails() == []
    assert [record.message for record in caplog.records if "password" in record.message] == [
        "A password mail waits for the mail server: [Errno 111] Connection refused"
    ]
    # The link is made when it can be sent: it waits nowhere.
    assert waiting == [(("nadia@example.org",), 300)]
    with pytest.raises(Retry):
        tasks.mail_new_password.apply(("nadia@example.org",), throw=True)
    settings.EMAIL_BACKEND = at_hand
    tasks.mail_new_password.apply(("nadia@example.org",), throw=True)
    (sent,) = mails()
    assert "/accounts/password/reset/key/" in sent.body


@mailing
def test_a_mail_about_a_password_is_in_the_language_of_the_last_sign_in(client, person, settings):
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    answer = client.post(
        "/accounts/login/", {"login": "nadia", "password": PASSWORD}, HTTP_ACCEPT_LANGUAGE="de-DE, en;q=0.5"
    )
    assert answer.status_code == 302
    client.logout()
    client.post("/accounts/password/reset/", {"email": "nadia@example.org"})
    (sent,) = mails()
    assert "Passwort" in sent.subject


class RefusingServer(EmailBackend):
    """A mail server that answers about the address with ``code``."""

    code = 550

    def send_messages(self, messages):
        raise SMTPRecipientsRefused(dict.fromkeys(messages[0].to, (self.code, b"no such mailbox")))


@mailing
def test_a_mail_that_is_refused_for_good_is_not_tried_for_a_day(client, person, settings, monkeypatch, caplog):
    waiting = []
    monkeypatch.setattr(tasks.mail_new_password, "apply_async", lambda *arguments, **_: waiting.append(arguments))
    settings.EMAIL_BACKEND = f"{__name__}.RefusingServer"
    client.post("/accounts/password/reset/", {"email": "nadia@example.org"})
    assert mails() == []
    tasks.mail_new_password.apply(("nadia@example.org",), throw=True)
    assert waiting == []
    said = [record.message for record in caplog.records if "permanently refused" in record.message]
    assert len(said) == 2
    assert "no such mailbox" in said[0]
    # A server may also say: not now.
    monkeypatch.setattr(RefusingServer, "code", 450)
    with pytest.raises(Retry):
        tasks.mail_new_password.apply(("nadia@example.org",), throw=True)


class SilentServer(EmailBackend):
    """A mail server that takes its time: until the test has its answer."""

    answered = Event()

    def send_messages(self, messages):
        assert self.answered.wait(10), "the answer waits for the mail server"
        return super().send_messages(messages)


@mailing
def test_a_slow_mail_server_tells_nobody_who_has_an_account(client, person, settings, caplog):
    settings.EMAIL_BACKEND = f"{__name__}.SilentServer"
    answer = client.post("/accounts/password/reset/", {"email": "nadia@example.org"})
    SilentServer.answered.set()
    assert (answer.status_code, answer["Location"]) == (302, "/accounts/password/reset/done/")
    assert [sent.to for sent in mails()] == [["nadia@example.org"]]
    assert caplog.records == []


@mailing
def test_signing_in_and_a_forgotten_password_need_the_database_alone(client, person, settings):
    dead = "redis://127.0.0.1:1/0"
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": dead}}
    assert sign_in(client, password="wrong").status_code == 200
    assert sign_in(client).status_code == 302
    assert change_password(client, old="wrong").status_code == 200
    assert client.post("/accounts/password/reset/", {"email": "nadia@example.org"}).status_code == 302
    assert len(mails()) == 1


@pytest.mark.parametrize(
    ("peer", "forwarded", "address"),
    [
        ("127.0.0.1", "203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "198.51.100.1, 203.0.113.9", "203.0.113.9"),
        ("127.0.0.1", "198.51.100.1, 203.0.113.9, 10.1.2.3", "203.0.113.9"),
        ("127.0.0.1", "203.0.113.9:4711", "203.0.113.9"),
        ("127.0.0.1", "nonsense", "127.0.0.1"),
        ("127.0.0.1", "", "127.0.0.1"),
        ("::ffff:127.0.0.1", "[2001:db8::1]:4711", "2001:db8::/64"),
        ("", "203.0.113.9", "203.0.113.9"),
        ("", "", ""),
        ("198.51.100.7", "203.0.113.9", "198.51.100.7"),
    ],
)
def test_the_readers_address_is_told_by_trusted_proxies_alone(settings, rf, peer, forwarded, address):
    settings.TRUSTED_PROXIES = [ip_network(one) for one in ("127.0.0.0/8", "10.0.0.0/8")]
    request = rf.get("/", REMOTE_ADDR=peer, HTTP_X_FORWARDED_FOR=forwarded)
    assert client_address(request) == address


def test_a_session_ends_with_its_time_and_with_the_password(client, person):
    client.force_login(person)
    assert client.get("/").status_code == 200
    Session.objects.update(expire_date=timezone.now() - timedelta(seconds=1))
    assert client.get("/").status_code == 302
    client.force_login(person)
    person.set_password(f"{PASSWORD}-changed")
    person.save()
    assert client.get("/").status_code == 302


def test_signing_in_goes_on_to_the_page_that_was_asked_for(client, person):
    response = client.get("/tokens/")
    assert response["Location"] == f"{LOGIN}?next=/tokens/"
    assert sign_in(client, next="/tokens/?a=1")["Location"] == "/tokens/?a=1"


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.example/", "//evil.example", "/\\evil.example", "javascript:alert(1)"]
)
def test_signing_in_sends_nobody_elsewhere(client, person, elsewhere):
    assert sign_in(client, next=elsewhere)["Location"] == "/"


def test_a_closed_account_stays_outside(client, person):
    client.force_login(person)
    User.objects.filter(pk=person.pk).update(is_active=False)
    assert client.get("/tokens/")["Location"].startswith(LOGIN)
    client = Client()
    response = sign_in(client)
    assert response["Location"] == "/accounts/inactive/"
    assert "Your account is deactivated" in words(client.get("/accounts/inactive/"))
    assert signed_in_as(client) is None


def test_signing_in_again_leads_to_the_page_of_the_form_that_was_sent_signed_out(client, person, team):
    """It led to the form's own address, which takes nothing else: 405."""
    form, page = f"/p/{team.project.slug}/draw/", f"/p/{team.project.slug}/?at=1"
    response = client.post(form, headers={"referer": f"http://testserver{page}"})
    assert response["Location"] == f"{LOGIN}?{urlencode({'next': f'http://testserver{page}'})}"
    assert "Nothing was changed" in words(client.get(response["Location"]))
    assert sign_in(client, next=f"http://testserver{page}")["Location"] == f"http://testserver{page}"
    client.logout()
    for elsewhere in ("https://elsewhere.example/", ""):
        assert client.post(form, headers={"referer": elsewhere})["Location"] == LOGIN
    assert client.get(form)["Location"] == f"{LOGIN}?next={form}"


def test_no_page_of_the_site_leads_to_where_only_a_form_does(client, person):
    """A next address from elsewhere, or another theme chosen on an error page at the form's address."""
    client.force_login(person)
    for led_from, to in ((f"{LOGIN}?next=/theme/", "/"), ("/theme/", "/"), ("/tokens/", "http://testserver/tokens/")):
        response = client.get("/theme/", headers={"referer": f"http://testserver{led_from}"})
        assert (response.status_code, response["Location"]) == (302, to)
    assert client.get("/theme/", headers={"referer": "https://elsewhere.example/"}).status_code == 405
    assert client.get("/theme/", headers={"referer": "http://testserver/", "hx-request": "true"}).status_code == 405


def test_signing_out(client, person):
    client.force_login(person)
    assert client.get("/accounts/logout/").status_code == 200
    assert signed_in_as(client) == person
    assert client.post("/accounts/logout/").status_code == 302
    assert signed_in_as(client) is None


# --- passwords --------------------------------------------------------------------------------------------------------


def change_password(client, old=PASSWORD, new="quite-another-passphrase"):
    return client.post("/accounts/password/change/", {"oldpassword": old, "password1": new, "password2": new})


def test_changing_the_password_keeps_this_session_and_ends_the_others(client, person):
    sign_in(client)
    other = Client()
    sign_in(other)
    assert change_password(client).status_code == 302
    assert client.get("/tokens/").status_code == 200
    assert other.get("/tokens/").status_code == 302
    assert sign_in(Client()).status_code == 200
    assert sign_in(Client(), password="quite-another-passphrase").status_code == 302


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("wrong", "quite-another-passphrase"),
        (PASSWORD, "short"),
        (PASSWORD, "password12"),
        (PASSWORD, "nadia@example.org"),
    ],
)
def test_passwords_that_are_not_changed(client, person, old, new):
    sign_in(client)
    response = change_password(client, old, new)
    assert response.status_code == 200
    assert "field-error" in words(response)
    person.refresh_from_db()
    assert person.check_password(PASSWORD)


@mailing
def test_a_forgotten_password_is_chosen_anew_by_a_link_that_works_once(client, person):
    response = client.post("/accounts/password/reset/", {"email": "nadia@example.org"})
    assert response["Location"] == "/accounts/password/reset/done/"
    assert client.get("/accounts/password/reset/done/").status_code == 200
    link = next(word for word in mails()[0].body.split() if "/password/reset/key/" in word)
    path = "/" + link.partition("://")[2].partition("/")[2]
    form = client.get(path, follow=True)
    assert "Choose a new password" in words(form)
    action = form.redirect_chain[-1][0]
    new = {"password1": "quite-another-passphrase", "password2": "quite-another-passphrase"}
    assert client.post(action, new).status_code == 302
    assert sign_in(Client(), password="quite-another-passphrase").status_code == 302
    again = Client().get(path, follow=True)
    assert "This link is no longer valid" in words(again)


@mailing
def test_a_mails_links_and_words_follow_the_sites_address_and_not_the_host_header(client, person, settings):
    settings.SITE_URL = "https://assay.example.org"
    client.post("/accounts/password/reset/", {"email": "nadia@example.org"}, headers={"host": "127.0.0.1:6666"})
    [sent] = mails()
    assert sent.subject.startswith("[assay.example.org] ")
    assert "\nhttps://assay.example.org/accounts/password/reset/key/" in sent.body
    assert "Hello from assay.example.org!" in sent.body
    for stranger in ("127.0.0.1", "6666", "testserver"):
        assert stranger not in str(sent.message())


def test_nobody_learns_whose_address_has_an_account(client, person):
    response = client.post("/accounts/password/reset/", {"email": "stranger@example.org"})
    assert response["Location"] == "/accounts/password/reset/done/"
    assert mails() == []


# --- invitations ------------------------------------------------------------------------------------------------------


def test_nobody_signs_up_without_an_invitation(client):
    response = client.get(SIGNUP)
    assert "You need an invitation" in words(response)
    assert '<form method="post" action="/accounts/signup/"' not in words(response)
    fill_in(client)
    assert not User.objects.filter(username="newcomer").exists()


def test_from_the_link_to_an_account_and_into_the_project(client, team, link):
    page = words(client.get(link))
    assert f"Join {team.project.name}" in page
    assert "invites you to join with these roles: annotator" in page
    assert client.post(link, {"sign_up": ""})["Location"] == SIGNUP
    assert "Create an account" in words(client.get(SIGNUP))
    response = fill_in(client, display_name="Nóra Ünal")
    assert response["Location"] == f"/p/{team.project.slug}/"
    user = signed_in_as(client)
    assert (user.username, str(user)) == ("newcomer", "Nóra Ünal")
    assert roles_in(team.project, user) == {Role.ANNOTATOR}
    assert client.get(link).status_code == 404
    assert "invitation" not in client.session


def test_from_the_link_to_signing_in_and_a_question_before_joining(client, team, person, link):
    to = client.post(link, {"sign_in": ""})["Location"]
    assert to == f"{LOGIN}?next={quote(link, safe='')}"
    page = words(client.get(to))
    assert f'name="next" value="{link}"' in page
    assert sign_in(client, next=link)["Location"] == link
    assert roles_in(team.project, person) == frozenset()
    assert "Join as Nadia" in words(client.get(link))
    assert client.post(link)["Location"] == f"/p/{team.project.slug}/"
    assert roles_in(team.project, person) == {Role.ANNOTATOR}


def test_the_page_of_signing_up_leads_to_signing_in_with_the_same_invitation(client, link):
    client.post(link, {"sign_up": ""})
    assert f'href="{LOGIN}?next={link}"' in words(client.get(SIGNUP))


def test_somebody_else_is_signed_in(client, team, link):
    client.force_login(team.outsider)
    page = words(client.get(link))
    assert "Join as Oskar" in page
    assert "Not Oskar?" in page
    response = client.post("/accounts/logout/", {"next": link})
    assert response["Location"] == link
    assert "Create account" in words(client.get(link))


def test_a_member_with_the_roles_is_told_so_and_the_link_stays_for_another(client, team, link):
    client.force_login(team.annotator)
    assert "You already have these roles" in words(client.get(link))
    assert client.post(link).status_code == 409
    client.force_login(team.outsider)
    assert client.post(link).status_code == 302


@pytest.mark.parametrize("fault", ["used", "expired", "revoked", "made up"])
def test_links_that_do_not_work_are_one_page(client, team, fault):
    secret = invite(team)
    invitation = Invitation.objects.get()
    if fault == "used":
        members.accept_invitation(actor=team.outsider, secret=secret)
    elif fault == "expired":
        Invitation.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    elif fault == "revoked":
        members.revoke_invitation(actor=team.administrator, project=team.project, public_id=invitation.public_id)
    else:
        secret = "made-up"
    for response in (client.get(f"/invitation/{secret}/"), client.post(f"/invitation/{secret}/", {"sign_up": ""})):
        assert response.status_code == 404
        assert "Ask the person who sent it for a new one." in words(response)
        assert team.project.name not in words(response)


def test_an_invitation_that_ends_while_one_fills_in_the_form_makes_no_account(client, team, link):
    client.post(link, {"sign_up": ""})
    assert client.get(SIGNUP).status_code == 200
    Invitation.objects.update(revoked_at=timezone.now())
    assert "You need an invitation" in words(fill_in(client))
    assert not User.objects.filter(username="newcomer").exists()


def test_an_invitation_that_another_uses_at_this_moment_makes_no_account(client, team, link, monkeypatch):
    client.post(link, {"sign_up": ""})
    monkeypatch.setattr(accounts.InvitationAdapter, "is_open_for_signup", lambda self, request: True)
    Invitation.objects.update(accepted_at=timezone.now())
    response = fill_in(client)
    assert response.status_code == 404
    assert "Ask the person who sent it for a new one." in words(response)
    assert not User.objects.filter(username="newcomer").exists()
    assert signed_in_as(client) is None


def test_a_username_that_another_takes_at_this_moment(client, person, link, monkeypatch):
    client.post(link, {"sign_up": ""})
    monkeypatch.setattr(accounts.InvitationAdapter, "clean_username", lambda self, username, shallow=False: username)
    response = fill_in(client, username="nadia")
    assert response.status_code == 409
    assert "This username or email address was just taken" in words(response)
    assert Invitation.objects.get().accepted_at is None


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"username": "nadia"}, "already exists"),
        ({"username": "NADIA"}, "already exists"),
        ({"username": ""}, "required"),
        ({"username": "a b"}, "valid username"),
        ({"username": "x" * 10_000}, "at most 150 characters"),
        ({"username": "na\u202edia"}, "valid username"),
        ({"email": "nadia@example.org"}, "already registered"),
        ({"email": "no address"}, "valid email"),
        ({"password1": "short", "password2": "short"}, "too short"),
        ({"password2": "different-passphrase"}, "same password"),
        ({"display_name": "x" * 81}, "at most 80 characters"),
        ({"display_name": "Na\u202edia"}, "invisible characters"),
    ],
    ids=str,
)
def test_what_a_new_account_may_not_be(client, person, link, fields, sentence):
    client.post(link, {"sign_up": ""})
    response = fill_in(client, **fields)
    assert response.status_code == 200
    assert sentence in words(response)
    assert User.objects.filter(memberships=None, pk=person.pk).exists()
    assert Invitation.objects.get().accepted_at is None


def test_who_is_signed_in_does_not_sign_up(client, team, link):
    client.post(link, {"sign_up": ""})
    client.force_login(team.outsider)
    assert client.get(SIGNUP).status_code == 302
    assert roles_in(team.project, team.outsider) == frozenset()


def test_the_pages_of_a_link_are_not_kept_by_the_browser(client, link):
    assert "no-store" in client.get(link)["Cache-Control"]
    client.post(link, {"sign_up": ""})
    assert "no-store" in client.get(SIGNUP)["Cache-Control"]


# --- tokens -----------------------------------------------------------------------------------------------------------


def secret_on(response):
    return words(response).partition('id="token-secret"')[2].partition('value="')[2].partition('"')[0]


def test_a_tokens_secret_is_shown_once_and_opens_the_door(client, team):
    client.force_login(team.annotator)
    response = client.post("/tokens/", {"name": "nightly", "expires": ""})
    secret = secret_on(response)
    assert secret.startswith("assay_")
    assert len(secret) == 49
    assert "no-store" in response["Cache-Control"]
    assert secret not in words(client.get("/tokens/"))
    assert secret not in str(list(ApiToken.objects.values()))
    assert "sessionid" not in str(response.context["form"].data)
    api = Client(headers={"Authorization": f"Bearer {secret}"})
    assert api.get("/api/projects/").status_code == 200


def test_a_revoked_or_expired_token_opens_nothing(client, team):
    client.force_login(team.annotator)
    secret = secret_on(client.post("/tokens/", {"name": "nightly"}))
    token = ApiToken.objects.get()
    assert client.post(f"/tokens/{token.public_id}/revoke/").status_code == 302
    api = Client(headers={"Authorization": f"Bearer {secret}"})
    assert api.get("/api/projects/").status_code == 401
    assert client.post(f"/tokens/{token.public_id}/revoke/").status_code == 302
    assert "Revoked<" in words(client.get("/tokens/"))


def test_ones_tokens_are_ones_own(client, team):
    token, _ = tokens.create_token(actor=team.annotator, name="mine", expires_at=None)
    client.force_login(team.administrator)
    assert client.post(f"/tokens/{token.public_id}/revoke/").status_code == 404
    assert "mine" not in words(client.get("/tokens/"))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": ""}, "required"),
        ({"name": "   "}, "required"),
        ({"name": "x" * 10_000}, "at most 80"),
        ({"name": "fine", "expires": "2020-01-01"}, "Choose a later day"),
        ({"name": "fine", "expires": "0001-01-01"}, "Choose a later day"),
        ({"name": "fine", "expires": "soon"}, "valid date"),
        ({"name": "fine", "expires": "99999-01-01"}, "valid date"),
    ],
    ids=str,
)
def test_tokens_that_are_not_made(client, team, fields, sentence):
    client.force_login(team.annotator)
    response = client.post("/tokens/", fields)
    assert response.status_code == 422
    assert sentence in words(response)
    assert not ApiToken.objects.exists()


@pytest.mark.parametrize(
    "fields", [{"name": "💥\u202e<script>alert(1)</script>"}, {"name": "fine", "expires": "9999-12-31"}]
)
def test_odd_tokens_that_are_fine(client, team, fields):
    client.force_login(team.annotator)
    assert client.post("/tokens/", fields).status_code == 200
    page = words(client.get("/tokens/"))
    assert "<script>alert" not in page


def test_the_list_of_tokens_costs_the_same_however_many_there_are(client, team):
    client.force_login(team.annotator)

    def cost():
        with CaptureQueriesContext(
            connection,
        ) as queries:
            client.get("/tokens/")
        return len(queries)

    tokens.create_token(actor=team.annotator, name="first", expires_at=None)
    few = cost()
    for n in range(20):
        tokens.create_token(actor=team.annotator, name=f"t{n}", expires_at=None)
    assert cost() == few


# --- the demo ---------------------------------------------------------------------------------------------------------


def test_a_button_signs_in_as_one_of_the_demos_people(client, demo):
    page = words(client.get(LOGIN))
    assert all(str(person.public_id) in page for person in demo)
    response = client.post("/demo/sign-in/", {"person": demo[0].public_id})
    assert (response.status_code, response["Location"]) == (302, "/")
    assert signed_in_as(client) == demo[0]


@pytest.mark.parametrize(("wanted", "there"), [("/tokens/", "/tokens/"), ("//evil.example", "/"), ("", "/")])
def test_the_demo_goes_on_to_the_page_that_was_asked_for(client, demo, wanted, there):
    response = client.post("/demo/sign-in/", {"person": demo[0].public_id, "next": wanted})
    assert response["Location"] == there


def test_the_demo_signs_in_as_nobody_else(client, demo, team):
    closed = make_user("closed", demo_note="Gone.", is_active=False)
    for person in (team.administrator, closed):
        assert client.post("/demo/sign-in/", {"person": person.public_id}).status_code == 404
    assert client.post("/demo/sign-in/", {}).status_code == 404
    assert signed_in_as(client) is None


def test_there_is_no_such_button_outside_the_demo(client):
    person = make_user("ada", demo_note="Administers the demo.")
    assert client.post("/demo/sign-in/", {"person": person.public_id}).status_code == 404
    assert str(person.public_id) not in words(client.get(LOGIN))
    assert accounts.demo_people() == []
