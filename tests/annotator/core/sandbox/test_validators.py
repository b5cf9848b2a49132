"""Ready validators, mutations, and the matrix of both."""

import itertools
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.forms.validators import form_fields, read_form_fields
from annotator.core.sandbox import Call, Sandbox
from annotator.core.schema.errors import SchemaProblem
from annotator.core.validators import (
    FORMS,
    Aspect,
    Form,
    RowKind,
    aspects_of,
    fitting,
    judge,
    mutate,
    read_form,
    rows_for,
    suggest,
)
from annotator.core.validators.mutations import resized

TABLE = "Here they are:\n\n| city | people |\n|---|---:|\n| Rome | 2.8 |\n| Oslo | 0.7 |\n\nThat is all."
LIST = "Three cities:\n- **Rome**\n- Oslo\n- Bern\nRome is the largest."
OBJECT = '{"date": "2026-03-31", "city": "Rome"}'
PROSE = "The treaty was signed in Rome on March 31, 2026 by both of them. Nobody else was there to see it."
CHINESE = "条约于2026-03-31在罗马签署。双方都在场。"
REFERENCES = (TABLE, LIST, OBJECT, PROSE, CHINESE)

ACCEPTED = [
    ("json_object", {}, OBJECT),
    ("json_object", {"keys": ["date", "city"]}, OBJECT),
    ("starts_with", {"texts": ["Three"]}, LIST),
    ("starts_with", {"texts": ["A", "The treaty"]}, PROSE),
    ("ends_with", {"texts": ["."]}, LIST),
    ("ends_with", {"texts": ["?", "."]}, TABLE + "\n"),
    ("contains", {"texts": ["rome", "OSLO"], "ignore_case": True}, LIST),
    ("contains", {"texts": ["Rome"]}, PROSE),
    ("lacks", {"texts": ["Paris"]}, PROSE),
    ("bullets", {"at_least": 3, "at_most": 3}, LIST),
    ("bullets", {}, "1. one\n2) two"),
    ("table", {"columns": ["City"], "rows_at_least": 2}, TABLE),
    ("table", {}, "a | b\n--- | ---\n1 | 2"),
    ("table", {}, "| a | b |\n|---|---|\n| x \\| y | |\n||2|"),
    ("table", {"columns": ["name", "`Year`"]}, "| **Name** | Year |\r\n|:-:|---|\r\n| a | b |\r\n"),
    ("markdown", {}, TABLE),
    ("markdown", {"elements": ["bold", "list"]}, LIST),
    ("markdown", {"elements": ["table"]}, TABLE.replace("\n", "\r\n")),
    ("markdown", {"elements": ["heading", "list"]}, "  ## Ports\n1) Rome"),
    ("language", {"language": "en"}, PROSE),
    ("language", {"language": "zh"}, CHINESE),
    ("words", {"at_least": 21, "at_most": 21}, PROSE),
    ("characters", {"at_most": len(CHINESE)}, CHINESE),
    ("date", {"form": "March 31, 2026"}, PROSE),
    ("date", {"form": "2026-03-31"}, OBJECT),
    ("date", {"form": "31 March 2026"}, "on 31 March 2026"),
    ("date", {"form": "March 2026"}, "in March 2026"),
    ("date", {"form": "March 31, 2026"}, "条约于March 31, 2026签署。"),
    ("date", {"form": "03/31/2026"}, "on 03/31/2026"),
    ("case", {"case": "upper"}, "ALL OF IT, 3 TIMES"),
    ("case", {"case": "lower"}, "none of it"),
]
REJECTED = [
    ("json_object", {}, "[1]", "not an object"),
    ("json_object", {}, f"Sure: {OBJECT}", "not JSON"),
    ("json_object", {"keys": ["city", "year"]}, OBJECT, "lacks the key year"),
    ("starts_with", {"texts": ["Answer:"]}, PROSE, "must begin with Answer:"),
    ("ends_with", {"texts": ["?"]}, PROSE, "must end with ?"),
    ("contains", {"texts": ["rome"]}, PROSE, "must contain rome"),
    ("lacks", {"texts": ["ROME"], "ignore_case": True}, PROSE, "must not contain ROME"),
    ("bullets", {"at_least": 4}, LIST, "has 3 list items"),
    ("bullets", {"at_most": 2}, LIST, "has 3 list items"),
    ("bullets", {}, "One\r\n\r\n* * *\r\n- - -\r\nTwo", "has 0 list items"),
    ("json_object", {}, "[" * 100_000, "nested too deeply"),
    ("date", {"form": "March 31, 2026"}, "March 31, 20261", "no date"),
    ("table", {"columns": ["year"]}, TABLE, "lacks the column year"),
    ("table", {"rows_at_least": 3}, TABLE, "has 2 rows"),
    ("table", {}, "a | b\n1 | 2", "no Markdown table"),
    ("table", {}, "a | b\n--|--\n1 | 2 | 3", "different number of columns"),
    ("markdown", {}, PROSE, "uses no Markdown"),
    ("markdown", {"elements": ["heading"]}, LIST, "lacks the Markdown element heading"),
    ("language", {"language": "zh"}, PROSE, "0 % of the letters"),
    ("language", {"language": "en"}, "7", "no letters"),
    ("words", {"at_most": 20}, PROSE, "has 21 words"),
    ("characters", {"at_least": 1000}, PROSE, f"has {len(PROSE)} characters"),
    ("date", {"form": "2026-03-31"}, PROSE, "no date like 2026-03-31"),
    ("date", {"form": "2026-03-31"}, "2026-13-31", "no date"),
    ("case", {"case": "upper"}, PROSE, "entirely in upper case"),
]


