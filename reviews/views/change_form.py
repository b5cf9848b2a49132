"""The forms that change dialogues: the selected ones of the list, or one on its own page."""

from typing import Any
from urllib.parse import parse_qsl

from django.http import QueryDict

from annotator.models import Project, User
from annotator.services.saved_views import SAVED, clean_query
from reviews.models import PlanAction, Priority
from reviews.services.assignments import plans
from reviews.services.protocols.versions import current_protocol


def change_form(project: Project, query: QueryDict, chosen: QueryDict | None = None) -> dict[str, Any]:
    """Return what the form below the list needs.

    ``query``: the filters, order and columns of the list, which the form keeps; ``chosen``: what was posted, if it was
    refused.
    """
    posted = QueryDict() if chosen is None else chosen
    people = User.objects.filter(memberships__in=project.memberships.active()).distinct()
    action = posted.get("action", PlanAction.values[0])
    return {
        "kept": parse_qsl(clean_query(query, SAVED)),
        "actions": [(value, label, value == action) for value, label in PlanAction.choices],
        "people": [(one.public_id, str(one)) for one in people.order_by("display_name", "pk")],
        "priorities": Priority.choices,
        "stages": entry_stages(project),
        "dialogues": posted.getlist("dialogue"),
        "to": posted.getlist("to"),
        "anyway": "all_the_same" in posted,
        "values": {name: posted.get(name, "") for name in ("to_priority", "to_stage", "tags", "reason")},
        "all": "all" in posted,
        "most": plans.MAX_SLOTS,
    }


def entry_stages(project: Project) -> list[tuple[str, str]]:
    """Return the stages that dialogues can be sent back to, as (key, title)."""
    protocol = current_protocol(project)
    return [(stage.key, stage.title) for stage in protocol.entry_stages] if protocol else []
