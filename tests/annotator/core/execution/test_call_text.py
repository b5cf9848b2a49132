"""Calls as Python text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from annotator.core.execution.call_text import MAX_LENGTH, NotACall, full_arguments, read_call, write_call
from annotator.core.sandbox import ToolCall

NAMES = {"mv": ("source", "destination"), "go": ()}

READ = {
    "mv(source='a', destination='b')": {"source": "a", "destination": "b"},
    "mv('a', destination='b')": {"source": "a", "destination": "b"},
    " mv('a',\n 'b') ": {"source": "a", "destination": "b"},
    "go()": {},
    "go(a=-1.5, b=+2, c=True, d=None, e=(1, [2]), f={'x': {'y': -3}})": {
        "a": -1.5, "b": 2, "c": True, "d": None, "e": [1, [2]], "f": {"x": {"y": -3}},
    },
    "go(**{'from': 'a', 'b c': 1})": {"from": "a", "b c": 1},
    "go(text='it\\'s ' 'two')": {"text": "it's two"},
    "unknown(a=1)": {"a": 1},
}  # fmt: skip


@pytest.mark.parametrize(("text", "arguments"), READ.items())
def test_a_call_is_read(text, arguments):
    found = read_call(text, NAMES)
    assert (found.name, found.arguments) == (text.strip().partition("(")[0], arguments)


REFUSED = {
    "mv(source=open('x'))": "Character 11: “open('x')” is not a literal.",
    "mv(source=a)": "Character 11: “a” is not a literal.",
    "mv(source=f'{1}')": "is not a literal.",
    "mv(source=b'x')": "is not a literal.",
    "mv(source=1j)": "is not a literal.",
    "mv(source=...)": "is not a literal.",
    "mv(source=-True)": "is not a literal.",
    "mv(source={1: 2})": "the keys of an object must be texts.",
    "mv(source={**{}})": "the keys of an object must be texts.",
    "mv(source={'a': 1, 'a': 2})": "the key “a” is given twice.",
    "mv('a', 'b', 'c')": "Character 14: mv takes 2 arguments at most.",
    "mv('a', source='b')": "the argument source is given twice.",
    "mv(**{'source': 1}, source=2)": "the argument source is given twice.",
    "mv(source=1, source=2)": "the argument source is given twice.",
    "mv(*['a'])": "a starred argument is not a literal.",
    "mv(**names)": "“names” is not a literal.",
    "mv(**[1])": "two stars need an object",
    "other('a')": "The toolset has no function other, so its arguments need names.",
    "tool.mv(source='a')": "must be a plain name.",
    "mv": "is not one call such as",
    "mv(); mv()": "is not one call such as",
    "x = mv()": "is not one call such as",
    "": "is not one call such as",
    "mv(": "cannot be read as Python",
    "mv(source='\0')": "cannot be read as Python",
    f"mv(source={'[' * 5000}{']' * 5000})": "cannot be read as Python",
    f"mv(source={'[' * 80}{']' * 80})": "levels deep",
    f"mv(source={'-' * 80}1)": "levels deep",
    "x" * (MAX_LENGTH + 1): "The limit is",
}


@pytest.mark.parametrize(("text", "sentence"), REFUSED.items(), ids=[text[:30] for text in REFUSED])
def test_what_is_no_literal_call_is_refused_with_its_place(text, sentence):
    with pytest.raises(NotACall) as refused:
        read_call(text, NAMES)
    assert sentence in str(refused.value)
    assert str(refused.value).endswith(".")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1), VALUES, max_size=4))
def test_what_is_written_is_read_back(arguments):
    assert read_call(write_call("go", arguments), NAMES) == ToolCall("go", arguments)


def test_a_call_is_written_as_figure_11_of_the_paper_shows():
    assert write_call("cd", {"folder": "documents"}) == "cd(folder='documents')"
    assert write_call("go", {"class": 1, "n": [2.5, None]}) == "go(n=[2.5, None], **{'class': 1})"


def test_defaults_are_filled_in_and_whole_floats_become_integers():
    schema = {
        "properties": {"a": {"type": "number"}, "b": {"default": 2.0}, "c": {"default": "None"}, "d": {}},
        "required": ["a"],
    }
    assert full_arguments({"a": 3.0}, schema) == {"a": 3, "b": 2, "c": None}
    assert full_arguments({"a": True, "d": [1.0]}, schema) == {"a": True, "b": 2, "c": None, "d": [1]}
    assert full_arguments({}, schema) is None
    assert full_arguments({"a": 1, "e": 1}, schema) is None
    assert full_arguments({}, {}) == {}