@pytest.mark.parametrize(("key", "parameters", "response"), ACCEPTED)
def test_a_form_accepts(key, parameters, response):
    form, complete = read_form(key, parameters)
    assert form.accepts(response, complete)[0] is True


@pytest.mark.parametrize(("key", "parameters", "response", "why"), REJECTED)
def test_a_form_rejects_and_says_why(key, parameters, response, why):
    form, complete = read_form(key, parameters)
    accepted, message = form.accepts(response, complete)
    assert accepted is False
    assert why in message


def test_every_form_is_tried_both_ways():
    for cases in (ACCEPTED, REJECTED):
        assert {case[0] for case in cases} == set(FORMS)


@pytest.mark.parametrize(
    ("key", "parameters", "pointer"),
    [
        ("words", {"at_least": 9, "at_most": 3}, ""),
        ("ends_with", {}, "/texts"),
        ("ends_with", {"texts": []}, "/texts"),
        ("ends_with", {"texts": [""]}, "/texts/0"),
        ("words", {"at_least": -1}, "/at_least"),
        ("case", {"case": "title"}, "/case"),
        ("json_object", {"values": []}, "/values"),
        ("json_object", 7, ""),
        ("regex", {}, "/form"),
    ],
)
def test_wrong_parameters_are_named(key, parameters, pointer):
    with pytest.raises(SchemaProblem) as problem:
        read_form(key, parameters)
    assert problem.value.problems[0].pointer == pointer


def test_exported_code_says_the_same_where_nothing_of_assay_is():
    cases = [case[:3] for case in (*ACCEPTED, *REJECTED)]
    with Sandbox() as sandbox:
        for key, parameters, response in cases:
            form, complete = read_form(key, parameters)
            source = form.source(complete, "validate_format")
            [result] = sandbox.run(source, "validate_format", [Call((response,))])
            assert (result.accepted, result.message) == form.accepts(response, complete), key


@given(st.text(max_size=300))
def test_no_response_makes_a_form_fail(response):
    for key, parameters, _ in ACCEPTED:
        form, complete = read_form(key, parameters)
        accepted, message = form.accepts(response, complete)
        assert isinstance(accepted, bool)
        assert message


@given(st.one_of(st.text(max_size=200), st.sampled_from(REFERENCES)), st.lists(st.text(max_size=5), max_size=3))
def test_mutations_change_something_and_are_told_apart(reference, keywords):
    mutated = mutate(reference, keywords=keywords)
    texts = [one.text for one in mutated]
    assert reference not in texts
    assert len(set(texts)) == len(texts)
    assert len({one.key for one in mutated}) == len(mutated)
    assert all(not one.breaks & one.may_break for one in mutated)


