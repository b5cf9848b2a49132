"""Edits of arguments and observations."""

import pytest

from annotator.core.comparison import diff, resolve
from annotator.core.editing import EditProblem, apply
from annotator.core.editing.json_text import MAX_JSON, JsonProblem, read_json
from tests.annotator.document_cases import call, document, task, trip

S1 = "/tasks/t1/steps/s1"
S2 = "/tasks/t1/steps/s2"


def do(op, anchor, data=None, **fields):
    return apply(data or trip(), {"op": op, "anchor": anchor, **fields})


def refused(op, anchor, data=None, **fields):
    with pytest.raises(EditProblem) as caught:
        do(op, anchor, data, **fields)
    return caught.value.message, caught.value.anchor


def arguments(result, step=S1):
    return resolve(result[0], f"{step}/arguments")


def one_call(**fields):
    return document(task("t1", call("s1", **fields)))


def test_an_argument_is_set_or_added():
    assert arguments(do("set_argument", f"{S1}/arguments/city", value="Rome"))["city"] == "Rome"
    assert arguments(do("set_argument", f"{S1}/arguments/new~1one", value=None))["new/one"] is None
    assert arguments(do("set_argument", f"{S1}/arguments/filters/max", value=2))["filters"]["max"] == 2
    assert arguments(do("set_argument", f"{S1}/arguments/city", value="a\r\nb"))["city"] == "a\nb"


def test_items_of_a_list():
    cabin = f"{S1}/arguments/filters/cabin"
    assert arguments(do("set_argument", f"{cabin}/1", value="first"))["filters"]["cabin"] == ["eco", "first"]
    result = do("set_argument", f"{cabin}/-", value="first")
    assert (arguments(result)["filters"]["cabin"], result[1]) == (["eco", "biz", "first"], f"{cabin}/2")
    assert arguments(do("delete_argument", f"{cabin}/0"))["filters"]["cabin"] == ["biz"]
    assert "no item 2" in refused("set_argument", f"{cabin}/2", value="x")[0]
    assert "have no names" in refused("rename_argument", f"{cabin}/0", to="x")[0]


def test_an_argument_is_deleted():
    result = do("delete_argument", f"{S1}/arguments/city")
    assert ("city" not in arguments(result), result[1]) == (True, f"{S1}/arguments")
    assert "no longer exists" in refused("delete_argument", f"{S1}/arguments/town")[0]


def test_an_argument_is_renamed_in_its_place():
    data = one_call(arguments={"a": 1, "b": 2, "c": 3})
    result = do("rename_argument", f"{S1}/arguments/b", data, to="x")
    assert list(arguments(result).items()) == [("a", 1), ("x", 2), ("c", 3)]
    assert result[1] == f"{S1}/arguments/x"
    assert do("rename_argument", f"{S1}/arguments/b", data, to="b")[0] == data
    assert "already" in refused("rename_argument", f"{S1}/arguments/b", data, to="c")[0]
    assert "name" in refused("rename_argument", f"{S1}/arguments/b", data, to=" ")[0]
    assert "must be text" in refused("rename_argument", f"{S1}/arguments/b", data)[0]


def test_what_has_no_place():
    assert "is not an object" in refused("set_argument", f"{S1}/arguments/city/x", value=1)[0]
    assert "no longer exists" in refused("set_argument", f"{S1}/arguments/a/b", value=1)[0]
    assert "anchor of an argument" in refused("set_argument", S1, value=1)[0]
    assert "Give the argument a name" in refused("set_argument", f"{S1}/arguments/", value=1)[0]
    assert "is not of type call" in refused("set_argument", "/tasks/t1/steps/s4/arguments/x", value=1)[0]


def test_unreadable_arguments_are_mended_as_a_whole():
    data = one_call(arguments="{city: Oslo")
    for op, fields in (("set_argument", {"value": 1}), ("delete_argument", {}), ("rename_argument", {"to": "x"})):
        assert "Edit them as JSON first" in refused(op, f"{S1}/arguments/city", data, **fields)[0]
    assert arguments(do("set_arguments", S1, data, text='{"city": "Oslo"}')) == {"city": "Oslo"}


@pytest.mark.parametrize("anchor", [S1, f"{S1}/arguments"])
def test_all_arguments_at_once(anchor):
    result = do("set_arguments", anchor, text='{\r\n "a": [1, 2.0],\r\n "b": null}')
    assert (arguments(result), result[1]) == ({"a": [1, 2], "b": None}, f"{S1}/arguments")
    assert arguments(do("set_arguments", anchor, value={"c": 1})) == {"c": 1}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "line 1, column 1"),
        ('{"a": 1,\n "b": x}', "line 2, column 7"),
        ("{'a': 1}", "straight double quotes"),
        ('{"a": True}', "true, false and null"),
        ('{"a": 1,}', "extra comma"),
        ('{"a": 1, "a": 2}', "“a” appears twice"),
        ('{"a": NaN}', "NaN is not a JSON value"),
        ('{"a": -Infinity}', "-Infinity is not a JSON value"),
        ("[1]", "Arguments must be a JSON object"),
        ('"x"', "Arguments must be a JSON object"),
        ('{"a": ' + "[" * 100 + "]" * 100 + "}", "levels deep"),
        ('{"a": ' + "[" * 90_000 + "]" * 90_000 + "}", "60 levels"),
        ('{"a": ' + "9" * 10_000 + "}", "more than 1,000 digits"),
        ('{"a": "\\ud800"}', "surrogate"),
        ('{"a": 1e999}', "too large"),
    ],
)
def test_json_that_cannot_be_taken_says_where_and_why(text, words):
    message, place = refused("set_arguments", S1, text=text)
    assert words in message
    assert place.startswith(f"{S1}/arguments")


