"""Messages to webhooks about reviews."""

from collections.abc import Mapping
from typing import Any

from annotator.models import Project, WebhookEvent
from annotator.services.history.outbox import publishes
from reviews.core.protocols import Outcome


def _named(after: Mapping[str, Any], *names: str) -> dict[str, Any]:
    return {name: after[name] for name in names if name in after}


@publishes("cycle.verified", WebhookEvent.VERIFIED)
def _verified(project: Project, after: Mapping[str, Any]) -> dict[str, Any]:
    return _named(after, "cycle", "content_hash")


# A stage that was blind is open when it has settled.
@publishes("stage.settled", WebhookEvent.ESCALATED, when=lambda after: after.get("outcome") == Outcome.ESCALATE)
def _escalated(project: Project, after: Mapping[str, Any]) -> dict[str, Any]:
    return _named(after, "stage", "round", "content_hash")


@publishes("protocol.discrepancy_alarm", WebhookEvent.ALARM)
def _discrepancies(project: Project, after: Mapping[str, Any]) -> dict[str, Any]:
    figures = _named(after, "stage", "title", "discrepant", "compared", "rate", "above")
    return {"alarm": "discrepancies", **figures}


@publishes("stratum.sent_back", WebhookEvent.ALARM)
def _sent_back(project: Project, after: Mapping[str, Any]) -> dict[str, Any]:
    # Not whose work it is.
    return {"alarm": "errors_in_sample", **_named(after, "stage", "draw", "audited", "errors", "items")}