@pytest.mark.parametrize("reference", REFERENCES, ids=["table", "list", "object", "prose", "Chinese"])
def test_a_mutation_breaks_what_it_says_and_nothing_else(reference):
    tried = 0
    for key, parameters, _ in ACCEPTED:
        form, complete = read_form(key, parameters)
        # One that forbids looks at everything.
        if not form.aspects or not form.accepts(reference, complete)[0]:
            continue
        for one in mutate(reference, keywords=parameters.get("texts", ()) if key == "contains" else ()):
            accepted, _ = form.accepts(one.text, complete)
            if form.aspects & one.breaks:
                assert not accepted, (key, one.key)
            elif not form.aspects & one.may_break:
                assert accepted, (key, one.key)
            tried += 1
    assert tried > 5


def test_the_usual_mutations_apply():
    assert {one.key for one in mutate(OBJECT)} >= {"empty", "delete_key", "break_json", "wrap", "other_language"}
    assert {one.key for one in mutate(TABLE)} >= {"break_table", "strip_markdown", "change_end", "change_start"}
    assert {one.key for one in mutate(LIST, keywords=["Rome"])} >= {"strip_bullets", "lengthen", "drop_keyword_0"}
    assert {one.key for one in mutate(PROSE)} >= {"lengthen", "shorten", "change_dates", "swap_case"}


@pytest.mark.parametrize(
    ("text", "aspects"),
    [
        ("The whole response must be one JSON object.", {Aspect.JSON}),
        ("End with a period.", {Aspect.END}),
        ("Use a table with two columns.", {Aspect.TABLE}),
        ("Format it in Markdown and put the date in bold.", {Aspect.MARKDOWN, Aspect.DATE}),
        ("Answer in at most 30 words.", {Aspect.LENGTH}),
        ("Be nice.", set()),
    ],
)
def test_aspects_are_read_from_words(text, aspects):
    assert aspects_of(text) == aspects


@pytest.mark.parametrize(
    ("text", "key", "parameters"),
    [
        ('Answer with a JSON object that contains the key "city".', "json_object", {"keys": ["city"]}),
        ("JSON (the entire response must be valid)", "json_object", {"keys": []}),
        ("Ending punctuation (.)", "ends_with", {"texts": ["."]}),
        ("It must end with a question mark.", "ends_with", {"texts": ["?"]}),
        ("It must start with 'Answer:'", "starts_with", {"texts": ["Answer:"]}),
        ('It must include "final answer".', "contains", {"texts": ["final answer"], "ignore_case": False}),
        ("Use bullet points.", "bullets", {"at_least": 1, "at_most": None}),
        ("Give it in tabular form.", "table", {"columns": [], "rows_at_least": 1}),
        ("Markdown, elements such as headings and lists.", "markdown", {"elements": []}),
        ("Markdown with bold dates.", "markdown", {"elements": ["bold"]}),
    ],
)
def test_a_form_is_suggested_where_the_words_are_clear(text, key, parameters):
    [suggestion] = suggest(text)
    assert (suggestion.form.key, suggestion.parameters) == (key, parameters)


def test_nothing_is_suggested_where_they_are_not():
    assert suggest("Be brief and kind.") == []
    assert suggest('End with "Days: [number]"') == []


def test_code_that_does_what_a_form_does_is_found():
    candidates = [*suggest("Ending punctuation (.)"), *suggest("JSON")]
    verdicts = {text: text.endswith(".") for text in ("a.", "b", "{}", "c?")}
    assert [one.form.key for one in fitting(verdicts, candidates)] == ["ends_with"]
    assert fitting({"a.": True}, candidates) == []


# --- the matrix -------------------------------------------------------------------------------------------------------


def matrix(text, validator, good=(), bad=(), reference=PROSE):
    rows = rows_for(reference=reference, good=good, bad=bad, mutations=mutate(reference), own=aspects_of(text))
    return rows, judge(rows, [validator(row.text) for row in rows])


