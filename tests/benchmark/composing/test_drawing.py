"""Draws of composites: equal quotas, no combination twice, rarely used tasks first, the same seed the same draw."""

import json
from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmark.core.composing import drawing
from benchmark.core.composing.drawing import CannotCompose, Kind, Single, compose, coverage, strata


def singles(*counts):
    """So many single tasks of the first category, so many of the second, …"""
    return [
        Single(f"{chr(97 + n)}{i}", chr(97 + n), 2 + i % 3, "own")
        for n, count in enumerate(counts)
        for i in range(count)
    ]


@pytest.mark.parametrize(
    ("kind", "size", "quota", "total"),
    [("similar", 2, 10, 120), ("cross", 2, 2, 132), ("similar", 3, 20, 240), ("cross", 3, 1, 220)],
)
def test_the_published_numbers_are_equal_quotas(kind, size, quota, total):
    pool = singles(*[30] * 12)
    drawn = compose(pool, Kind(kind), size, quota, 7)
    assert len(drawn) == total
    assert set(Counter(one.stratum for one in drawn).values()) == {quota}
    uses = coverage(pool, [one.tasks for one in drawn]).singles.values()
    assert max(uses) - min(uses) <= 2


@settings(max_examples=60)
@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=5),
    st.sampled_from(list(Kind)),
    st.sampled_from([2, 3, 4]),
    st.integers(1, 8),
    st.integers(0, 1000),
)
def test_what_holds_for_every_draw(counts, kind, size, quota, seed):
    pool = singles(*counts)
    category = {one.id: one.category for one in pool}
    try:
        offered = strata(pool, kind, size, quota)
    except CannotCompose:
        assert kind is Kind.CROSS
        assert len(counts) < size
        return
    drawn = compose(pool, kind, size, quota, seed)
    assert drawn == compose(pool[::-1], kind, size, quota, seed)
    assert len({frozenset(one.tasks) for one in drawn}) == len(drawn)
    assert len({one.id for one in drawn}) == len(drawn)
    given_ = Counter(one.stratum for one in drawn)
    for stratum in offered:
        assert given_[stratum.categories] == quota - stratum.short == min(quota, stratum.combinations)
    for one in drawn:
        assert len(set(one.tasks)) == size
        assert tuple(sorted(category[task] for task in one.tasks)) == one.stratum
        assert len(set(one.stratum)) == (1 if kind is Kind.SIMILAR else size)
        assert one.max_rounds == 10 + 4 * sum(single.calls for single in pool if single.id in one.tasks)


def test_large_strata_are_drawn_without_listing_all_combinations(monkeypatch):
    monkeypatch.setattr(drawing, "_all", None)
    pool = singles(1000)
    drawn = compose(pool, Kind.SIMILAR, 4, 200, 1)
    assert len({frozenset(one.tasks) for one in drawn}) == 200
    assert max(coverage(pool, [one.tasks for one in drawn]).singles.values()) <= 2


def test_composites_that_exist_are_not_drawn_again_and_their_tasks_are_drawn_later():
    pool = singles(4)
    earlier = [tasks for tasks in combinations([one.id for one in pool], 2) if "a0" in tasks]
    drawn = compose(pool, Kind.SIMILAR, 2, 9, 1, earlier)
    assert sorted(tuple(sorted(one.tasks)) for one in drawn) == [("a1", "a2"), ("a1", "a3"), ("a2", "a3")]


def test_coverage_counts_single_tasks_categories_and_pairs():
    found = coverage(singles(2, 2), [("a0", "b0"), ("a0", "a1"), ("a0", "gone")])
    assert found.singles == {"a0": 3, "a1": 1, "b0": 1, "b1": 0}
    assert found.categories == {"a": 4, "b": 1}
    assert found.pairs == {("a", "a"): 1, ("a", "b"): 1, ("b", "b"): 0}


@pytest.mark.parametrize(
    ("kind", "size", "quota", "sentence"),
    [
        (Kind.SIMILAR, 5, 1, "A composite has 2, 3 or 4 tasks, not 5."),
        (Kind.SIMILAR, 2, 0, "Ask for at least one"),
        (Kind.CROSS, 3, 1, "fewer than 3 categories"),
        (Kind.SIMILAR, 2, 60_000, "That would be 120,000 composites."),
    ],
)
def test_what_cannot_be_drawn_is_refused(kind, size, quota, sentence):
    with pytest.raises(CannotCompose, match=sentence):
        strata(singles(3, 3), kind, size, quota)


