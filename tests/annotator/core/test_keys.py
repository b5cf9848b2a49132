"""The table of keys: nothing in it is bound twice, and what a person may change."""

import pytest

from annotator.core.keys import ACTIONS, check_own, clash, effective, key_problem
from annotator.core.text import Message


def words(message: Message) -> str:
    return message.render(lambda text, plural, count: text)


def test_no_key_is_bound_twice_where_both_can_be_active():
    assert clash(effective({})) is None
    held = [(one.name, key) for one in ACTIONS.values() for key in one.held]
    assert len({key for _, key in held}) == len(held)


def test_a_sign_that_keyboards_write_with_shift_and_a_digit_is_no_key_of_its_own():
    """On most keyboards, ! is Shift+1, which chooses the information of a task."""
    digits = {one.key for one in ACTIONS.values() if one.key.startswith("Shift+") and one.key[-1].isdigit()}
    signs = {f"Shift+{digit}": sign for digit, sign in zip("1234567890", "!@#$%^&*()", strict=True)}
    assert not {signs[key] for key in digits} & {one.key for one in ACTIONS.values()}


@pytest.mark.parametrize("key", ["u", "!", "Shift+U", "Shift+1", "Backspace", "F2", "Shift+Delete", "g h", "é", "中"])
def test_what_is_a_key(key):
    assert key_problem(key) is None


@pytest.mark.parametrize(
    "key", ["U", "Shift+u", "uu", "g  h", "Ctrl+U", "Tab", "Escape", "´", "\x07", "Shift+", " ", "\u200b"]
)
def test_what_is_no_key_is_named(key):
    problem = key_problem(key)
    assert problem is not None
    assert "isn’t a key" in words(problem)


def test_the_refusal_of_a_clash_names_the_other_action():
    name, sentence = check_own({"undo": "f"}) or ("", Message(""))
    assert name == "undo"
    assert words(sentence.values["other"]) == "All findings"  # type: ignore[arg-type]
    # Another key or no key for the other action makes room.
    assert check_own({"undo": "f", "findings": "b"}) is None
    assert check_own({"undo": "f", "findings": ""}) is None
    # One that begins a pair of keys clashes with the pair.
    assert (check_own({"search": "g"}) or ("",))[0] == "search"
    # Pages that are never shown together may use the same key.
    assert check_own({"tree-up": "s"}) is None


def test_fixed_and_unknown_actions_are_refused_and_ignored():
    assert (check_own({"palette": "b"}) or ("",))[0] == "palette"
    assert (check_own({"fly": "b"}) or ("",))[0] == "fly"
    assert effective({"palette": "b", "fly": "b"}) == effective({})