def test_a_right_validator_passes():
    rows, judgement = matrix("End with a period.", lambda text: text.endswith("."))
    assert judgement.passed
    assert judgement.warnings == ()
    kinds = {row.key: row.kind for row in rows}
    assert kinds["change_end"] == RowKind.OWN
    assert kinds["change_start"] == RowKind.OTHER
    assert kinds["shorten"] == RowKind.OPEN


def test_one_that_accepts_everything_is_an_error():
    _, judgement = matrix("End with a period.", lambda text: True)
    assert not judgement.passed
    assert judgement.errors[0].startswith("It accepts every response that breaks its constraint")


def test_one_that_rejects_the_reference_or_a_good_example_is_an_error():
    _, judgement = matrix("End with a period.", lambda text: False, good=["Fine."])
    assert judgement.errors == (
        "It rejects the reference.",
        "Good example 1: rejected, but it should be accepted.",
    )


def test_one_that_accepts_a_bad_example_is_an_error():
    _, judgement = matrix("End with a period.", lambda text: text.endswith((".", "!")), bad=["No!"])
    assert judgement.errors == ("Bad example 1: accepted, but it should be rejected.",)


def test_one_that_looks_at_more_than_it_was_asked_to_is_told():
    _, judgement = matrix("End with a period.", lambda text: text.endswith(".") and len(text.split()) < 30)
    assert judgement.passed
    assert [warning.partition(":")[0] for warning in judgement.warnings] == ["Much longer"]


def test_without_a_verdict_nothing_passes():
    rows, _ = matrix("End with a period.", lambda text: True)
    judgement = judge(rows, [None] * len(rows))
    assert judgement.errors[0] == "The reference: the validator returns no verdict."
    assert judgement.errors[-1] == "It rejects no response that breaks its constraint."


def test_a_form_knows_what_breaks_it():
    form = read_form("words", {"at_most": 100})
    rows = rows_for(reference=PROSE, good=[], bad=[], mutations=mutate(PROSE), own=frozenset(), form=form)
    kinds = {row.key: (row.kind, row.expected) for row in rows}
    assert kinds["lengthen"] == (RowKind.OWN, False)
    assert kinds["shorten"] == (RowKind.OTHER, True)


def test_no_text_is_tried_twice():
    reference = PROSE
    good = [one.text for one in mutate(reference)][:3]
    rows = rows_for(reference=reference, good=good, bad=[], mutations=mutate(reference), own=frozenset())
    assert all(a.text != b.text for a, b in itertools.combinations(rows, 2))


def test_texts_within_json_are_resized_within_reason():
    assert dict(resized('{"a": ["b", 1]}')) == {
        "longer": json.dumps({"a": [" ".join(["word"] * 200), 1]}),
        "shorter": '{"a": ["word", 1]}',
    }
    assert list(resized("no JSON")) == list(resized("12")) == list(resized('{"a": 1}')) == []
    assert [name for name, _ in resized(json.dumps(["x"] * 5_000))] == ["shorter"]
    assert list(resized("[" * 100_000 + '"x"' + "]" * 100_000)) == []


def test_a_sentence_that_quotes_more_than_a_form_takes_suggests_nothing():
    assert suggest("Include " + ", ".join(f'"w{n}"' for n in range(25))) == []


# --- the forms that people fill in


_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 30) | st.sampled_from(["", "en", "list", " x ", "a\nb", "7", "upper"]),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=4,
)


@given(
    form=st.sampled_from(list(FORMS.values())),
    held=st.dictionaries(
        st.sampled_from(["keys", "texts", "ignore_case", "at_least", "at_most", "elements", "language", "strange"]),
        _values,
        max_size=4,
    ),
)
def test_a_form_that_nobody_touched_gives_back_what_was_there(form: Form, held: dict[str, Any]) -> None:
    posted = {}
    for field in form_fields(form, held):
        posted[field.key] = field.value
        posted |= {item.key: item.name for item in field.items if item.present}
    values, errors = read_form_fields(form, posted, held)
    for name, value in held.items():
        # The model may write a value it takes in another way: "7" as 7.
        assert values[name] == value or (not errors and values == form.read(held | values))
