"""Setup for the tests of gold items: a large enough team, a verified dialogue, and the item made from it."""

import itertools
from copy import deepcopy
from typing import Any

from annotator.models import Dialogue, User
from annotator.models.content import DialogueStatus
from reviews.core.protocols import Entry, EntryMode, load_preset
from reviews.models import Claim, GoldItem
from reviews.services.gold.creation import make_gold_item
from reviews.services.gold.settings import set_gold_rate
from reviews.services.protocols.versions import adopt_protocol
from reviews.services.queue.claims import claim_next
from reviews.services.submission.submit import submit_review
from tests.factories import (
    Team,
    changed,
    claim_and_submit,
    current,
    make_document,
    make_item,
    make_team,
)

STAGE = "cross_check"
_numbers = itertools.count(1)


def gold_team(*, annotators: int = 6) -> Team:
    """A team under ``c3`` without the audit, so that what passes the cross-check is verified at once.

    The first three annotators make the dialogues; the others take part in none.
    """
    team = make_team(annotators=annotators)
    preset = load_preset("c3")
    expert = preset.stages[-1].model_copy(update={"entry": Entry(mode=EntryMode.ESCALATED_AND_FRACTION)})
    expert = expert.model_copy(update={"send_back": None})
    protocol = preset.model_copy(update={"stages": (*preset.stages[:-1], expert)})
    adopt_protocol(actor=team.administrator, project=team.project, protocol=protocol)
    return team


def verified(team: Team, *, fix: str = "It is sunny, 18 degrees.", external_id: str = "", tag: str = "") -> Dialogue:
    """A verified dialogue whose cross-checkers made the same fix; with a blank ``fix`` they approved it as it was.

    ``tag``: of its texts, as the factory's; else they hold its id.
    """
    # Gold items are named after it: so no later dialogue of a test gets the same name.
    document = make_document(tag) if tag else None
    item = make_item(team, STAGE, document, external_id=external_id or f"source-{next(_numbers)}-0000001")
    for person in team.annotators[1:3]:
        if fix:
            claim_and_submit(person, item, "fix", document=changed(current(item), fix))
        else:
            claim_and_submit(person, item, "approve")
    item.refresh_from_db()
    assert item.status == DialogueStatus.VERIFIED
    return item


def make_gold(team: Team, source: Dialogue | None = None, **more: Any) -> GoldItem:
    """A gold item of the cross-check."""
    return make_gold_item(
        actor=team.administrator, project=team.project, source=source or verified(team), stage=STAGE, **more
    )


def always(team: Team, rate: float = 0.5) -> None:
    """Mix gold in; with ``certain``, at every claim."""
    set_gold_rate(actor=team.administrator, project=team.project, stage=STAGE, rate=rate)


def certain(monkeypatch: Any, team: Team) -> None:
    """Let everybody's every claim be due."""
    always(team)
    monkeypatch.setattr("reviews.services.queue.gold_claims.is_due", lambda secret, **turn: True)


def take(person: User, team: Team) -> Claim:
    """The person's next claim in the cross-check."""
    claim = claim_next(actor=person, project=team.project, stage=STAGE)
    assert claim is not None
    return claim


def answer_with(person: User, claim: Claim, verdict: str, **more: Any) -> Any:
    """Submit what the person holds."""
    if verdict in ("reject", "escalate"):
        more.setdefault("reason", "It cannot be saved.")
    return submit_review(actor=person, slot=claim.slot, token=claim.token, verdict=verdict, **more)


def planted(document: dict[str, Any]) -> dict[str, Any]:
    """A copy whose answer waits for the call, but not for a value of it: no check calls that an error."""
    copy = deepcopy(document)
    copy["tasks"][0]["steps"][1]["depends_on"][0]["kind"] = "logical"
    return copy
