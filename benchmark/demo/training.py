"""The training of the demo: three items, and one new member who has not passed yet."""

from collections.abc import Mapping
from typing import Any

from annotator.models import Dialogue, User
from annotator.models.content import DialogueStatus
from benchmark.demo.reviewing import SINGLE, Scenario
from reviews.services.training.decisions import change_training, decide_trainee
from reviews.services.training.items import add_training_item

#: Verified dialogues and the error that is planted in each, which the dialogue itself shows: its task and step, from 0,
#: and what the step says instead. None: nothing is wrong.
ITEMS: Mapping[str, tuple[int, int, Mapping[str, Any]] | None] = {
    "hotel-desk-01": (
        0,
        0,
        # The user said 4 guests.
        {"arguments": {"check_in": "2026-05-15", "check_out": "2026-05-18", "guests": 2, "room_type": "family"}},
    ),
    "clinic-desk-02": None,
    # The user asks about the earlier of two connections, which is CX-20417.
    "rail-travel-01": (1, 0, {"arguments": {"connection_id": "CX-20431"}}),
}


def set_up(scenario: Scenario, *, exempt: User) -> None:
    """Make the items and switch the training on.

    ``exempt``: a member who has not submitted anything yet, but needs no training.
    """
    for name, error in ITEMS.items():
        # A gold item has the ID of its dialogue.
        source = Dialogue.objects.get(project=scenario.project, external_id=name, status=DialogueStatus.VERIFIED)
        assert source.head is not None  # noqa: S101 - it is verified
        document = source.head.document()
        add_training_item(
            actor=scenario.administrator,
            project=scenario.project,
            source=source,
            stage=SINGLE,
            document=with_error(document, *error) if error else None,
        )
    change_training(
        actor=scenario.administrator,
        project=scenario.project,
        stage=SINGLE,
        length=len(ITEMS),
        pass_mark=len(ITEMS) - 1,
        attempts=2,
        enabled=True,
    )
    decide_trainee(actor=scenario.administrator, project=scenario.project, public_id=exempt.public_id, state="exempt")


def with_error(document: Mapping[str, Any], task: int, step: int, wrong: Mapping[str, Any]) -> dict[str, Any]:
    """Return the document with a part of one step replaced."""
    tasks = [dict(one) for one in document["tasks"]]
    steps = list(tasks[task]["steps"])
    steps[step] = {**steps[step], **wrong}
    tasks[task]["steps"] = steps
    return {**document, "tasks": tasks}
