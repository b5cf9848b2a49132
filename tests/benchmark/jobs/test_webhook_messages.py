"""What webhooks are told: one message for each thing that happened, without content and without people."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from annotator.core.schema.exact_json import loads
from annotator.models import CHOSEN_EVENTS, Dialogue, Event, Webhook, WebhookDelivery
from annotator.services.history.event_chain import extend_chains
from annotator.services.history.events import append_event
from annotator.services.webhooks.hooks import add_webhook, change_webhook
from benchmark.models import ImportBatch
from benchmark.services.runs.errata import add_erratum
from reviews.services.sampling.draws import close_population_and_draw
from tests.benchmark.conftest import candidates, make_verified, run_release
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    claim_and_submit,
    make_dialogue,
    make_dialogues,
    make_item,
    make_team,
)

pytestmark = pytest.mark.django_db

RunImport = Callable[..., ImportBatch]
ALL = [value for value, _label in CHOSEN_EVENTS]


@pytest.fixture
def hook(team: Team) -> Webhook:
    return listen(team)


def listen(team: Team, *events: str) -> Webhook:
    url = "https://hooks.example.org/"
    return add_webhook(actor=team.administrator, project=team.project, url=url, events=events or ALL)[0]


def told() -> list[dict[str, Any]]:
    return [loads(body) for body in WebhookDelivery.objects.order_by("pk").values_list("body", flat=True)]


def test_an_import_is_one_message(hook: Webhook, run_import: RunImport) -> None:
    batch = run_import(candidates(3))
    [message] = told()
    assert message["type"] == "import.finished"
    counts = {"read": 3, "created": 3, "revised": 0, "unchanged": 0, "rejected": 0, "with_errors": 0}
    page = f"http://localhost:8000/p/{batch.project.slug}/imports/{batch.public_id}/"
    assert message["data"] == {"import": {"id": batch.public_id, "url": page}, "counts": counts}
    run_import(candidates(1, start=3), dry_run=True)
    assert len(told()) == 1


def test_an_import_that_fails_is_a_message_unless_it_is_a_dry_run(hook: Webhook, run_import: RunImport) -> None:
    run_import(content=b"\x1f\x8bbroken", filename="a.jsonl.gz", dry_run=True)
    assert told() == []
    batch = run_import(content=b"\x1f\x8bbroken", filename="a.jsonl.gz")
    [message] = told()
    assert (message["type"], message["data"]["import"]["id"]) == ("import.failed", batch.public_id)


def test_a_verified_and_an_escalated_dialogue_are_messages_without_content_or_people(team: Team, hook: Webhook) -> None:
    dialogue = make_verified(team, "trip-12")
    [message] = told()
    assert message["type"] == "dialogue.verified"
    page = f"http://localhost:8000/p/{team.project.slug}/dialogues/{dialogue.public_id}/"
    data = message["data"]
    assert data["dialogue"] == {"id": dialogue.public_id, "external_id": "trip-12", "url": page}
    assert (data["cycle"], data["content_hash"]) == (1, dialogue.content_hash)

    item = make_item(team, "cross_check")
    claim_and_submit(team.annotators[1], item, "escalate")
    # The stage is blind: nothing is said before it has settled.
    assert len(told()) == 1
    claim_and_submit(team.annotators[2], item, "escalate")
    message = told()[1]
    assert (message["type"], message["data"]["stage"]) == ("dialogue.escalated", "cross_check")
    bodies = " ".join(WebhookDelivery.objects.values_list("body", flat=True))
    for person in team.everybody:
        for name in (person.public_id, person.pseudonym, person.username, str(person)):
            assert name not in bodies
    assert dialogue.head is not None
    assert dialogue.head.document()["tasks"][0]["user_message"] not in bodies


def test_a_draw_that_verifies_many_is_a_message_for_each() -> None:
    team = make_team(annotators=4)
    adopt_c3(team)
    listen(team, "dialogue.verified")
    for _ in range(3):
        item = make_dialogue(team.project)
        begin(team.project, [item])
        for person, verdict in zip((0, 0, 1, 2), ("", "", "approve", "approve"), strict=True):
            claim_and_submit(team.annotators[person], item, verdict)
    assert told() == []
    drawn = close_population_and_draw(actor=team.administrator, project=team.project)
    assert drawn is not None
    passed = Dialogue.objects.filter(status="verified").values_list("public_id", flat=True)
    assert len(passed) == 2
    assert sorted(message["data"]["dialogue"]["id"] for message in told()) == sorted(passed)


def test_alarms_say_what_and_not_who(team: Team, hook: Webhook) -> None:
    append_event(
        actor=None, project=team.project, kind="protocol.discrepancy_alarm",
        after={"stage": "cross_check", "title": "Cross-check", "discrepant": 3, "compared": 10, "rate": 0.3,
               "above": 0.2},
    )  # fmt: skip
    append_event(
        actor=None, project=team.project, kind="stratum.sent_back",
        after={"draw": "d", "stage": "expert", "number": 1, "owner": team.annotator.public_id, "audited": 5,
               "errors": 2, "items": 9},
    )  # fmt: skip
    first, second = told()
    assert first["type"] == second["type"] == "alarm.raised"
    assert (first["data"]["alarm"], first["data"]["rate"]) == ("discrepancies", 0.3)
    assert second["data"] == {
        "alarm": "errors_in_sample", "stage": "expert", "draw": "d", "audited": 5, "errors": 2, "items": 9
    }  # fmt: skip


def test_releases_and_errata_are_messages(team: Team, run_import: RunImport) -> None:
    make_verified(team, "one")
    listen(team, "release.frozen", "release.failed", "erratum.confirmed")
    release = run_release(team)
    Dialogue.objects.update(status="rejected")
    failed = run_release(team, "2.0")
    add_erratum(actor=team.administrator, release=release, item="one", severity="major", reason="The answer is wrong.")
    frozen, lost, erratum = told()
    page = f"http://localhost:8000/p/{team.project.slug}/releases/{release.public_id}/"
    assert frozen["data"] == {
        "release": {"id": release.public_id, "version": "1.0", "url": page}, "items": 1, "sha256": release.sha256
    }  # fmt: skip
    assert (lost["type"], lost["data"]["release"]["id"]) == ("release.failed", failed.public_id)
    assert erratum["data"] == {"number": 1, "severity": "major", "release": frozen["data"]["release"]}


def test_a_message_is_written_with_its_event_or_not_at_all(team: Team, hook: Webhook) -> None:
    with transaction.atomic():
        append_event(actor=None, project=team.project, kind="erratum.confirmed", after={"erratum": "e1"})
        transaction.set_rollback(True)
    assert (told(), Event.objects.filter(kind="erratum.confirmed").count()) == ([], 0)


def test_only_webhooks_that_are_on_and_want_an_event_get_it(team: Team) -> None:
    other = make_team()
    quiet, wanted, off = listen(team, "release.frozen"), listen(team, "erratum.confirmed"), listen(team)
    listen(other)
    change_webhook(actor=team.administrator, webhook=off, active=False)
    append_event(actor=None, project=team.project, kind="erratum.confirmed", after={"erratum": "e1"})
    append_event(actor=None, project=team.project, kind="guideline.published", after={"number": 1})
    assert [one.webhook_id for one in WebhookDelivery.objects.all()] == [wanted.pk]
    assert quiet.deliveries.count() == 0


def test_gold_items_and_sealed_events_are_in_no_message(team: Team, hook: Webhook) -> None:
    gold, plain = make_dialogue(team.project, gold_role="gold"), make_dialogue(team.project)
    after = {"cycle": 1, "content_hash": "x"}
    append_event(actor=None, project=team.project, dialogue=gold, kind="cycle.verified", after=after)
    append_event(actor=None, project=team.project, dialogue=plain, kind="cycle.verified", after=after, sealed=True)
    assert told() == []
    both = {gold.pk: after, plain.pk: after}
    extend_chains(actor=None, project=team.project, kind="cycle.verified", entries=both)
    assert [one["data"]["dialogue"]["id"] for one in told()] == [plain.public_id]


def test_a_project_without_webhooks_pays_one_query_where_there_could_be_a_message(team: Team) -> None:
    def cost(kind: str, dialogues: list[Dialogue] | None = None) -> int:
        with CaptureQueriesContext(connection) as captured:
            if dialogues is None:
                append_event(actor=None, project=team.project, kind=kind, after={"outcome": "pass"})
            else:
                entries = {one.pk: {"outcome": "pass"} for one in dialogues}
                extend_chains(actor=None, project=team.project, kind=kind, entries=entries)
        return len(captured)

    nothing = cost("guideline.published")
    assert cost("stage.settled") == nothing
    assert cost("erratum.confirmed") == nothing + 1
    few, many = make_dialogues(team.project, 2), make_dialogues(team.project, 30)
    assert cost("cycle.verified", few) == cost("slot.opened", few) + 1
    # The webhooks, the dialogues and the rows are one statement each.
    for _ in range(2):
        listen(team)
    cost("cycle.verified", few)
    assert cost("cycle.verified", few) == cost("cycle.verified", many)
