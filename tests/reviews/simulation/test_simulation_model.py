"""The pure model of a simulation: worlds, looks, disputes. No database."""

import random
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from annotator.core.checks import CheckSettings, run_checks
from annotator.core.schema import canonical, content_hash, load_text, read_document
from annotator.core.schema.toolsets import CompiledToolset, read_tools
from reviews.core.agreement import Figure, RunFacts, SubmittedReview
from reviews.core.protocols import StageKind, Verdict
from reviews.core.protocols.taxonomy import TAXONOMY
from reviews.core.simulation import TOOLS, Item, Judgement, Person, Rates, build_model, judge, put, settle, value_at
from reviews.core.simulation.comparing import compared, holds, planted_patterns
from reviews.core.simulation.model import VISIBILITY

SEEDS = st.integers(0, 10**6)
ALL: Sequence[Verdict] = tuple(Verdict)
#: As a simulation's project sets them.
SETTINGS = CheckSettings(severities={"label.policy_steps": "warning", "label.answer_type": "warning"})


def someone(*, detection: float, false_alarm: float = 0.0, escalation: float = 0.0, mistaken: float = 0.0) -> Person:
    return Person("someone", False, dict.fromkeys(VISIBILITY, detection), false_alarm, escalation, mistaken, False)


def an_item(seed: int, **rates: float) -> Item:
    return build_model(seed=seed, dialogues=1, annotators=1, experts=0, rates=Rates(**rates)).items[0]


def faulty(seed: int) -> Item:
    return an_item(seed, baseline=0.0, unusable=0.0, another_error=0.6)


def look(person: Person, item: Item, document: dict[str, Any] | None = None, seed: int = 0) -> Judgement:
    seen = load_text(item.candidate) if document is None else document
    return judge(person=person, item=item, seen=seen, offered=ALL, chance=random.Random(seed))


# --- worlds ----------------------------------------------------------------------------------


@given(SEEDS)
def test_a_seed_makes_one_world(seed: int) -> None:
    one, same, other = (build_model(seed=s, dialogues=3, annotators=2, experts=1) for s in (seed, seed, seed + 1))
    assert one == same
    assert [item.candidate for item in one.items] != [item.candidate for item in other.items]


def test_more_items_or_people_do_not_change_those_that_were_there() -> None:
    small = build_model(seed=5, dialogues=3, annotators=2, experts=1)
    large = build_model(seed=5, dialogues=9, annotators=4, experts=2)
    assert large.items[:3] == small.items
    assert large.annotators[:2] == small.annotators


@settings(max_examples=40)
@given(SEEDS)
def test_what_is_planted_is_what_is_wrong(seed: int) -> None:
    for item in build_model(seed=seed, dialogues=4, annotators=1, experts=0).items:
        assert {point.anchor for point in item.errors(load_text(item.candidate))} == {p.anchor for p in item.planted}
        assert item.errors(item.original.document()) == []
        assert item.unusable or (item.truth == content_hash(item.candidate)) == (not item.planted)


def test_candidates_are_right_as_often_as_said() -> None:
    items = build_model(seed=1, dialogues=4000, annotators=1, experts=0, rates=Rates(baseline=0.62, unusable=0.1)).items
    assert sum(item.truth == content_hash(item.candidate) for item in items) / 4000 == pytest.approx(0.62, abs=0.03)
    assert sum(item.unusable for item in items) / 4000 == pytest.approx(0.1, abs=0.02)


@settings(max_examples=15)
@given(SEEDS)
def test_no_error_is_one_that_the_checks_would_not_let_pass(seed: int) -> None:
    item = an_item(seed)
    toolset = CompiledToolset.of(canonical({"tools": read_tools(TOOLS)}))
    kinds = {kind.key for kind in TAXONOMY}
    clean = run_checks(item.original.document(), toolset, stage="submit", settings=SETTINGS)
    assert {finding.severity for finding in clean} <= {"info"}
    for point in item.original.points:
        for wrong in point.wrong_values:
            document = item.original.document()
            put(document, point, wrong.value)
            found = run_checks(read_document(document), toolset, stage="submit", settings=SETTINGS)
            assert {finding.severity for finding in found} <= {"info", "warning"}
            assert [one.anchor for one in item.errors(document)] == [point.anchor]
            assert wrong.kind in kinds
            assert point.kind_of(wrong.value) == wrong.kind


@pytest.mark.parametrize("rates", [{"baseline": 1.2}, {"false_alarm": -0.1}, {"baseline": 0.9, "unusable": 0.2}])
def test_impossible_rates_are_refused(rates: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=r"probability|unusable"):
        Rates(**rates)


# --- looks ----------------------------------------------------------------------------------


@given(SEEDS)
def test_who_sees_everything_hands_in_the_truth(seed: int) -> None:
    item = faulty(seed)
    judgement = look(someone(detection=1.0), item)
    assert judgement.verdict is Verdict.FIX
    assert content_hash(canonical(judgement.document)) == item.truth
    assert {point.anchor for point in judgement.changed} == {point.anchor for point in item.planted}
    kinds = [kind for _, kind in judgement.kinds(load_text(item.candidate))]
    assert set(kinds) <= {wrong.kind for point in item.planted for wrong in point.wrong_values}


@given(SEEDS)
def test_who_sees_nothing_approves(seed: int) -> None:
    item = faulty(seed)
    judgement = look(someone(detection=0.0), item)
    assert (judgement.verdict, judgement.changed) == (Verdict.APPROVE, ())
    assert judgement.document == load_text(item.candidate)


