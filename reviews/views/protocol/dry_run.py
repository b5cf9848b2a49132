"""The dry run beside the editor of the protocol: estimated work from assumptions, typed or known."""

from dataclasses import fields, replace
from typing import Any

from django.utils.translation import gettext_lazy

from annotator.views.pages import PageRequest
from reviews.core.protocols import Protocol
from reviews.core.protocols.estimating import Assumption
from reviews.services.simulation import dry_runs

#: Items a dry run can be asked for.
MAX_ITEMS = 10_000_000


def read_dry_run(request: PageRequest, found: Protocol) -> dict[str, Any]:
    """Return the estimated work for the team and its assumptions, as typed or else as known."""
    posted = request.POST
    known, measured = dry_runs.assumptions_for(project=request.project, protocol=found)
    items = _number(posted.get("run:items"), dry_runs.usual_items(request.project), MAX_ITEMS)
    assumptions: dict[str, Assumption] = {}
    for stage in found.stages:
        typed = {}
        for one in fields(Assumption):
            name, unit = f"run:{stage.key}:{one.name}", 1 if one.name == "minutes" else 100
            value = _number(posted.get(name), None, 100_000 if unit == 1 else 100)
            if value is not None:
                typed[one.name] = value / unit
        assumptions[stage.key] = replace(known[stage.key], **typed)
    result, people = dry_runs.dry_run(
        project=request.project, protocol=found, items=int(items), assumptions=assumptions
    )
    heads = {name: str(label) for name, label in _ASSUMED.items()}
    rows = [
        {
            "stage": stage,
            "measured": stage.key in measured,
            "inputs": [
                {
                    "name": f"run:{stage.key}:{one.name}",
                    "label": f"{heads[one.name]}, {stage.title}",
                    "value": f"{getattr(assumptions[stage.key], one.name) * (1 if one.name == 'minutes' else 100):g}",
                }
                for one in fields(Assumption)
                if one.name in _ASSUMED
            ],
        }
        for stage in result.stages
    ]
    return {"items": int(items), "people": people, "result": result, "rows": rows, "heads": list(heads.values())}


_ASSUMED = {
    "fix": gettext_lazy("Fix (%)"),
    "reject": gettext_lazy("Reject (%)"),
    "escalate": gettext_lazy("Escalate (%)"),
    "minutes": gettext_lazy("Minutes per review"),
}


def _number(text: str | None, otherwise: Any, most: float) -> Any:
    try:
        value = float((text or "").replace(",", "."))
    except ValueError:
        return otherwise
    return min(max(value, 0.0), most) if value == value else otherwise
