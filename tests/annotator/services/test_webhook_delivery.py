"""Messages to webhooks reach a real receiver, which answers well, badly, or never."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone
from standardwebhooks.webhooks import Webhook as Verifier
from standardwebhooks.webhooks import WebhookVerificationError

from annotator.core.schema.exact_json import loads
from annotator.core.text import Message
from annotator.errors import Conflict, Invalid
from annotator.models import Event, Notice, Webhook, WebhookDelivery
from annotator.services.archiving import archive_project, restore_project
from annotator.services.history.events import append_event
from annotator.services.jobs import retention
from annotator.services.webhooks import posting, sending
from annotator.services.webhooks.deliveries import send_again, send_test
from annotator.services.webhooks.hooks import ROTATION, add_webhook, change_webhook, remove_webhook, rotate_secret
from annotator.services.webhooks.sending import BACK_OFF, LEASE, attempt, claim_next, record, send_due
from tests.annotator.services.webhook_receiver import Handler, Receiver, hook_to, receiving
from tests.factories import Team, make_team

pytestmark = pytest.mark.django_db

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as server:
        yield server


def happen(team: Team, number: int = 1) -> None:
    """Something that webhooks publish."""
    append_event(actor=None, project=team.project, kind="erratum.confirmed", after={"number": number})


def hook(receiver: Receiver, team: Team, *script: Any) -> tuple[Webhook, str]:
    receiver.script = list(script) or [204]
    return hook_to(receiver, team.project, team.administrator, "erratum.confirmed")


def only() -> WebhookDelivery:
    return WebhookDelivery.objects.select_related("webhook__project").get()


def later(moment: timedelta = timedelta(days=2)) -> datetime:
    return timezone.now() + moment


def test_a_receiver_can_verify_a_message_with_the_library_and_by_the_documented_code(
    team: Team, receiver: Receiver
) -> None:
    _, secret = hook(receiver, team)
    happen(team)
    assert send_due() == 1
    [(headers, body)] = receiver.got
    message = Verifier(secret).verify(body, headers)
    assert (message["type"], message["version"], message["data"]) == ("erratum.confirmed", 1, {"number": 1})
    assert message["project"]["slug"] == team.project.slug
    assert headers["content-type"] == "application/json"
    assert secret.startswith("whsec_")
    stored = Webhook.objects.get()
    assert secret not in f"{stored.secret} {stored.old_secret}"
    programs: dict[str, Any] = {}
    for program in (ROOT / "docs/webhooks.md").read_text().split("```python\n")[1:]:
        exec(program.partition("```")[0], programs)  # noqa: S102 - of this repository
    for verify in (programs["verify"], programs["verify_without_library"]):
        assert verify(secret, headers, body) == message
        wrong = {"webhook-signature": "v1,AAAA"}
        old = {"webhook-timestamp": str(int(time.time()) - 301)}
        for changed in (wrong, old):
            with pytest.raises((WebhookVerificationError, ValueError)):
                verify(secret, headers | changed, body)
    delivery = only()
    assert (delivery.state, delivery.attempts, delivery.status, delivery.error) == ("delivered", 1, 204, "")
    assert headers["webhook-id"] == delivery.message_id
    assert body.decode() == delivery.body


def test_a_wrong_secret_and_a_replayed_message_are_refused(team: Team, receiver: Receiver) -> None:
    webhook, secret = hook(receiver, team)
    _, other = rotate_secret(actor=team.administrator, webhook=webhook)
    happen(team)
    claimed = claim_next()
    assert claimed is not None
    client = posting.new_client()
    attempt(client, claimed)
    client.close()
    [(headers, body)] = receiver.got
    with pytest.raises(WebhookVerificationError, match="No matching signature"):
        Verifier("whsec_" + "A" * 44).verify(body, headers)
    # A message of six minutes ago, signed rightly.
    old = datetime.now(UTC) - timedelta(minutes=6)
    replayed = {
        "webhook-id": claimed.message_id, "webhook-timestamp": str(int(old.timestamp())),
        "webhook-signature": Verifier(secret).sign(claimed.message_id, old, claimed.body),
    }  # fmt: skip
    with pytest.raises(WebhookVerificationError, match="too old"):
        Verifier(secret).verify(body, replayed)
    assert secret != other


def test_both_secrets_sign_for_a_day_after_a_rotation(team: Team, receiver: Receiver) -> None:
    webhook, first = hook(receiver, team)
    webhook, second = rotate_secret(actor=team.administrator, webhook=webhook)
    happen(team)
    send_due()
    Webhook.objects.update(old_secret_until=timezone.now() - timedelta(seconds=1))
    happen(team)
    send_due()
    (during, body), (after, later_body) = receiver.got
    for secret in (first, second):
        assert Verifier(secret).verify(body, during)
    assert Verifier(second).verify(later_body, after)
    with pytest.raises(WebhookVerificationError):
        Verifier(first).verify(later_body, after)
    assert timedelta(hours=24) == ROTATION


def test_two_failures_then_a_success(team: Team, receiver: Receiver) -> None:
    hook(receiver, team, 500, lambda handler: handler.answer(502, b"\x00\xff" + b"x" * 5000), 200)
    happen(team)
    now = timezone.now()
    assert send_due(now=now) == 1
    first = only()
    assert (first.state, first.status) == ("waiting", 500)
    assert first.error == "The receiver answered with status 500."
    assert first.next_try_at is not None
    # Between 5 and 6 seconds, always the same for this row.
    assert 5 <= (first.next_try_at - now).total_seconds() <= 6
    assert send_due(now=now + timedelta(seconds=4)) == 0
    now += timedelta(seconds=7)
    assert send_due(now=now) == 1
    second = only()
    assert second.next_try_at is not None
    assert 60 <= (second.next_try_at - now).total_seconds() <= 72
    assert (len(second.reply), second.reply[:3]) == (2000, "��x")
    assert send_due(now=now + timedelta(seconds=80)) == 1
    assert (only().state, only().attempts, only().reply, only().error) == ("delivered", 3, "thanks", "")
    assert len(set(receiver.ids)) == 1
    assert Webhook.objects.get().failures == 0
    assert [*BACK_OFF] == sorted(BACK_OFF)


def test_a_message_is_given_up_and_then_the_webhook_is_switched_off(team: Team, receiver: Receiver) -> None:
    webhook, _ = hook(receiver, team, 500)
    now = timezone.now()
    for number in range(sending.MAX_GIVEN_UP):
        assert Webhook.objects.get().active
        happen(team, number)
        for _attempt in range(len(BACK_OFF) + 1):
            now += timedelta(days=2)
            assert send_due(now=now) == 1
        assert send_due(now=now + timedelta(days=2)) == 0
    assert set(WebhookDelivery.objects.values_list("state", "attempts")) == {("given_up", 9)}
    webhook = Webhook.objects.get()
    assert not webhook.active
    assert webhook.why_off == "5 messages in a row could not be delivered. The receiver answered with status 500."
    [notice] = Notice.objects.all()
    assert notice.person == team.administrator
    assert notice.target == f"/p/{team.project.slug}/webhooks/{webhook.public_id}/"
    assert Event.objects.filter(kind="webhook.switched_off").count() == 1
    happen(team)
    assert WebhookDelivery.objects.count() == sending.MAX_GIVEN_UP
    with pytest.raises(Conflict, match="Switch it on first"):
        send_test(actor=team.administrator, webhook=webhook)
    change_webhook(actor=team.administrator, webhook=webhook, active=True)
    receiver.script = [200]
    send_test(actor=team.administrator, webhook=webhook)
    assert send_due(now=now) == 1
    assert loads(receiver.got[-1][1])["type"] == "ping"
    assert (Webhook.objects.get().why_off, Webhook.objects.get().given_up) == ("", 0)


def test_a_receiver_that_is_gone_gets_no_more(team: Team, receiver: Receiver) -> None:
    hook(receiver, team, 410)
    happen(team)
    happen(team)
    assert send_due() == 1
    assert sorted(WebhookDelivery.objects.values_list("state", flat=True)) == ["given_up", "waiting"]
    assert not Webhook.objects.get().active
    assert Notice.objects.count() == 1
    assert send_due(now=later()) == 0


def test_messages_of_an_archived_project_wait_and_hold_up_no_others(team: Team, receiver: Receiver) -> None:
    hook(receiver, team, 410)
    happen(team)
    happen(team)
    ask = {"actor": team.administrator, "project": team.project}
    during = claim_next()
    assert during is not None
    archive_project(**ask)
    # Its webhook is not switched off by what comes back now: that would change the project.
    assert record(during, posting.Answer(410, 1, error=Message("It is gone.")))
    other = make_team("other")
    with receiving(204) as elsewhere:
        hook_to(elsewhere, other.project, other.administrator, "erratum.confirmed")
        happen(other)
        assert send_due(now=later()) == 1
        assert len(elsewhere.got) == 1
    assert (receiver.got, Webhook.objects.get(project=team.project).active) == ([], True)
    restore_project(**ask)
    assert send_due(now=later()) == 1
    assert not Webhook.objects.get(project=team.project).active


@pytest.mark.parametrize(("status", "attempts"), [(410, 1), (500, 1), (500, len(BACK_OFF) + 1)])
def test_a_failure_of_the_old_address_does_not_count_against_the_new_one(
    team: Team, receiver: Receiver, status: int, attempts: int
) -> None:
    webhook, _ = hook(receiver, team)
    happen(team)
    now = timezone.now()
    claimed = claim_next(now=now)
    assert claimed is not None
    claimed.attempts = attempts
    change_webhook(actor=team.administrator, webhook=webhook, url=receiver.url + "&new=1")
    assert record(claimed, posting.Answer(status, 1, error=Message("It failed.")), now=now)
    webhook.refresh_from_db()
    assert (webhook.active, webhook.failures, webhook.given_up, webhook.hold_until) == (True, 0, 0, None)
    assert send_due(now=now) == 1
    assert only().state == "delivered"
    assert len(receiver.got) == 1


def test_a_redirect_is_not_followed(team: Team, receiver: Receiver) -> None:
    with receiving() as elsewhere:
        hook(receiver, team, lambda handler: handler.answer(307, Location=elsewhere.url))
        happen(team)
        send_due()
        assert elsewhere.got == []
    assert only().error == "The receiver answered with a redirect (307), which is not followed."


def hang(handler: Handler) -> None:
    assert isinstance(handler.server, Receiver)
    handler.server.over.wait(30)


def endless_reply(handler: Handler) -> None:
    handler.send_response(200)
    handler.end_headers()
    while True:
        handler.wfile.write(b"more and more " * 100)


def dripping_reply(handler: Handler) -> None:
    assert isinstance(handler.server, Receiver)
    handler.send_response(503)
    handler.end_headers()
    while not handler.server.over.wait(0.02):
        handler.wfile.write(b"x")
        handler.wfile.flush()


def endless_headers(handler: Handler) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        handler.wfile.write(b"X-More: and more\r\n" * 100)


def nonsense(handler: Handler) -> None:
    handler.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "state", "status", "words"),
    [
        (hang, "waiting", None, "didn’t answer within"),
        (endless_reply, "delivered", 200, ""),
        (dripping_reply, "waiting", 503, "answered with status 503"),
        (endless_headers, "waiting", None, "The receiver"),
        (nonsense, "waiting", None, "can’t be reached"),
    ],
)
def test_a_receiver_that_does_not_end_is_cut_off(
    team: Team, receiver: Receiver, monkeypatch: pytest.MonkeyPatch, answer: Any, state: str, status: int, words: str
) -> None:
    monkeypatch.setattr(posting, "WHOLE", 0.5)
    hook(receiver, team, answer)
    happen(team)
    began = time.monotonic()
    send_due()
    assert time.monotonic() - began < 10
    delivery = only()
    assert (delivery.state, delivery.status) == (state, status)
    assert words in delivery.error
    assert len(delivery.reply) <= posting.KEPT_REPLY


def test_no_receiver_at_all(team: Team) -> None:
    with receiving() as gone:
        hook(gone, team)
    happen(team)
    send_due()
    assert only().error == "The receiver can’t be reached: Connection refused"


@pytest.mark.parametrize(
    ("header", "seconds"),
    [("7200", 7200), ("9" * 30, posting.LONGEST_WAIT), ("soon", 5), ("Wed, 21 Oct 2015 07:28:00 GMT", 5), ("", 5)],
)
def test_a_receiver_says_when_to_come_back(team: Team, receiver: Receiver, header: str, seconds: float) -> None:
    hook(receiver, team, lambda handler: handler.answer(429, Retry_After=header))
    happen(team)
    now = timezone.now()
    send_due(now=now)
    due = only().next_try_at
    assert due is not None
    assert seconds <= (due - now).total_seconds() <= seconds * 1.2
    # The receiver’s other messages wait as long.
    happen(team)
    assert send_due(now=now + timedelta(seconds=seconds - 1)) == 0


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://hooks.example.org/", "Use https"),
        ("https://127.0.0.1/", "not public"),
        ("https://[::1]/", "not public"),
        ("https://[64:ff9b::a9fe:a9fe]/", "not public"),
        ("https://localhost/", "not public"),
        ("https://169.254.169.254/latest", "not public"),
        ("https://me:pw@hooks.example.org/", "no user name"),
        ("ftp://hooks.example.org/", "Enter an address"),
        ("https://hooks.example.org:99999/", "Enter an address"),
        ("https://", "Enter an address"),
    ],
)
def test_an_address_that_a_server_must_not_reach_is_refused(team: Team, settings: Any, url: str, words: str) -> None:
    settings.WEBHOOK_HOSTS = []
    with pytest.raises(Invalid, match=words):
        add_webhook(actor=team.administrator, project=team.project, url=url, events=["dialogue.verified"])
    # Names have no case.
    settings.WEBHOOK_HOSTS = ["127.0.0.1", "Hooks.Internal"]
    for allowed in ("http://127.0.0.1/", "http://hooks.internal/", "http://HOOKS.internal/"):
        add_webhook(actor=team.administrator, project=team.project, url=allowed, events=["release.frozen"])


def test_a_webhook_whose_host_is_no_longer_allowed_can_be_changed_and_switched_off(
    team: Team, receiver: Receiver, settings: Any
) -> None:
    webhook, _ = hook(receiver, team)
    settings.WEBHOOK_HOSTS = []
    # The page sends the address that is there with every change.
    change_webhook(actor=team.administrator, webhook=webhook, url=webhook.url, description="Old")
    assert not change_webhook(actor=team.administrator, webhook=webhook, active=False).active
    assert Webhook.objects.get().description == "Old"
    with pytest.raises(Invalid, match="Use https"):
        change_webhook(actor=team.administrator, webhook=webhook, url=webhook.url + "&more=1")


def test_a_name_that_leads_to_a_private_address_is_refused_when_connecting(
    team: Team, receiver: Receiver, settings: Any
) -> None:
    hook(receiver, team)
    Webhook.objects.update(url=f"http://localhost:{receiver.server_port}/")
    settings.WEBHOOK_HOSTS = []
    happen(team)
    send_due()
    assert receiver.got == []
    assert "WEBHOOK_HOSTS" in only().error


def test_a_killed_worker_loses_nothing(team: Team, receiver: Receiver) -> None:
    hook(receiver, team, 204, 500, 204)
    happen(team)
    now = timezone.now()
    killed = claim_next(now=now)
    assert killed is not None
    with posting.new_client() as client:
        answer = attempt(client, killed)
    # Nobody else sends it while it may be on its way.
    assert send_due(now=now + LEASE - timedelta(seconds=1)) == 0
    assert send_due(now=now + LEASE) == 1
    # It was only slow: what it records comes too late.
    assert not record(killed, answer)
    assert (only().state, only().status, only().attempts) == ("waiting", 500, 2)
    assert send_due(now=now + 2 * LEASE) == 1
    assert (only().state, only().attempts) == ("delivered", 3)
    assert receiver.ids == [killed.message_id] * 3


def test_messages_come_in_their_order_and_one_that_fails_holds_the_others_up_for_a_moment(
    team: Team, receiver: Receiver
) -> None:
    hook(receiver, team, 500, 204)
    for number in range(3):
        happen(team, number)
    now = timezone.now()
    assert send_due(now=now) == 1
    assert send_due(now=now + timedelta(seconds=5)) == 2
    assert send_due(now=now + timedelta(seconds=7)) == 1
    assert [loads(body)["data"]["number"] for _, body in receiver.got] == [0, 1, 2, 0]


def test_a_receiver_that_hangs_delays_no_other(team: Team, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(posting, "WHOLE", 0.2)
    hook(receiver, team, hang)
    with receiving() as other:
        hook(other, team)
        for number in range(5):
            happen(team, number)
        assert send_due(now=timezone.now()) == 6
        assert len(other.got) == 5


def test_a_claim_reads_indexes_and_not_everything_that_waits(team: Team, receiver: Receiver) -> None:
    webhook, _ = hook(receiver, team)
    now = timezone.now()
    leased = sending._leased(now, webhook.pk).explain()
    first_due = sending._due(now, webhook=webhook.pk).order_by("pk")[:1].explain()
    # PostgreSQL chooses by the number of rows, and here are none.
    if connection.vendor != "postgresql":
        assert "webhook_delivery_leased" in leased
        assert "webhook_delivery_in_order" in first_due
        assert "B-TREE" not in first_due


def test_a_message_is_sent_again_with_the_same_id_and_body(team: Team, receiver: Receiver) -> None:
    webhook, secret = hook(receiver, team)
    happen(team)
    send_due()
    send_again(actor=team.administrator, delivery=only())
    claimed = claim_next()
    assert claimed is not None
    with pytest.raises(Conflict, match="being sent"):
        send_again(actor=team.administrator, delivery=claimed)
    record(claimed, posting.Answer(500, 1, error=None))
    send_again(actor=team.administrator, delivery=only())
    send_due()
    assert len(set(receiver.ids)) == 1
    assert len({body for _, body in receiver.got}) == 1
    headers, body = receiver.got[-1]
    assert Verifier(secret).verify(body, headers)
    assert Event.objects.filter(kind="webhook.sent_again").count() == 2
    remove_webhook(actor=team.administrator, webhook=webhook)
    with pytest.raises(Conflict, match="removed"):
        send_again(actor=team.administrator, delivery=only())


def test_a_removed_webhook_keeps_no_secret_and_sends_nothing(team: Team, receiver: Receiver) -> None:
    webhook, _ = hook(receiver, team)
    happen(team)
    remove_webhook(actor=team.administrator, webhook=webhook)
    happen(team)
    assert send_due(now=later()) == 0
    assert (Webhook.objects.get().secret, only().state, only().error) == ("", "given_up", "The webhook was removed.")
    with pytest.raises(Conflict, match="removed"):
        change_webhook(actor=team.administrator, webhook=webhook, active=True)


def test_a_changed_secret_key_is_a_sentence(team: Team, receiver: Receiver, settings: Any) -> None:
    hook(receiver, team)
    happen(team)
    settings.SECRET_KEY = "another one, which is as long as the one before"
    send_due()
    assert "Rotate the secret" in only().error


def test_old_messages_are_removed_unless_they_still_wait(team: Team, receiver: Receiver) -> None:
    webhook, _ = hook(receiver, team)
    happen(team)
    send_due()
    happen(team)
    WebhookDelivery.objects.update(created_at=timezone.now() - timedelta(days=31))
    happen(team)
    assert retention.tidy_up()["messages to webhooks"] == 1
    assert list(WebhookDelivery.objects.values_list("state", flat=True)) == ["waiting", "waiting"]
    # Also while the webhook is off, until it is removed.
    change_webhook(actor=team.administrator, webhook=webhook, active=False)
    assert retention.tidy_up()["messages to webhooks"] == 0
    remove_webhook(actor=team.administrator, webhook=webhook)
    assert retention.tidy_up()["messages to webhooks"] == 1