@given(SEEDS, st.floats(0, 1), st.floats(0, 1), st.floats(0, 1), st.floats(0, 1))
def test_a_verdict_says_what_was_done(seed: int, sees: float, alarm: float, escalation: float, mistaken: float) -> None:
    item = an_item(seed, baseline=0.3, unusable=0.2)
    seen = load_text(item.candidate)
    person = someone(detection=sees, false_alarm=alarm, escalation=escalation, mistaken=mistaken)
    judgement = look(person, item, seed=seed)
    assert judgement == look(person, item, seed=seed)
    assert seen == load_text(item.candidate)
    changed = [
        point.anchor for point in item.original.points if value_at(judgement.document, point) != value_at(seen, point)
    ]
    assert read_document(judgement.document) == judgement.document
    if judgement.verdict is Verdict.FIX:
        assert changed == [point.anchor for point in judgement.changed] != []
    else:
        assert changed == []
    assert item.unusable or judgement.verdict is not Verdict.REJECT


@given(SEEDS)
def test_only_what_is_offered_is_said(seed: int) -> None:
    item = an_item(seed, baseline=0.0, unusable=1.0)
    person = someone(detection=1.0, escalation=1.0)
    seen = load_text(item.candidate)
    for offered in ((Verdict.APPROVE, Verdict.FIX), (Verdict.APPROVE, Verdict.FIX, Verdict.REJECT), ALL):
        judgement = judge(person=person, item=item, seen=seen, offered=offered, chance=random.Random(seed))
        assert judgement.verdict in offered
        assert (judgement.verdict is Verdict.REJECT) == (Verdict.REJECT in offered)


def test_errors_are_seen_as_often_as_said() -> None:
    items = build_model(
        seed=3, dialogues=3000, annotators=1, experts=0, rates=Rates(baseline=0, unusable=0, another_error=0)
    ).items
    person = someone(detection=0.4)
    seen = sum(look(person, item, seed=n).verdict is Verdict.FIX for n, item in enumerate(items))
    assert seen / len(items) == pytest.approx(0.4, abs=0.03)


def test_false_alarms_spoil_as_often_as_said() -> None:
    item = an_item(1, baseline=1.0, unusable=0.0)
    person = someone(detection=1.0, false_alarm=0.2)
    judgements = [look(person, item, seed=n) for n in range(3000)]
    assert sum(one.verdict is Verdict.FIX for one in judgements) / 3000 == pytest.approx(0.2, abs=0.03)
    assert all(len(one.changed) == 1 for one in judgements if one.verdict is Verdict.FIX)


# --- disputes ----------------------------------------------------------------------------------


def spoiled(item: Item, seed: int, start: dict[str, Any]) -> dict[str, Any]:
    """A copy of ``start`` with some places wrong."""
    chance = random.Random(seed)
    document = load_text(canonical(start))
    for point in chance.sample(item.original.points, 2):
        put(document, point, chance.choice(point.wrong_values).value)
    return document


@given(SEEDS)
def test_an_expert_who_sees_everything_finds_the_truth(seed: int) -> None:
    item = an_item(seed, baseline=1.0, unusable=0.0)
    base = item.original.document()
    left, right = (spoiled(item, seed + n, base) for n in (1, 2))
    judgement = settle(
        person=someone(detection=1.0), item=item, base=base, left=left, right=right, chance=random.Random(seed)
    )
    both = [p for p in item.original.points if value_at(left, p) == value_at(right, p) != value_at(base, p)]
    # Equal changes are no dispute, so nobody rules on them.
    assert [point.anchor for point in item.errors(judgement.document)] == [point.anchor for point in both]


@given(SEEDS, st.floats(0, 1))
def test_an_expert_chooses_between_the_sides_or_the_truth(seed: int, sees: float) -> None:
    item = faulty(seed)
    base = load_text(item.candidate)
    left, right = (spoiled(item, seed + n, base) for n in (1, 2))
    judgement = settle(
        person=someone(detection=sees), item=item, base=base, left=left, right=right, chance=random.Random(seed)
    )
    for point in item.original.points:
        value = value_at(judgement.document, point)
        assert value in (point.right, value_at(left, point), value_at(right, point))
    assert (judgement.verdict is Verdict.APPROVE) == (judgement.document == base)


def test_an_expert_rejects_what_cannot_be_saved() -> None:
    item = an_item(4, baseline=0.0, unusable=1.0)
    seen = load_text(item.candidate)
    judgement = settle(
        person=someone(detection=1.0), item=item, base=seen, left=seen, right=seen, chance=random.Random(0)
    )
    assert judgement.verdict is Verdict.REJECT


# --- planted beside measured ----------------------------------------------------------------------------------


def test_an_interval_holds_its_ends() -> None:
    figure = Figure("f", 0.5, 10, 0.25, 0.75)
    assert [holds(figure, truth) for truth in (0.2499, 0.25, 0.5, 0.75, 0.7501)] == [False, True, True, True, False]
    assert holds(replace(figure, low=None), 0.5) is None
    assert compared(figure, None)["covers"] is None
    assert compared(figure, 0.8) == {
        "planted": 0.8, "measured": 0.5, "n": 10, "low": 0.25, "high": 0.75, "covers": False,
    }  # fmt: skip


def test_patterns_are_counted_of_blind_first_looks_alone() -> None:
    item = an_item(2, baseline=1.0, unusable=0.0)
    truth = item.original.document()
    pair = [SubmittedReview("fix", truth), SubmittedReview("approve", truth)]
    first = RunFacts(StageKind.CROSS_CHECK, True, 2)
    assert planted_patterns([(first, pair)])["verdict"].to_json() == {'["approve","fix"]': 1}
    assert planted_patterns([(replace(first, round=2), pair), (replace(first, blind=False), pair)]) == {}