def test_two_tasks_of_one_id_are_refused():
    with pytest.raises(CannotCompose, match="same id"):
        compose(singles(2) * 2, Kind.SIMILAR, 2, 1, 1)


# --- commands --------------------------------------------------------------------------------------------------------

SOURCE = """
class Tool:
    def __init__(self):
        self.n = 0
    def add(self, by):
        self.n += by
        return self.n
"""
TOOLSET = {"id": "counter", "source_file": "counter.py", "class": "Tool", "functions": [
    {"name": "add", "parameters": {"type": "object", "properties": {"by": {"type": "integer"}}, "required": ["by"]}},
]}  # fmt: skip


@pytest.fixture
def files(tmp_path):
    (tmp_path / "counter.py").write_text(SOURCE)
    (tmp_path / "toolsets.jsonl").write_text(json.dumps(TOOLSET))
    rows = [
        {
            "id": f"{name}{n}",
            "category": name,
            "question": "Count.",
            "toolset": "counter",
            "ground_truth": [f"add({n + 1})", "add(2)"],
        }
        for name in "ab"
        for n in range(3)
    ]
    (tmp_path / "singles.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return tmp_path


@pytest.fixture
def run(files, capfd):
    """Run a command on files of the folder; return its exit code, rows and words."""
    from django.core.management import call_command

    def run(name, *arguments):
        code, words = 0, ""
        try:
            call_command(name, *[str(files / one) if one.endswith(".jsonl") else one for one in arguments])
        except SystemExit as end:
            code = end.code
        except Exception as stop:
            code, words = getattr(stop, "returncode", None), str(stop)
        out, told = capfd.readouterr()
        return code, [json.loads(line) for line in out.splitlines()], words or told

    return run


def test_composites_are_drawn_and_played_by_commands(files, run):
    code, drawn, words = run(
        "compose_tasks", "singles.jsonl", "--kind=cross", "--size=2", "--per-stratum=4", "--seed=3"
    )
    assert (code, len(drawn)) == (0, 4)
    assert set(drawn[0]) == {"id", "family", "kind", "size", "stratum", "tasks", "seed", "max_rounds"}
    assert "composites: 4; single tasks used: 6 of 6" in words
    (files / "composites.jsonl").write_text("\n".join(map(json.dumps, drawn)))
    both = ("--singles", "singles.jsonl", "--toolsets", "toolsets.jsonl")
    code, played, _ = run("play_composite", "composites.jsonl", *both, "--delay=1-2", "--seed=5")
    assert (code, len(played)) == (0, 4)
    assert all(one["scores"]["task"]["overall"] and not one["scores"]["errors"] for one in played)
    # What was said, said again, comes to the same.
    (files / "dialogues.jsonl").write_text("\n".join(map(json.dumps, played)))
    assert run("play_composite", "composites.jsonl", *both, "--dialogues", "dialogues.jsonl")[1] == played


def test_a_stratum_with_too_few_combinations_is_listed(run):
    code, drawn, words = run(
        "compose_tasks", "singles.jsonl", "--kind=similar", "--size=3", "--per-stratum=2", "--seed=1"
    )
    assert (code, len(drawn)) == (1, 2)
    assert "a × a × a: 1 missing of 2." in words
    code, rows, _ = run(
        "compose_tasks", "singles.jsonl", "--kind=similar", "--size=2", "--per-stratum=2", "--seed=1", "--dry-run"
    )
    assert (code, rows[0]) == (0, {"stratum": ["a", "a"], "combinations": 3, "short": 0})


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("compose_tasks", "absent.jsonl", "--kind=cross", "--size=2", "--per-stratum=1", "--seed=1"), "Can’t read"),
        (("compose_tasks", "toolsets.jsonl", "--kind=cross", "--size=2", "--per-stratum=1", "--seed=1"),
         "Line 1: /category must be a text."),
        (("compose_tasks", "singles.jsonl", "--kind=cross", "--size=3", "--per-stratum=1", "--seed=1"), "fewer than 3"),
        (("play_composite", "singles.jsonl", "--singles", "singles.jsonl", "--toolsets", "toolsets.jsonl"),
         "singles.jsonl, line 1: a composite must be an object with id and tasks."),
        (("play_composite", "singles.jsonl", "--singles", "singles.jsonl", "--toolsets", "toolsets.jsonl", "--delay=x"),
         "is no delay"),
    ],
)  # fmt: skip
def test_wrong_use_is_a_sentence(run, arguments, sentence):
    code, rows, words = run(*arguments)
    assert (code, rows) == (2, [])
    assert sentence in words
