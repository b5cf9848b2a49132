"""Which questions of a checklist are asked, which must be answered, and what older versions of a protocol keep."""

import json
from typing import Any

from annotator.core.schema import canonical, content_hash
from reviews.core.protocols import Applies, Checklist, ChecklistItem, load_preset, questions_about, read_protocol
from reviews.core.protocols.differences import describe_protocol_changes
from tests.factories import make_document

CHECKLIST = Checklist(
    items=(
        ChecklistItem(key="differ", text="The tasks differ", per_task=False, applies=Applies.SEVERAL_TASKS),
        ChecklistItem(key="memory", text="Earlier tasks are used", applies=Applies.LATER_TASKS),
        ChecklistItem(key="calls", text="The arguments fit", applies=Applies.HAS_CALLS),
        ChecklistItem(key="tone", text="It sounds right", required=True),
    )
)


def asked(document: dict[str, Any]) -> list[tuple[str, str, bool]]:
    return [(one.place, one.item.key, one.required) for one in questions_about(CHECKLIST, document)]


def test_a_question_is_asked_where_it_applies() -> None:
    assert asked(make_document()) == [("t1", "calls", False), ("t1", "tone", True)]
    # The second task calls no tool.
    assert asked(make_document(tasks=2)) == [
        ("dialogue", "differ", False),
        ("t1", "calls", False),
        ("t1", "tone", True),
        ("t2", "memory", False),
        ("t2", "tone", True),
    ]
    whole = Checklist(items=(ChecklistItem(key="x", text="x", per_task=False, applies=Applies.HAS_CALLS),))
    case = {"kind": "constrained", "reference_trajectory": [{"id": "r1", "calls": [{"id": "s1"}]}]}
    assert len(questions_about(whole, case)) == 1
    assert questions_about(whole, case | {"reference_trajectory": None}) == []


def test_a_checklist_that_requires_answers_requires_all_of_them() -> None:
    strict = CHECKLIST.model_copy(update={"required": True})
    assert all(one.required for one in questions_about(strict, make_document(tasks=2)))


def test_a_version_from_before_conditions_keeps_its_text_and_hash() -> None:
    protocol = load_preset("c3")
    items = [item for stage in protocol.model_dump(mode="json")["stages"] for item in stage["checklist"]["items"]]
    assert {"key": "facts", "text": items[1]["text"], "per_task": True} == items[1]
    old = json.loads(canonical(protocol.model_dump(mode="json")))
    for stage in old["stages"]:
        for item in stage["checklist"]["items"]:
            item.pop("applies", None)
    again = canonical(read_protocol(old).model_dump(mode="json"))
    assert content_hash(again) == content_hash(canonical(old))


def test_conditions_and_required_questions_are_listed_as_differences() -> None:
    before = load_preset("c3")
    stage = before.stages[0]
    facts = stage.checklist.items[1].model_copy(update={"required": True, "applies": Applies.HAS_CALLS})
    items = (stage.checklist.items[0], facts, *stage.checklist.items[2:])
    changed = stage.model_copy(update={"checklist": stage.checklist.model_copy(update={"items": items})})
    after = before.model_copy(update={"stages": (changed, *before.stages[1:])})
    [found] = describe_protocol_changes(before, after)
    assert found.after.endswith("(for each task, where a tool is called, required)")
