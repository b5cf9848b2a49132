"""The demo's custom fields, with answers of two reviewers who disagree on one, and suggestions of two models."""

from copy import deepcopy
from typing import Any

from annotator.models import Dialogue, Job
from annotator.services.custom_fields import CHECK_JOB, set_fields
from annotator.services.dialogues.suggestions import post_suggestions
from annotator.services.jobs import jobs
from benchmark.demo.reviewing import Scenario, review
from reviews.models import Slot, SlotState

OWN_CHECK, CROSS_CHECK = "self_check_multi", "cross_check"
#: Dialogues whose owner answers the questions; two colleagues check the answers of the first two.
ANSWERED = 3
SUGGESTED = ("warehouse-stock-04", "home-energy-04")
FIELDS: list[dict[str, Any]] = [
    {
        "key": "difficulty",
        "title": "How difficult is this task?",
        "type": "choice",
        "scope": "task",
        "options": [
            {"value": "easy", "title": "Easy"},
            {"value": "medium", "title": "Medium"},
            {"value": "hard", "title": "Hard"},
        ],
    },
    {
        "key": "why_hard",
        "title": "Which words make it difficult?",
        "type": "span",
        "scope": "task",
        "of": "user_message",
        "shown_if": {"key": "difficulty", "values": ["hard"]},
    },
    {
        "key": "natural",
        "title": "How natural is the dialogue?",
        "help": "1: nobody would talk like this. 5: it could be a real conversation.",
        "type": "scale",
        "scope": "dialogue",
        "low": 1,
        "high": 5,
    },
]


def play(scenario: Scenario) -> None:
    """Define the fields, answer them for a few dialogues, and suggest answers for others."""
    project = set_fields(actor=scenario.administrator, project=scenario.project, fields=FIELDS, seen=0)
    jobs.run(Job.objects.get(project=project, kind=CHECK_JOB).pk)
    slots = Slot.objects.filter(project=project, stage=OWN_CHECK, state=SlotState.OPEN).select_related("dialogue")
    for number, slot in enumerate(slots.order_by("pk")[:ANSWERED]):
        dialogue = slot.dialogue
        if dialogue.owner is None:
            continue
        review(scenario, dialogue.owner, dialogue, OWN_CHECK, "fix", document=_answered(dialogue, 0))
        if number == ANSWERED - 1:
            break
        first, second = [person for person in scenario.annotators if person != dialogue.owner][:2]
        review(scenario, first, dialogue, CROSS_CHECK, "approve")
        if number:
            changed = _answered(dialogue, 1)
            review(scenario, second, dialogue, CROSS_CHECK, "fix", document=changed, reason="The last task is hard.")
        else:
            review(scenario, second, dialogue, CROSS_CHECK, "approve")
    post_suggestions(actor=scenario.administrator, project=project, items=_suggestions(project.pk))


def _answered(dialogue: Dialogue, harder: int) -> dict[str, Any]:
    """Return the current document with answers. ``harder``: how many of its last tasks are hard."""
    head = Dialogue.objects.select_related("head").get(pk=dialogue.pk).head
    assert head is not None  # noqa: S101 - it is imported
    document = deepcopy(head.document())
    document["labels"] = {"natural": 4}
    count = len(document["tasks"])
    for number, task in enumerate(document["tasks"]):
        if number < count - harder:
            task["labels"] = {"difficulty": "easy" if number == 0 else "medium"}
        else:
            text = task["user_message"]
            task["labels"] = {
                "difficulty": "hard",
                "why_hard": [{"start": 0, "end": len(text), "text": text}],
            }
    return document


def _suggestions(project: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for dialogue in Dialogue.objects.filter(project=project, external_id__in=SUGGESTED).select_related("head"):
        assert dialogue.head is not None  # noqa: S101 - it is imported
        common: dict[str, Any] = {"dialogue": dialogue.external_id}
        found.append(common | {"place": "/labels/natural", "value": 5, "source": "judge-small", "score": 0.71})
        for task in dialogue.head.document()["tasks"]:
            place = f"/tasks/{task['id']}"
            calls = [step for step in task["steps"] if step["type"] == "call"]
            policy = "multi_tool" if len(calls) > 1 else "single_tool" if calls else "chat"
            hard = "medium" if len(calls) > 1 else "easy"
            found += [
                common | {"place": f"{place}/policy", "value": policy, "source": "rules"},
                common | {"place": f"{place}/labels/difficulty", "value": hard, "source": "judge-small", "score": 0.64},
            ]
    return found
