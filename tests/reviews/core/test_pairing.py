"""Pairs: disjoint, of people who may, and other ones each round as far as there are people."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reviews.core.protocols.pairing import History, Look, Pair, pair_up, share_out


def rounds(people: int, count: int) -> list[list[Pair]]:
    out: list[list[Pair]] = []
    for number in range(count):
        out.append(pair_up([f"p{n}" for n in range(people)], history=History(out), seed=f"seed {number}"))
    return out


def sets(pairs: list[Pair]) -> set[frozenset[str]]:
    return {frozenset(pair) for pair in pairs}


@given(people=st.integers(0, 20), seed=st.text(max_size=5))
def test_everybody_is_in_one_pair_but_for_one_left_over(people: int, seed: str) -> None:
    pairs = pair_up([f"p{n}" for n in range(people)], history=History(), seed=seed)
    members = [name for pair in pairs for name in pair]
    assert len(members) == len(set(members)) == people - people % 2


@pytest.mark.parametrize("people", [3, 4, 5, 6, 9, 12, 13])
def test_no_pair_comes_twice_in_a_row(people: int) -> None:
    found = rounds(people, 12)
    assert all(not sets(one) & sets(other) for one, other in pairwise(found))


@pytest.mark.parametrize(("people", "enough"), [(4, 3), (6, 5), (8, 7), (10, 9)])
def test_everybody_meets_everybody_before_anybody_meets_again(people: int, enough: int) -> None:
    # n people, n even: n - 1 rounds of n / 2 pairs are all n (n - 1) / 2 pairs there are. Chosen round by round, a few
    # may have to meet again before that; never more often than twice.
    found = [pair for pairs in rounds(people, enough) for pair in map(frozenset, pairs)]
    assert max(found.count(pair) for pair in found) <= 2
    assert len(set(found)) >= 0.8 * people * (people - 1) / 2


def test_who_sat_out_takes_part_next() -> None:
    first, second = rounds(5, 2)
    left_out = {f"p{n}" for n in range(5)} - {name for pair in first for name in pair}
    assert left_out <= {name for pair in second for name in pair}


def test_two_people_have_no_choice() -> None:
    assert [sets(pairs) for pairs in rounds(2, 3)] == [{frozenset({"p0", "p1"})}] * 3


@given(data=st.data(), people=st.integers(2, 8), items=st.integers(0, 30))
def test_nobody_gets_what_they_may_not_look_at(data: st.DataObject, people: int, items: int) -> None:
    names = [f"p{n}" for n in range(people)]
    looks = [
        Look(f"i{n}", barred=frozenset(data.draw(st.sets(st.sampled_from(names), max_size=2)))) for n in range(items)
    ]
    history = History()
    shares = share_out(looks, pair_up(names, history=history, seed="s"), names, history=history, seed="s")
    for look in looks:
        free = set(names) - look.barred
        # Left to anybody only if there are not two.
        assert (look.external_id in shares) == (len(free) >= 2)
        assert set(shares.get(look.external_id, ())) <= free


def test_shares_are_even() -> None:
    names = [f"p{n}" for n in range(6)]
    history = History()
    pairs = pair_up(names, history=history, seed="s")
    shares = share_out([Look(f"i{n}") for n in range(31)], pairs, names, history=history, seed="s")
    sizes = sorted(list(shares.values()).count(pair) for pair in pairs)
    assert sizes == [10, 10, 11]


def test_who_has_met_an_item_leaves_it_to_others() -> None:
    names = ["a", "b", "c", "d"]
    shares = share_out(
        [Look(f"i{n}", met=frozenset({"a"})) for n in range(5)], [("a", "b"), ("c", "d")], names,
        history=History(), seed="s",
    )  # fmt: skip
    assert set(shares.values()) == {("c", "d")}


def test_an_item_of_a_member_of_every_pair_gets_a_pair_of_its_own() -> None:
    # Three people, one pair a round: what one of the two owns is for the other and the third.
    shares = share_out([Look("i", barred=frozenset({"a"}))], [("a", "b")], ["a", "b", "c"], history=History(), seed="s")
    assert set(shares["i"]) == {"b", "c"}
