"""Several workers at one moment never send the same attempt, and no reviewer waits for a worker."""

import threading

import pytest
from django.db import transaction
from django.utils import timezone

from annotator.models import Webhook, WebhookDelivery
from annotator.services.history.events import append_event
from annotator.services.webhooks.deliveries import send_again
from annotator.services.webhooks.hooks import MAX_WEBHOOKS, add_webhook, remove_webhook
from annotator.services.webhooks.sending import claim_next, send_due
from tests.annotator.services.webhook_receiver import Handler, hook_to, receiving
from tests.factories import Team
from tests.racing import lost, overlap, race, won

pytestmark = pytest.mark.django_db(transaction=True)


def happen(team: Team, count: int = 1) -> None:
    for number in range(count):
        append_event(actor=None, project=team.project, kind="erratum.confirmed", after={"number": number})


@pytest.mark.postgres
def test_two_senders_send_each_message_once(team: Team) -> None:
    both = threading.Event()

    def slow(handler: Handler) -> None:
        both.wait(0.05)
        handler.answer(204)

    with receiving(slow) as first, receiving(slow) as second:
        for receiver in (first, second):
            hook_to(receiver, team.project, team.administrator, "erratum.confirmed")
        happen(team, 6)
        # One that finds every webhook occupied ends, and beat starts the next.
        assert lost(race(*[send_due] * 3)) == []
        send_due()
        for receiver in (first, second):
            assert len(receiver.ids) == len(set(receiver.ids)) == 6
    assert set(WebhookDelivery.objects.values_list("state", "attempts")) == {("delivered", 1)}


def test_claims_at_one_moment_get_one_message_of_a_webhook(team: Team) -> None:
    with receiving() as receiver:
        hook_to(receiver, team.project, team.administrator, "erratum.confirmed")
    happen(team, 3)
    now = timezone.now()
    claims = race(*[lambda: claim_next(now=now)] * 4)
    assert lost(claims) == []
    assert len([one for one in claims if one is not None]) == 1


@pytest.mark.postgres
def test_a_webhook_that_a_worker_has_locked_holds_nobody_up(team: Team) -> None:
    with receiving() as receiver:
        webhook, _ = hook_to(receiver, team.project, team.administrator, "erratum.confirmed")
    happen(team)

    def hold() -> None:
        Webhook.objects.select_for_update(no_key=True).get(pk=webhook.pk)

    def write_and_claim() -> WebhookDelivery | None:
        with transaction.atomic():
            happen(team)
        return claim_next()

    _, claimed = overlap(hold, write_and_claim)
    assert claimed is None
    assert WebhookDelivery.objects.count() == 2


def test_a_webhook_is_removed_while_something_happens(team: Team) -> None:
    with receiving() as receiver:
        webhook, _ = hook_to(receiver, team.project, team.administrator, "erratum.confirmed")
    results = race(
        lambda: happen(team, 3), lambda: remove_webhook(actor=team.administrator, webhook=webhook), lambda: send_due()
    )
    assert lost(results) == []
    assert claim_next() is None


def test_a_message_is_sent_again_by_two_at_once(team: Team) -> None:
    with receiving() as receiver:
        hook_to(receiver, team.project, team.administrator, "erratum.confirmed")
        happen(team)
        send_due()
        delivery = WebhookDelivery.objects.select_related("webhook__project").get()
        race(*[lambda: send_again(actor=team.administrator, delivery=delivery)] * 2)
        race(*[send_due] * 2)
        send_due()
        assert len(receiver.ids) == 2


def test_no_project_gets_more_webhooks_than_it_may_have(team: Team) -> None:
    def add() -> Webhook:
        url, events = "https://hooks.example.org/", ["release.frozen"]
        return add_webhook(actor=team.administrator, project=team.project, url=url, events=events)[0]

    for _ in range(MAX_WEBHOOKS - 1):
        add()
    results = race(add, add, add)
    assert (len(won(results)), Webhook.objects.count()) == (1, MAX_WEBHOOKS)
