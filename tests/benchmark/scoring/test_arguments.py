"""The comparers of arguments: published outcomes, and cases by hand."""

import json
import sys

import pytest

from benchmark.core.scoring.arguments import published_c3, published_cctu, published_wild
from benchmark.core.scoring.arguments.similarity import (
    MAX_CELLS,
    TextsTooLong,
    edit_ratio,
    require_libraries,
    rouge_by_words,
    words,
)

FUNCTION = {
    "name": "find",
    "parameters": {
        "type": "object",
        "properties": {
            "q": {"type": "string"},
            "n": {"type": "integer", "description": "How many, 10 by default; null for all."},
            "x": {"type": "number"},
            "kind": {"type": "string", "enum": ["new", "old"]},
            "tags": {"type": "array", "items": {"type": "string"}},
            "free": {"type": "object"},
            "place": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
            "either": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
        },
        "required": ["q"],
    },
}
TOO_LOW = "error_match: string similarity too low"
LONG = "the quick brown fox jumps over the lazy dog"


def wild(predicted, due):
    text = predicted if isinstance(predicted, str) else json.dumps({"q": "a", **predicted})
    return str(published_wild.compare(FUNCTION, text, {"q": "a", **due}))


def test_every_published_outcome_agrees(shared_data):
    seen = 0
    for line in (shared_data / "parity" / "arguments.jsonl").read_text().splitlines():
        row = json.loads(line)
        text = json.dumps(row["predicted"], ensure_ascii=False)
        found = str(published_wild.compare(row["function"], text, row["reference"]))
        # The published text goes on with the keys, in an order that differs from run to run.
        expected = row["outcome"].partition(" (missing")[0].partition(" (extra")[0]
        assert found == expected, line
        seen += 1
    assert seen == 400


@pytest.mark.parametrize(
    ("predicted", "due", "expected"),
    [
        ({"n": 5}, {"n": 5}, "correct"),
        ({"x": 5}, {"x": 5.0}, "error_match: value type inconsistent at 'x'"),
        ({"n": True}, {"n": 1}, "error_match: value type inconsistent at 'n'"),
        ({"n": "5"}, {"n": 5}, "error_schema: nested args type inconsistent"),
        ({"kind": "odd"}, {"kind": "new"}, "error_schema: nested args value not in enum"),
        ({"place": {}}, {"place": {"city": "a"}}, "error_schema: required nested args missing"),
        ({"place": {"city": "a", "y": 1}}, {"place": {"city": "a"}}, "error_schema: nested args not defined"),
        ({"free": {"any": 1}}, {"free": {"any": 1}}, "error_schema: nested args not defined"),
        ({"other": 1}, {}, "error_schema: args not defined"),
        ({"n": 10}, {}, "error_match: args keys mismatch"),
        ({"tags": ["a"]}, {"tags": ["a", "b"]}, "error_match: array length mismatch at 'tags'"),
        ({"tags": ["b", "a"]}, {"tags": ["a", "b"]}, f"{TOO_LOW} at 'tags[0]' (edit score: 0.00)"),
        ({"either": "7"}, {"either": "7"}, "correct"),
        ({"either": []}, {"either": 7}, "error_schema: nested args type inconsistent"),
        ({"tags": ["New  YORK"]}, {"tags": ["new york"]}, "correct"),
        # Nine of ten letters are the same, but no word is.
        ({"tags": ["tickets"]}, {"tags": ["ticket"]}, f"{TOO_LOW} at 'tags[0]' (rouge score: 0.00)"),
        ({"tags": [f"{LONG} again"]}, {"tags": [LONG]}, "correct"),
        ({"tags": ["..."]}, {"tags": [LONG]}, "error_match: rouge calculation failed at 'tags[0]'"),
        ("{", {}, "error: args invalid json format"),
        ("[]", {}, "error_schema: args type inconsistent"),
        ('{"n": 1}', {"n": 1}, "error_schema: required args missing"),
    ],
)  # fmt: skip
def test_wildtoolbench_checks_the_schema_then_the_reference(predicted, due, expected):
    assert wild(predicted, due) == expected


def test_an_unknown_tool_is_said_to_be_unknown():
    assert str(published_wild.compare(None, "{}", {})) == published_wild.UNKNOWN_TOOL


def c3(predicted, due):
    found = published_c3.compare(FUNCTION, {"q": "a", **predicted}, {"q": "a", **due})
    return round(found.score, 6), found.errors


