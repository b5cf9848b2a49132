"""Changes as sentences."""

import copy
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.comparison import diff
from annotator.core.comparison.change_lines import call_text, edge_changes, moves, short_value, shortened_text
from annotator.core.fields import CustomField
from annotator.core.schema import read_document
from annotator.presentation.changes import change_lines, value_as_text
from tests.annotator.case_documents import case
from tests.annotator.document_cases import answer, call, clarification, document, documents, task


def said(before, after, fields=()):
    """The sentences, each with its compared texts if there are any."""
    return [
        line.sentence if line.before is None else (line.sentence, line.before, line.after)
        for line in change_lines(before, after, fields)
    ]


def stock(*steps, **fields):
    return document(task("t1", *steps, **fields))


def test_calls_that_come_and_go_are_one_line_each():
    one = call("s1", "get_stock", arguments={"part": "FA-3018", "site": "LEJ"})
    other = call("s2", "order", [{"id": "s1", "kind": "logical"}], arguments={"n": 12, "as": "12", "to": None})
    (line,) = change_lines(stock(one), stock())
    assert (line.sentence, line.kind, line.go) == ("Removed call get_stock(FA-3018, LEJ)", "removed", "/tasks/t1")
    assert line.raw[0].startswith("{")
    assert line.raw[1] == ""
    assert said(stock(one), stock(one, other)) == ['Added call order(12, "12", null), which needs step s1 (order only)']


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("FA-3018", "FA-3018"),
        ("12", '"12"'),
        (12, "12"),
        (1.0, "1.0"),
        (1, "1"),
        ("", '""'),
        ("true", '"true"'),
        (True, "true"),
        (None, "null"),
        (" x", '" x"'),
        ("a, b", '"a, b"'),
        ("two\nlines", '"two\\nlines"'),
        ({"a": [1, "b"]}, '{"a": [1, "b"]}'),
        ("x" * 50, "x" * 39 + "…"),
    ],
)
def test_a_short_value_shows_its_type(value, text):
    assert short_value(value) == text


def test_a_call_with_many_arguments_is_cut():
    assert call_text("f", {str(n): "x" * 39 for n in range(9)}) == f"f({'x' * 39}, {'x' * 39}, …)"
    assert call_text("f", {}) == "f()"
    assert call_text("f", "{broken") == 'f("{broken")'
    assert shortened_text("one  two\nthree", 9) == "one two…"


def test_an_argument_shows_its_name_and_both_values():
    def with_city(value):
        return stock(call("s1", arguments={"city": value}))

    assert said(with_city("Oslo"), with_city("Oslo East")) == [("Changed argument city", "Oslo", "Oslo East")]
    assert said(with_city(1), with_city(1.0)) == [("Changed argument city", "1", "1.0")]
    assert said(with_city(12), with_city("12")) == [("Changed argument city", "12", '"12"')]
    assert said(with_city("x"), stock(call("s1", arguments={}))) == ["Removed argument city: x"]
    (line,) = change_lines(with_city("Oslo"), with_city("Rome"))
    assert (line.task_title, line.step_title, line.go) == ("Task 1", "call s1 search", "/tasks/t1/steps/s1")
    assert line.inline
    assert line.raw is None


def test_moved_steps_say_from_where_to_where():
    steps = [call("s1", "a", arguments={}), call("s2", "b", arguments={}), call("s3", "c", arguments={})]
    after = [steps[0], steps[2], steps[1]]
    assert said(stock(*steps), stock(*after)) in (
        ["Moved call c() from place 3 to 2"],
        ["Moved call b() from place 2 to 3"],
    )
    assert [(m.id, m.before, m.after) for m in moves("abcd", "dabc")] == [("d", 4, 1)]
    assert [(m.id, m.before, m.after) for m in moves("xab", "ba")] == [("b", 3, 1)]


def test_dependencies_are_listed_one_by_one_in_the_words_of_the_editor():
    a, b = call("s1", arguments={}), call("s2", arguments={})

    def needing(depends_on):
        return stock(a, b, call("s3", arguments={}, depends_on=depends_on))

    flow, order = {"id": "s1", "kind": "parameter"}, {"id": "s2", "kind": "logical"}
    assert said(needing([flow]), needing([order])) == [
        "Removed dependency: step s3 needs step s1 (passes a value)",
        "Added dependency: step s3 needs step s2 (order only)",
    ]
    assert said(needing([flow]), needing([{**flow, "kind": "logical"}])) == [
        ("Changed dependency of step s3 on step s1", "passes a value", "order only")
    ]
    assert said(needing(None), needing([])) == ["Annotated the dependencies of step s3"]
    assert value_as_text("/tasks/t1/steps/s3/depends_on", [flow]) == "step s1 (passes a value)"
    assert edge_changes([flow, flow], [flow]) == []


def test_labels_have_their_labels():
    before, after = stock(policy="single_tool", information=None), stock(policy="multi_tool", information="explicit")
    assert said(before, after) == [
        ("Changed policy", "Single-tool", "Multi-tool"),
        "Annotated information: Explicit",
    ]
    tone = CustomField.model_validate(
        {
            "key": "tone", "title": "Tone", "scope": "task", "type": "choice",
            "options": [{"value": "fr", "title": "Friendly"}, {"value": "cu", "title": "Curt"}],
        }
    )  # fmt: skip
    assert said(stock(labels={"tone": "fr"}), stock(labels={"tone": "cu"}), [tone]) == [
        ("Changed “Tone”", "Friendly", "Curt")
    ]
    assert said(stock(labels={"tone": "fr"}), stock(), [tone]) == ["Removed “Tone”: Friendly"]


def test_other_steps_and_tasks():
    question, end = clarification("s1", "Which city?"), answer("s2", "Done.")
    assert said(stock(question), stock(end)) == ["Removed question “Which city?”", "Added answer “Done.”"]
    same_id = {**answer("s1", "Done.")}
    assert said(stock(question), stock(same_id)) == ["Replaced question “Which city?” with answer “Done.”"]
    two = document(task("t1"), task("t2", user_message="And now?"))
    assert said(document(task("t1")), two) == ["Added task t2 “And now?”"]


def test_constrained_cases_have_lines_too():
    before, after = case(), copy.deepcopy(case())
    gone = after["constraints"].pop(0)
    after["reference_trajectory"][0]["calls"][0]["arguments"]["new"] = 1
    sentences = said(before, read_document(after))
    assert f"Removed constraint “{shortened_text(gone['text'], 100)}”" in sentences
    assert "Added argument new: 1" in sentences


@given(documents(), documents())
def test_no_change_is_lost(one, other):
    lines = change_lines(one, other)
    assert {line.anchor for line in lines} == {change.anchor for change in diff(one, other)}
    for line in lines:
        assert line.sentence
        assert (line.before is None) == (line.after is None)
        assert line.before is None or line.before != line.after


@given(st.lists(st.integers(0, 30), unique=True), st.lists(st.integers(0, 30), unique=True))
def test_what_did_not_move_keeps_its_order(one, other):
    before, after = [str(n) for n in one], [str(n) for n in other]
    common = [key for key in before if key in after]
    moved = {move.id for move in moves(before, after)}
    assert moved <= set(common)
    if common == [key for key in after if key in before]:
        assert not moved


def test_a_long_list_is_compared_in_bounded_time():
    ids = [str(n) for n in range(20_000)]
    start = time.perf_counter()
    assert len(moves(ids, [*ids[1:], ids[0]])) == 1
    moves(ids, ids[::-1])
    assert time.perf_counter() - start < 5
