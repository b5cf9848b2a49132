"""Custom fields: definitions, values in documents, comparison, checks and edits."""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.checks import CheckSettings, run_checks
from annotator.core.comparison import apply_changes, diff, discrepancies, merge, resolve_choices
from annotator.core.comparison.discrepancies import Label, in_reading_order
from annotator.core.editing import EditProblem, apply, can_rebase
from annotator.core.fields import read_fields, stored_fields, value_words
from annotator.core.schema import SchemaProblem, canonical, read_document
from tests.annotator.core.checks.check_cases import TOOLSET
from tests.annotator.document_cases import trip

FIELDS = [
    {
        "key": "difficulty",
        "title": "How hard is it?",
        "type": "choice",
        "scope": "task",
        "required": True,
        "options": [{"value": "easy", "title": "Easy"}, {"value": "hard", "title": "Hard"}],
    },
    {
        "key": "why",
        "title": "Why is it hard?",
        "type": "multi",
        "scope": "call",
        "required": True,
        "options": [{"value": "long", "title": "Long"}, {"value": "vague", "title": "Vague"}],
        "shown_if": {"key": "difficulty", "values": ["hard"]},
    },
    {"key": "quality", "title": "Quality", "type": "scale", "scope": "dialogue", "low": 1, "high": 5},
    {"key": "evidence", "title": "Evidence", "type": "span", "scope": "task", "of": "user_message"},
]


