"""The draw: sizes by hand, and the properties that make it fair and recomputable."""

import hashlib
import json
import re
from collections import Counter
from fractions import Fraction
from math import ceil
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from reviews.core.protocols import Allotment, Candidate, draw_round, draw_sample, population_hash
from reviews.core.protocols.random_draws import allot
from tests.conftest import ROOT

SEED = "5eed"


def population(**sizes: int) -> list[Candidate]:
    return [Candidate(f"{name}-{n:03}", name) for name, size in sizes.items() for n in range(size)]


def test_sizes_by_hand() -> None:
    # 41 items, a tenth: ceil(4.1) = 5. Shares: 5·21/41 = 2.56 and 5·20/41 = 2.44: whole parts 2 and 2, and the one left
    # goes to the larger remainder.
    assert allot({"a": 21, "b": 20}, 0.1, SEED) == {"a": Allotment(21, 3), "b": Allotment(20, 2)}


def test_a_tenth_of_ten_is_one_not_two() -> None:
    # 0.1 as a binary number is a little more than a tenth; the fraction is meant as it is written.
    assert allot({"a": 10}, 0.1, SEED)["a"].sample == 1
    assert allot({"a": 30}, 0.1, SEED)["a"].sample == 3


def test_nobodys_work_stays_unseen() -> None:
    # ceil(10.0) = 10 of 100; 97 of one person take them all, and each of the three others gets one in addition.
    sizes = allot({"a": 97, "b": 1, "c": 1, "d": 1}, 0.1, SEED)
    assert {name: one.sample for name, one in sizes.items()} == {"a": 10, "b": 1, "c": 1, "d": 1}


def test_nothing_of_nothing() -> None:
    assert draw_sample([], fraction=0.1, seed=SEED) == (set(), {})
    assert draw_sample(population(a=3), fraction=0.0, seed=SEED) == (set(), {"a": Allotment(3, 0)})


def test_everything_of_everything() -> None:
    drawn, _ = draw_sample(population(a=3, b=4), fraction=1.0, seed=SEED)
    assert len(drawn) == 7


def test_the_members_with_the_smallest_hashes_are_drawn() -> None:
    members = population(a=30)
    ranked = sorted(
        (one.external_id for one in members),
        key=lambda name: hashlib.sha256(f"{SEED}\nitem\n{name}".encode()).hexdigest(),
    )
    assert draw_sample(members, fraction=0.1, seed=SEED)[0] == set(ranked[:3])


sizes = st.dictionaries(st.sampled_from("abcdefgh"), st.integers(1, 60), min_size=1)
fractions = st.sampled_from([0.01, 0.05, 0.1, 0.2, 1 / 3, 0.5, 1.0])


@given(sizes=sizes, fraction=fractions, seed=st.text(max_size=8))
def test_sizes_add_up(sizes: dict[str, int], fraction: float, seed: str) -> None:
    result = allot(sizes, fraction, seed)
    wanted = ceil(round(fraction * sum(sizes.values()), 9))
    total = sum(one.sample for one in result.values())
    assert wanted <= total <= wanted + len(sizes)
    for name, one in result.items():
        due = wanted * sizes[name] / sum(sizes.values())
        assert 1 <= one.sample <= one.population == sizes[name]
        assert abs(one.sample - due) < 1 or (one.sample == 1 and due < 1)


@given(data=st.data(), sizes=sizes, fraction=fractions)
def test_the_order_of_the_population_does_not_matter(
    data: st.DataObject, sizes: dict[str, int], fraction: float
) -> None:
    members = population(**sizes)
    shuffled = data.draw(st.permutations(members))
    assert draw_sample(members, fraction=fraction, seed=SEED) == draw_sample(shuffled, fraction=fraction, seed=SEED)
    assert population_hash(members) == population_hash(shuffled)


def test_another_population_has_another_hash() -> None:
    assert population_hash(population(a=3)) != population_hash(population(a=4))
    assert population_hash([Candidate("x", "a")]) != population_hash([Candidate("x", "b")])


def test_every_member_has_the_same_chance() -> None:
    # 400 seeds, 5 of 50 each: every member is expected 40 times; the deviation of a binomial count is 6.
    counts: Counter[str] = Counter()
    for seed in range(400):
        counts.update(draw_sample(population(a=50), fraction=0.1, seed=str(seed))[0])
    assert len(counts) == 50
    assert all(abs(count - 40) < 5 * 6 for count in counts.values())


# --- rounds -----------------------------------------------------------------------------------------------------------


@given(unseen=st.integers(0, 40), seen=st.integers(0, 40), fraction=fractions)
def test_a_round_takes_the_unseen_first(unseen: int, seen: int, fraction: float) -> None:
    drawn, sizes = draw_round(population(unseen=unseen, seen=seen), fraction=fraction, seed=SEED)
    wanted = ceil(round(fraction * (unseen + seen), 9))
    assert len(drawn) == wanted
    assert sizes["unseen"] == Allotment(unseen, min(wanted, unseen))
    assert sizes["seen"] == Allotment(seen, wanted - min(wanted, unseen))
    assert sum(name.startswith("unseen") for name in drawn) == sizes["unseen"].sample


def test_five_rounds_of_a_fifth_see_everything() -> None:
    # 256 sessions, ceil(51.2) = 52 a round: 52, 104, 156, 208, and the 48 that are left. Four rounds would not do.
    seen: set[str] = set()
    sizes = []
    for number in range(5):
        members = [Candidate(f"i{n}", "seen" if f"i{n}" in seen else "unseen") for n in range(256)]
        drawn, _ = draw_round(members, fraction=0.2, seed=str(number))
        seen |= drawn
        sizes.append(len(seen))
    assert sizes == [52, 104, 156, 208, 256]


def test_the_example_of_the_documents_comes_out_as_it_says() -> None:
    text = (ROOT / "docs/sampling.md").read_text()
    (example,) = re.findall(r"```json\n(.*)\n```", text)
    members = [Candidate(name, stratum) for name, stratum in json.loads(example)]
    assert f"`{population_hash(members)}`" in text
    assert hashlib.sha256(example.encode()).hexdigest() == population_hash(members)
    drawn, sizes = draw_sample(members, fraction=0.4, seed="5eed")
    assert sizes == {"Heron": Allotment(3, 1), "Wren": Allotment(2, 1)}
    rows = re.findall(r"\| `(.+)` \| `(.+)` \| `([0-9a-f]{64})` \| (yes|no) \|", text)
    assert sorted(rows) == sorted(
        (one.stratum, one.external_id, hashlib.sha256(f"5eed\nitem\n{one.external_id}".encode()).hexdigest(),
         "yes" if one.external_id in drawn else "no")
        for one in members
    )  # fmt: skip


@given(sizes=sizes, fraction=fractions, seed=st.text(max_size=8), rounds=st.booleans())
def test_the_program_of_the_documents_draws_the_same(
    sizes: dict[str, int], fraction: float, seed: str, rounds: bool
) -> None:
    (program,) = re.findall(r"```python\n(.*?)\nfolder = ", (ROOT / "docs/sampling.md").read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(program, names)  # noqa: S102 - the project's own text
    members = population(**sizes)
    if rounds:
        members = [Candidate(one.external_id, "seen" if one.stratum in "abcd" else "unseen") for one in members]
    drawn, _ = (draw_round if rounds else draw_sample)(members, fraction=fraction, seed=seed)
    pairs = [[one.external_id, one.stratum] for one in members]
    assert names["draw"](pairs, Fraction(str(fraction)), 1 + rounds, seed) == drawn
