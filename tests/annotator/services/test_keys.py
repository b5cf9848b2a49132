"""Public ids and pseudonyms: random, never alike, of characters that are not mistaken for one another."""

from collections import Counter

import pytest

from annotator.models.keys import new_pseudonym, new_public_id, new_public_ids

LETTERS = set("23456789abcdefghjkmnpqrstuvwxyz")


@pytest.mark.parametrize("count", [0, 1, 2, 1000])
def test_as_many_as_asked_for_and_none_twice(count):
    ids = new_public_ids(count)
    assert len(ids) == len(set(ids)) == count
    assert all(len(one) == 12 and set(one) <= LETTERS for one in ids)


def test_one_by_one():
    ids = {new_public_id() for _ in range(200)}
    assert len(ids) == 200
    assert all(len(one) == 12 and set(one) <= LETTERS for one in ids)
    assert not {"0", "o", "1", "l", "i"} & LETTERS


def test_every_character_is_about_as_likely_as_any_other():
    """3,100 of each are expected of 96,100; 5 standard deviations are 275."""
    counts = Counter("".join(new_public_ids(8_009))[:96_100])
    assert set(counts) == LETTERS
    assert all(abs(count - 3_100) < 400 for count in counts.values())


def test_pseudonyms_say_nothing():
    names = {new_pseudonym() for _ in range(200)}
    assert len(names) == 200
    assert all(name.startswith("p-") and len(name) == 10 and set(name[2:]) <= LETTERS for name in names)