def labelled(labels: dict[str, Any], start: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the trip with labels of its first task."""
    data = copy.deepcopy(start or trip())
    data["tasks"][0]["labels"] = labels
    return read_document(data)


def found(document: dict[str, Any], fields: list[dict[str, Any]] = FIELDS) -> list[tuple[str, str]]:
    settings = CheckSettings(fields=read_fields(fields))
    findings = run_checks(document, TOOLSET, stage="submit", settings=settings)
    return [(one.check, one.anchor) for one in findings if one.check.startswith("field.")]


def test_a_document_without_labels_has_the_content_that_it_always_had() -> None:
    text = canonical(read_document(trip()))
    assert "labels" not in text
    assert canonical(labelled({})) == text


def test_a_set_is_stored_sorted_and_spans_by_their_place() -> None:
    spans = [{"start": 5, "end": 7, "text": "ab"}, {"start": 0, "end": 1, "text": "c"}]
    task = labelled({"why": ["vague", "long", "vague"], "evidence": spans})["tasks"][0]
    assert task["labels"] == {"evidence": spans[::-1], "why": ["long", "vague"]}


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (1.0, "must be a text"),
        (True, "must be a text"),
        ([], "must be a text"),
        (" ", "1 to 10,000 characters"),
        (["a", 1], "start, end and text"),
        ([{"start": 0, "end": 3, "text": "ab"}], "as many characters"),
    ],
)
def test_a_label_of_no_known_form_is_refused_with_a_sentence(value: Any, sentence: str) -> None:
    with pytest.raises(SchemaProblem, match=sentence) as refused:
        labelled({"why": value})
    assert refused.value.problems[0].pointer == "/tasks/0/labels/why"


def test_each_label_is_a_place_of_its_own_even_if_one_side_has_none() -> None:
    before, after = labelled({}), labelled({"difficulty": "hard", "why": ["long", "vague"]})
    places = [(one.anchor, one.label) for one in discrepancies(before, after)]
    assert places == [("/tasks/t1/labels/difficulty", Label.CUSTOM), ("/tasks/t1/labels/why", Label.CUSTOM)]
    assert apply_changes(before, diff(before, after)) == after
    assert apply_changes(after, diff(after, before)) == before


def test_an_argument_called_labels_is_an_argument() -> None:
    left, right = trip(), trip()
    for side, value in ((left, [1, 2]), (right, [1, 3])):
        step = next(one for one in side["tasks"][0]["steps"] if one["type"] == "call")
        step["arguments"]["labels"] = {"why": value}
    (one,) = discrepancies(read_document(left), read_document(right))
    assert one.label is Label.ARGUMENTS
    assert one.anchor.endswith("/arguments/labels/why/1")


def test_labels_are_read_after_the_labels_of_the_task_and_before_its_steps() -> None:
    left, right = trip(), trip()
    right["tasks"][0] |= {"labels": {"difficulty": "hard"}, "policy": "chat", "user_message": "Other words."}
    right["tasks"][0]["steps"] = []
    left, right = read_document(left), read_document(right)
    order = [one.label for one in in_reading_order(left, right, discrepancies(left, right))]
    assert order[:3] == [Label.MESSAGE, Label.POLICY, Label.CUSTOM]


def test_labels_of_two_people_merge_and_only_the_same_label_conflicts() -> None:
    mine, theirs = labelled({"difficulty": "hard", "a": 1}), labelled({"difficulty": "easy", "b": 2})
    result = merge(labelled({}), mine, theirs)
    assert [one.anchor for one in result.conflicts] == ["/tasks/t1/labels/difficulty"]
    assert result.document["tasks"][0]["labels"] == {"a": 1, "b": 2, "difficulty": "hard"}
    chosen = {"/tasks/t1/labels/difficulty": "right", "/tasks/t1/labels/a": "right", "/tasks/t1/labels/b": "left"}
    settled = resolve_choices(labelled({}), mine, theirs, chosen)
    assert settled["tasks"][0]["labels"] == {"difficulty": "easy"}


VALUES = st.one_of(
    st.sampled_from(["easy", "hard"]), st.integers(1, 5), st.lists(st.sampled_from("abc"), min_size=1, max_size=3)
)
LABELS = st.dictionaries(st.sampled_from(["difficulty", "why", "quality"]), VALUES)


@given(LABELS, LABELS)
def test_applying_a_difference_gives_the_other_version(one: Any, other: Any) -> None:
    before, after = labelled(one), labelled(other)
    assert apply_changes(before, diff(before, after)) == after


def test_definitions_are_read_back_as_they_were_stored() -> None:
    fields = read_fields(FIELDS)
    assert read_fields(stored_fields(fields)) == fields
    assert stored_fields(fields) == FIELDS


@pytest.mark.parametrize(
    ("change", "pointer"),
    [
        ((0, {"options": []}), "/0/options"),
        ((0, {"key": "Not a key"}), "/0/key"),
        ((1, {"key": "difficulty"}), "/1/key"),
        ((1, {"shown_if": {"key": "quality", "values": ["1"]}}), "/1/shown_if/key"),
        ((1, {"shown_if": {"key": "difficulty", "values": ["medium"]}}), "/1/shown_if/values"),
        ((1, {"scope": "dialogue"}), "/1/shown_if/key"),
        ((2, {"high": 40}), "/2/low"),
        ((2, {"of": "user_message"}), "/2/of"),
        ((3, {"of": "text"}), "/3/of"),
        # The form of a field writes “value = Title” in one line.
        ((0, {"options": [{"value": "a=b", "title": "A"}]}), "/0/options"),
        ((0, {"options": [{"value": "a", "title": "A\nb"}]}), "/0/options"),
        ((3, {"scope": "call"}), "/3/scope"),
    ],
)
def test_a_definition_that_cannot_work_is_refused_at_its_place(change: tuple[int, Any], pointer: str) -> None:
    fields = copy.deepcopy(FIELDS)
    fields[change[0]] |= change[1]
    with pytest.raises(SchemaProblem) as refused:
        read_fields(fields)
    assert pointer in [one.pointer for one in refused.value.problems]


def test_a_required_field_is_asked_where_its_condition_is_met() -> None:
    first, *others = [task["id"] for task in trip()["tasks"]]
    missing = [("field.missing", f"/tasks/{task}/labels/difficulty") for task in (first, *others)]
    assert found(labelled({})) == missing
    assert found(labelled({"difficulty": "easy"})) == missing[1:]
    calls = [one["id"] for one in trip()["tasks"][0]["steps"] if one["type"] == "call"]
    asked = [("field.missing", f"/tasks/{first}/steps/{call}/labels/why") for call in calls]
    assert found(labelled({"difficulty": "hard"})) == asked + missing[1:]


def test_labels_that_do_not_answer_their_field_are_reported() -> None:
    fields = [field | {"required": False} for field in FIELDS]
    place = "/tasks/t1/labels/"
    spans = [{"start": 0, "end": 3, "text": "???"}]
    labels = {"difficulty": "medium", "evidence": spans, "gone": 3}
    assert set(found(labelled(labels), fields)) == {
        ("field.value", f"{place}difficulty"),
        ("field.span", f"{place}evidence"),
        ("field.unknown", f"{place}gone"),
    }
    document = labelled({})
    document["labels"] = {"quality": 6}
    call = next(one for one in document["tasks"][0]["steps"] if one["type"] == "call")
    call["labels"] = {"why": ["long"]}
    assert found(document, fields) == [
        ("field.value", "/labels/quality"),
        ("field.unknown", f"/tasks/t1/steps/{call['id']}/labels/why"),
    ]


def test_an_edit_sets_and_removes_a_label() -> None:
    place = "/tasks/t1/labels/difficulty"
    after, touched = apply(labelled({}), {"op": "set", "anchor": place, "value": "hard"})
    assert (touched, after["tasks"][0]["labels"]) == (place, {"difficulty": "hard"})
    assert not can_rebase({"op": "set", "anchor": place, "value": "easy"}, labelled({}), after)
    assert can_rebase({"op": "set", "anchor": "/labels/quality", "value": 2}, labelled({}), after)
    cleared, _ = apply(after, {"op": "set", "anchor": place, "value": None})
    assert cleared == labelled({})
    with pytest.raises(EditProblem, match="must be a text"):
        apply(after, {"op": "set", "anchor": place, "value": 1.5})
    with pytest.raises(EditProblem, match="no longer exists"):
        apply(after, {"op": "set", "anchor": "/tasks/t9/labels/difficulty", "value": "hard"})


def test_a_label_in_words_has_the_titles_of_its_options() -> None:
    difficulty, why, quality, evidence = read_fields(FIELDS)
    assert value_words("hard", difficulty) == "Hard"
    assert value_words(["long", "gone"], why) == "Long, gone"
    assert value_words(4, quality) == "4"
    assert value_words([{"start": 2, "end": 4, "text": "no"}], evidence) == "“no” (2–4)"
