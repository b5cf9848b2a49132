"""How many dialogues an interval takes, by hand and against the intervals themselves."""

import math

import pytest

from reviews.core.agreement import Figure, PatternCounts, dialogues_needed, fleiss_kappa, more_dialogues, roughly
from reviews.core.agreement.clusters import FEW_DIALOGUES


def test_two_reviewers_by_hand() -> None:
    # Bloch and Kraemer 1989: (1 - κ) ((1 - κ) (1 - 2κ) + κ (2 - κ) / (2 p (1 - p))).
    # p = 0.5, κ = 0.8: 0.2 · (0.2 · -0.6 + 0.96 / 0.5) = 0.36; 0.36 · (1.96 / 0.1)² = 138.3.
    assert dialogues_needed(2, 0.5, 0.8) == 139
    # p = 0.05, κ = 0.6: 0.4 · (0.4 · -0.2 + 0.84 / 0.095) = 3.50484; · 384.146 = 1346.4.
    assert dialogues_needed(2, 0.05, 0.6) == 1347
    # Half the width takes four times as many: 553.2.
    assert dialogues_needed(2, 0.5, 0.8, half_width=0.05) == 554


def test_three_reviewers_without_agreement_by_hand() -> None:
    # Each of three says a or b by chance: they agree in 2 of 8 cases (share 1) and else in a third of the pairs.
    # u = (share - 1/2) / (1/2): 1 in a quarter, -1/3 in the rest; variance 1/4 + 3/4 / 9 = 1/3; · 384.146 = 128.05.
    assert dialogues_needed(3, 0.5, 0.0) == 129


def test_tasks_of_a_dialogue_tell_less_than_as_many_dialogues() -> None:
    # Four tasks with a correlation of 0.3 tell as much as 4 / 1.9 of them: 138.3 · 1.9 / 4 = 65.7.
    assert dialogues_needed(2, 0.5, 0.8, tasks=4, alike=0.3) == 66
    assert dialogues_needed(2, 0.5, 0.8, tasks=4, alike=1.0) == dialogues_needed(2, 0.5, 0.8)
    assert dialogues_needed(2, 0.5, 0.8, tasks=4, alike=0.0) == 35


@pytest.mark.parametrize(("reviewers", "rarest", "kappa"), [(2, 0.5, 0.6), (2, 0.1, 0.8), (3, 0.2, 0.7), (5, 0.3, 0.4)])
def test_so_many_dialogues_give_about_that_interval(reviewers: int, rarest: float, kappa: float) -> None:
    units = dialogues_needed(reviewers, rarest, kappa)
    expected: dict[tuple[str, ...], float] = {}
    for said in range(reviewers + 1):
        pattern = ("a",) * said + ("b",) * (reviewers - said)
        chance = math.comb(reviewers, said) * rarest**said * (1 - rarest) ** (reviewers - said)
        expected[pattern] = units * (
            (1 - kappa) * chance + kappa * ((said == reviewers) * rarest + (said == 0) * (1 - rarest))
        )
    figure = fleiss_kappa(PatternCounts({pattern: round(count) for pattern, count in expected.items()}))
    assert figure.value == pytest.approx(kappa, abs=0.02)
    assert figure.low is not None
    assert figure.high is not None
    assert (figure.high - figure.low) / 2 == pytest.approx(0.1, abs=0.007)


@pytest.mark.parametrize("wrong", [(1, 0.5, 0.5), (2, 0.0, 0.5), (2, 0.6, 0.5), (2, 0.5, 1.0)])
def test_what_is_no_plan_is_refused(wrong: tuple[int, float, float]) -> None:
    with pytest.raises(ValueError, match="reviewers"):
        dialogues_needed(*wrong)


def test_a_figure_says_how_many_more_dialogues_it_takes() -> None:
    # Ten dialogues of two tasks with ± 0.2 take four times as many for ± 0.1.
    assert PatternCounts.of_dialogues([[("a", "a"), ("a", "b")]] * 10).dialogues() == 10
    assert more_dialogues(Figure("", 0.5, 20, 0.3, 0.7, dialogues=10)) == 30
    assert more_dialogues(Figure("", 0.5, 20, 0.41, 0.6, dialogues=10)) == 0
    assert more_dialogues(Figure("", 0.5, 20, 0.41, 0.6, dialogues=10, caution=FEW_DIALOGUES)) == 5
    assert more_dialogues(Figure("", 0.5, 20, dialogues=10)) is None
    assert more_dialogues(Figure("", 0.5, 9, 0.0, 1.0, dialogues=10)) is None
    assert [roughly(number) for number in (7, 41, 138, 1347, 1400)] == [7, 41, 140, 1400, 1400]
