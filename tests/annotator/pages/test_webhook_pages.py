"""Pages and the API of webhooks."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotator.core.schema.exact_json import loads
from annotator.models import Event, Webhook, WebhookDelivery
from annotator.services.history.events import append_event
from annotator.services.webhooks.hooks import MAX_WEBHOOKS
from annotator.services.webhooks.sending import send_due
from tests.annotator.services.webhook_receiver import receiving
from tests.factories import Team

pytestmark = pytest.mark.django_db
URL = "https://hooks.example.org/assay?token=sesame"


@pytest.fixture
def admin(team: Team, client: Client) -> Client:
    client.force_login(team.administrator)
    return client


def text(response: Any) -> str:
    return str(response.content.decode())


def secret_in(page: str) -> str:
    found = re.search(r'id="new-secret"[^>]*value="(whsec_[^"]+)"', page)
    return found.group(1) if found else ""


def test_from_the_form_to_a_message_sent_again(team: Team, admin: Client) -> None:
    place = f"/p/{team.project.slug}/webhooks/"
    assert place in text(admin.get(f"/p/{team.project.slug}/settings/"))
    assert "No webhooks yet" in text(admin.get(place))
    with receiving(500, 204) as receiver:
        body = {"url": receiver.url, "description": "Chat", "events": ["dialogue.verified", "erratum.confirmed"]}
        added = admin.post(place, body)
        assert secret_in(text(added))
        webhook = Webhook.objects.get()
        # Shown once.
        assert not secret_in(text(admin.get(place)))
        page = f"{place}{webhook.public_id}/"
        assert admin.post(page, {"test": "1"}).status_code == 302
        send_due()
        delivery = WebhookDelivery.objects.get()
        shown = text(admin.get(page))
        assert "The receiver answered with status 500." in shown
        one = f"{page}{delivery.public_id}/"
        assert one in shown
        shown = text(admin.get(one))
        for words in (
            delivery.message_id,
            "&quot;type&quot;:&quot;ping&quot;",
            "thanks",
            "status 500",
            f"POST {receiver.url}",
        ):
            assert words in shown
        assert f"webhook-timestamp: {receiver.got[0][0]['webhook-timestamp']}" in shown
        assert admin.post(one).status_code == 302
        send_due()
        assert "Delivered" in text(admin.get(one))
    rotated = secret_in(text(admin.post(page, {"rotate": "1"})))
    assert rotated not in ("", secret_in(text(added)))
    assert "The old secret still signs until" in text(admin.get(page))
    changed = admin.post(page, {"save": "1", "url": URL, "description": "", "events": ["release.frozen"]})
    assert changed.status_code == 302
    webhook.refresh_from_db()
    assert (webhook.url, webhook.events, str(webhook)) == (URL, ["release.frozen"], "hooks.example.org")
    for action, words in (("off", "It is off"), ("on", "Send a test")):
        admin.post(page, {action: "1"})
        assert words in text(admin.get(page))
    assert admin.post(page, {"nothing": "1"}).status_code == 422
    assert admin.post(page, {"remove": "1"})["Location"] == place
    assert admin.get(page).status_code == 404
    # An address may contain a secret: the history has its host only.
    events = Event.objects.filter(kind__startswith="webhook.").order_by("pk")
    kinds = ["added", "tested", "sent_again", "secret_rotated", "changed", "changed", "changed", "removed"]
    assert [one.kind for one in events] == [f"webhook.{kind}" for kind in kinds]
    assert "sesame" not in "".join(f"{one.before} {one.after}" for one in events)
    history = text(admin.get(f"/p/{team.project.slug}/history/?kind=webhook"))
    assert "Secret of a webhook rotated" in history


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"url": "https://127.0.0.1/"}, "not public"),
        ({"url": "nonsense"}, "Enter an address"),
        ({"events": []}, "Choose at least one event"),
        ({"description": "x" * 201}, "200 characters"),
    ],
)
def test_what_a_form_refuses(team: Team, admin: Client, settings: Any, change: dict[str, Any], words: str) -> None:
    settings.WEBHOOK_HOSTS = []
    body = {"url": URL, "description": "", "events": ["release.frozen"]} | change
    refused = admin.post(f"/p/{team.project.slug}/webhooks/", body)
    assert refused.status_code == 422
    assert words in text(refused)
    assert Webhook.objects.count() == 0


def test_the_log_is_filtered_and_in_pages(team: Team, admin: Client) -> None:
    admin.post(f"/p/{team.project.slug}/webhooks/", {"url": URL, "events": ["erratum.confirmed"]})
    for number in range(55):
        append_event(actor=None, project=team.project, kind="erratum.confirmed", after={"number": number})
    first = WebhookDelivery.objects.earliest("pk")
    WebhookDelivery.objects.filter(pk=first.pk).update(state="delivered", next_try_at=None, tried_at=timezone.now())
    page = f"/p/{team.project.slug}/webhooks/{Webhook.objects.get().public_id}/"
    newest = text(admin.get(page))
    assert newest.count("erratum.confirmed</code><span") == 50
    older = re.search(r'rel="next" href="([^"]+)"', newest)
    assert older is not None
    assert text(admin.get(page + older.group(1))).count("erratum.confirmed</code><span") == 5
    assert text(admin.get(page, {"state": "delivered"})).count("erratum.confirmed</code><span") == 1
    assert "No messages match" in text(admin.get(page, {"state": "given_up"}))
    assert admin.get(page, {"state": "lost"}).status_code == 400


def test_the_api_does_what_the_pages_do(team: Team, admin: Client) -> None:
    place = f"/api/projects/{team.project.slug}/webhooks/"

    def send(method: str, url: str, body: Any = None) -> Any:
        return getattr(admin, method)(url, body, content_type="application/json")

    with receiving() as receiver:
        added = send("post", place, {"url": receiver.url, "events": ["release.frozen"]})
        assert added.status_code == 201
        assert added.json()["secret"].startswith("whsec_")
        one = f"{place}{added.json()['public_id']}/"
        assert "secret" not in admin.get(one).json()
        assert [row["url"] for row in admin.get(place).json()] == [receiver.url]
        assert send("post", one + "test/").status_code == 202
        assert send("post", one + "test/").status_code == 409
        send_due()
        [row] = admin.get(one + "deliveries/?state=delivered").json()["results"]
        assert (row["event"], row["status"], row["attempts"]) == ("ping", 204, 1)
        detail = admin.get(f"{one}deliveries/{row['public_id']}/").json()
        assert loads(detail["body"])["type"] == "ping"
        assert send("post", f"{one}deliveries/{row['public_id']}/send-again/").status_code == 202
        send_due()
        assert receiver.ids == [row["message_id"]] * 2
    assert send("post", one + "rotate/").json()["secret"] != added.json()["secret"]
    assert send("patch", one, {"active": False, "description": "Off"}).json()["active"] is False
    assert send("patch", one, {"events": ["no.such"]}).status_code == 400
    assert send("patch", one, {"url": "ftp://x/"}).status_code == 422
    assert send("post", one + "test/").status_code == 409
    assert admin.delete(one).status_code == 204
    assert admin.get(one).status_code == 404
    for _ in range(MAX_WEBHOOKS):
        send("post", place, {"url": URL, "events": ["release.frozen"]})
    refused = send("post", place, {"url": URL, "events": ["release.frozen"]})
    assert (refused.status_code, "20 webhooks" in refused.json()["sentence"]) == (409, True)
    admin.force_login(team.senior)
    for method in ("patch", "delete"):
        assert send(method, one, {}).status_code == 403
    admin.force_login(team.outsider)
    for method in ("patch", "delete"):
        assert send(method, one, {}).status_code == 404
