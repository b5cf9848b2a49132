"""Texts and observations with parts of them marked, and rows of where values come from."""

import json
import re

from hypothesis import given
from hypothesis import strategies as st

from annotator.core.provenance import trace
from annotator.core.schema.toolsets import CompiledToolset
from annotator.presentation.components.jinja import macros
from annotator.presentation.components.json_text import pretty_json
from annotator.presentation.components.marking import Mark, excerpt, marked_json, marked_text, value_at
from annotator.presentation.components.sources import MAX_ROWS, marked_sources, value_rows
from tests.annotator.document_cases import call, document, task

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def json_html(value):
    return macros("values").json(value)


def marks(html):
    return re.findall(r'<mark class="source">(.*?)</mark>', html)


def test_a_text_is_escaped_and_overlapping_marks_are_one():
    html = marked_text("<b> & Oslo", [Mark((0, 3)), Mark((2, 5)), Mark((6, 10))])
    assert html == (
        '<mark class="source">&lt;b&gt; &amp;</mark> <mark class="source">Oslo</mark>'
    )  # fmt: skip
    assert marked_text("Oslo", [Mark((9, 12))]) == "Oslo"
    assert marks(marked_text("Oslo", [Mark(None)])) == ["Oslo"]


def test_an_observation_is_marked_at_its_paths():
    value = {"rows": [{"id": "ZX-9, ZX-10", "n": 12.5, "ok": True}], "a/b": "<x>"}
    html = marked_json(value, [Mark((0, 4), "/rows/0/id"), Mark((0, 4), "/rows/0/n"), Mark(None, "/a~1b")])
    assert marks(html) == ["ZX-9", "12.5", "&lt;x&gt;"]
    assert re.sub(r"</?mark[^>]*>", "", html) == (json_html(value))


def test_marks_move_no_line():
    # Just short enough for one line, with or without the signs of the mark.
    value = {"a": "x" * 12, "b": "y" * 10}
    assert "\n" not in pretty_json(value)
    assert "\n" not in marked_json(value, [Mark((0, 1), "/a"), Mark((3, 4), "/b")])


def test_signs_of_our_own_in_a_text_are_left_alone():
    assert marked_json({"a": "\ue000x"}, [Mark((0, 1), "/a")]) == json_html({"a": "\ue000x"})


@given(VALUES)
def test_nothing_marked_is_nothing_changed(value):
    assert marked_json(value, []) == json_html(value)


@given(VALUES)
def test_what_is_marked_is_still_the_same_text(value):
    html = marked_json({"a": value}, [Mark(None, "/a")])
    plain = json_html({"a": value})
    assert re.sub(r"<[^>]*>", "", html) == re.sub(r"<[^>]*>", "", plain)


def test_an_excerpt_is_one_line_around_the_mark():
    assert excerpt("one\ntwo three", (4, 7)) == 'one <mark class="source">two</mark> three'
    long = excerpt("a" * 100 + "Oslo" + "b" * 100, (100, 104))
    assert long.startswith("…" + "a" * 36 + "<mark")
    assert long.endswith("b" * 36 + "…")
    assert marks(excerpt("x" * 500, None)) == ["x" * 120 + "…"]


def test_a_place_that_is_gone_is_nothing():
    assert value_at({"a": [1]}, "/a/0") == 1
    assert value_at({"a": [1]}, "/a/7") is None
    assert value_at("text", "/a") is None
    assert value_at("text", "") == "text"


def test_the_values_of_a_call():
    data = document(
        task(
            "t1",
            call("s1", arguments={"city": "Oslo"}, observation={"rows": [{"id": "ZX-9"}]}),
            call("s2", arguments={"filters": {"ids": ["ZX-9"], "n": 77}}, inferable={"/filters/n": "a rule"}),
            user_message="Take me to Oslo.",
        ),
        env_info="2026-05-01",
    )
    found = trace(data, CompiledToolset.of('{"tools":[]}'))
    (row,) = value_rows(found.call("t1", "s1"), data)
    assert (row.name, row.path, row.origin) == ("city", "/city", "message")
    assert row.sources[0].excerpt == 'Take me to <mark class="source">Oslo</mark>.'
    first, second = value_rows(found.call("t1", "s2"), data)
    assert (first.name, first.path, first.sources[0].step, first.sources[0].path) == (
        "filters › ids › 1", "/filters/ids/0", "s1", "/rows/0/id"
    )  # fmt: skip
    assert (second.origin, second.reason, second.value) == ("inferable", "a rule", "77")
    ((place, html),) = marked_sources(found, data, "/tasks/t1/steps/s2/arguments/filters")
    assert place == "/tasks/t1/steps/s1/observation"
    assert marks(html) == ["ZX-9"]
    assert marked_sources(found, data, "/tasks/t1/steps/s2/arguments/other") == []
    assert json.dumps(data)


def test_of_a_call_of_many_values_the_first_rows_are_shown_and_those_that_stand_nowhere_before_all():
    values = [f"Oslo {n}" for n in range(MAX_ROWS)]
    data = document(task("t1", call("s1", arguments={"a": [*values, "Graz"]}), user_message=", ".join(values)))
    rows = value_rows(trace(data, CompiledToolset.of('{"tools":[]}')).call("t1", "s1"), data)
    assert (len(rows), rows.total, rows[0].value, rows[0].origin) == (MAX_ROWS, MAX_ROWS + 1, "Graz", "nowhere")


def test_thousands_of_marks_in_thousands_of_values_are_set_in_one_walk():
    """Each value was held against each mark."""
    calls = []

    class Counted(str):
        def startswith(self, *given):
            calls.append(given)
            return super().startswith(*given)

    value = [f"H-{n}" for n in range(3_000)]
    html = marked_json(value, [Mark(None, Counted(f"/{n}")) for n in range(3_000)])
    assert len(marks(html)) == 3_000
    assert not calls