def test_a_text_beyond_all_bounds_is_not_parsed():
    with pytest.raises(JsonProblem, match="200,001 characters"):
        read_json(" " * (MAX_JSON + 1))


# --- why a value may be inferred


def test_a_reason_is_given_and_taken_away():
    result = do("set_inferable", f"{S1}/arguments/city", reason=" the capital\nof Norway ")
    assert resolve(result[0], f"{S1}/inferable") == {"/city": "the capital of Norway"}
    assert result[1] == f"{S1}/arguments/city"
    for reason in ("", None, "  "):
        assert do("set_inferable", f"{S1}/arguments/city", result[0], reason=reason)[0] == trip()
    assert do("set_inferable", S1, argument="city", reason="x")[1] == f"{S1}/arguments/city"
    assert do("set_inferable", S1, argument="/filters/cabin/0", reason="x")[1] == f"{S1}/arguments/filters/cabin/0"


def test_a_reason_needs_an_argument_and_has_an_end():
    assert "no longer exists" in refused("set_inferable", S1, argument="town", reason="x")[0]
    assert "must be text" in refused("set_inferable", S1, reason="x")[0]
    assert "501 characters" in refused("set_inferable", S1, argument="city", reason="x" * 501)[0]


def test_reasons_follow_their_arguments():
    data = one_call(arguments={"a": {"b": 1}, "ab": 2}, inferable={"/a": "r", "/a/b": "s", "/ab": "t"})
    renamed = do("rename_argument", f"{S1}/arguments/a", data, to="x/y")[0]
    assert resolve(renamed, f"{S1}/inferable") == {"/x~1y": "r", "/x~1y/b": "s", "/ab": "t"}
    deleted = do("delete_argument", f"{S1}/arguments/a", data)[0]
    assert resolve(deleted, f"{S1}/inferable") == {"/ab": "t"}
    replaced = do("set_arguments", S1, data, value={"a": {}})[0]
    assert resolve(replaced, f"{S1}/inferable") == {"/a": "r"}
    changed = do("set_argument", f"{S1}/arguments/a", data, value=5)[0]
    assert resolve(changed, f"{S1}/inferable") == {"/a": "r", "/ab": "t"}


# --- observations


@pytest.mark.parametrize(
    ("before", "text", "kind", "after"),
    [
        ({"a": 1}, '{"a": 2}', None, {"a": 2}),
        ({"a": 1}, "5", None, 5),
        ("text", '{"a": 2}', None, '{"a": 2}'),
        ("text", "42", None, "42"),
        ("text", "", None, ""),
        ("text", '{"a": 2}', "json", {"a": 2}),
        ({"a": 1}, '{"a": 2}', "text", '{"a": 2}'),
        (None, "[1]", None, [1]),
        (None, "42", None, 42),
        (None, "none", "text", "none"),
        (None, "", "text", None),
        (7, "42", None, 42),
        ({"a": 1}, " ", None, None),
        ({"a": 1}, "", "json", None),
        ({"a": 1}, "", "text", ""),
        ("a\r\nb", "a\r\nb", None, "a\r\nb"),
        ("a\r\nb", "a\r\nc", None, "a\nc"),
        ("a\rb", "a\nb", None, "a\rb"),
    ],
)
def test_an_observation_is_read_as_what_stood_there(before, text, kind, after):
    data = one_call(observation=before)
    result, touched = do("set_observation", S1, data, text=text, **({"as": kind} if kind else {}))
    assert resolve(result, touched) == after
    assert touched == f"{S1}/observation"


@pytest.mark.parametrize("kind", [None, "json"])
@pytest.mark.parametrize("before", [{"a": 1}, [1], 7, True, None])
def test_typing_never_makes_a_text_of_an_observation(before, kind):
    data = one_call(observation=before)
    for text in ('{"a": 1},', "sorry, no", '"sorry"', '""'):
        message, place = refused("set_observation", S1, data, text=text, **({"as": kind} if kind else {}))
        assert "hoose Text" in message
        assert place == f"{S1}/observation"


def test_an_observation_as_a_value():
    result = do("set_observation", S1, value=[None])[0]
    assert [c.anchor for c in diff(trip(), result)] == [f"{S1}/observation"]
    assert resolve(result, f"{S1}/observation") == [None]


def test_an_observation_that_must_be_json():
    message, place = refused("set_observation", S1, text="{", **{"as": "json"})
    assert "line 1, column 2" in message
    assert place == f"{S1}/observation"
    assert "json or text" in refused("set_observation", S1, text="{", **{"as": "xml"})[0]
    assert "no value" in refused("set_observation", S1)[0]