@pytest.mark.parametrize(
    ("predicted", "due", "expected"),
    [
        ({"n": 5}, {"n": 5.0}, (1, ())),
        ({"n": 6}, {"n": 5}, (0.5, ("param value error",))),
        ({"n": True}, {"n": 1}, (0.5, ("type error",))),
        # Left out costs nothing; added counts if the description names the value.
        ({}, {"n": 5}, (1, ())),
        ({"n": 10}, {}, (1, ())),
        ({"n": None}, {}, (1, ())),
        ({"n": 11}, {}, (0.5, ("param value hallucination",))),
        ({"other": 1}, {}, (0.5, ("param hallucination",))),
        ({"tags": ["b", "a"]}, {"tags": ["a", "b"]}, (1, ())),
        ({"tags": ["a"]}, {"tags": ["a", "b"]}, (0.5, ("param value error",))),
        ({"place": {"city": "a", "y": 1}}, {"place": {"city": "a"}}, (0.5, ("param hallucination",))),
        ({"kind": "1.5,2.5"}, {"kind": "3.0,4.0"}, (1, ())),
        # Two words and a space of three, in both: 2 · 2 / (3 + 3).
        ({"kind": "old town"}, {"kind": "old city"}, ((1 + 2 / 3) / 2, ("param value error",))),
    ],
)  # fmt: skip
def test_c3_takes_the_mean_over_what_was_predicted(predicted, due, expected):
    assert c3(predicted, due) == (pytest.approx(expected[0], abs=1e-6), expected[1])


def test_c3_misses_required_arguments_and_cannot_read_an_empty_object():
    assert published_c3.compare(FUNCTION, {"n": 1}, {"q": "a"}).errors == (published_c3.MISSING,)
    optional = {"parameters": {"properties": {"n": {"type": "integer"}}}}
    assert published_c3.compare(optional, {}, {}).score == 1
    with pytest.raises(published_c3.Unreadable):
        published_c3.compare(optional, {}, {"n": 1})
    for text in ("", "{", "[]", "null", "[" * 100_000):
        with pytest.raises(published_c3.Unreadable):
            published_c3.read_arguments(text)


def test_cctu_feedback_is_the_published_one(shared_data):
    rows = (shared_data / "parity" / "scoring_cctu" / "tool_arguments.jsonl").read_text().splitlines()
    for row in map(json.loads, rows):
        tools = {tool["function"]["name"]: tool["function"]["parameters"] for tool in row["tools"]}
        found = published_cctu.check(tools, row["name"], row["arguments"])
        assert (found.feedback if found else None) == row["feedback"]
        assert (list(found.categories) if found else []) == row["categories"]
        assert (found is not None and found.reaches_model) == row["reaches_model"]
    assert len(rows) == 65


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ('{"q": "a"}', None),
        ("{}", "missing required argument(s): q"),
        ('{"q": "a", "z": 1}', "extra argument(s): z"),
        ('{"q": "a", "n": 1.0}', "n: type mismatch, expected integer, got float"),
        ('{"q": "a", "place": {"city": 1, "y": 2}}', "place: extra fields not in schema: y; place.city: type mismatch"),
        (None, "invalid JSON arguments"),
    ],
)
def test_cctu_speaks_of_the_first_stage_that_fails(arguments, told):
    found = published_cctu.check({"find": FUNCTION["parameters"]}, "find", arguments)
    assert found is None if told is None else told in found.detail


def test_long_texts_have_a_bound():
    many = " ".join(map(str, range(2_000)))
    with pytest.raises(TextsTooLong):
        rouge_by_words(many, many + " ")
    with pytest.raises(TextsTooLong):
        words("a" * 200_000)
    assert len(words(many)) ** 2 > MAX_CELLS
    assert (
        str(published_wild.compare(FUNCTION, json.dumps({"q": many + " x y"}), {"q": many})) == published_wild.TOO_LONG
    )
    assert published_c3.compare(FUNCTION, {"q": many + " x"}, {"q": many}).score == 0
    assert edit_ratio("a" * 1_000_000, "aaaaaaaaa") < 0.01


def test_the_rouge_library_can_not_close_a_redirected_standard_error():
    require_libraries()
    from absl import logging

    assert logging.get_absl_handler().python_handler.stream is sys.__stderr__
