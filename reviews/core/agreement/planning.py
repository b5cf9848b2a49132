"""How many dialogues an interval of a given width takes: before there are reviews, and beside a figure.

Before there are reviews, the variance of a kappa is that of a model with two values: the rarer one with share p, and
the other. In a share kappa of the units, all reviewers say the same value; in the rest, each of them draws one (for two
reviewers, this is the model of Bloch and Kraemer 1989). Kappa of n units then has the variance Σ_j w_j u_j² / n over
patterns j of share w_j, with the derivatives u_j of Fleiss' kappa. Tasks of one dialogue are alike: m of them tell as
much as m / (1 + (m - 1) ρ) independent ones, with ρ their correlation (Kish 1965).
"""

import math
from functools import lru_cache

from reviews.core.agreement.clusters import FEW_DIALOGUES, MANY_DIALOGUES
from reviews.core.agreement.figures import LEVEL, Figure, z_quantile

#: The half width of an interval that is narrow enough, and the correlation of tasks that is assumed beforehand.
HALF_WIDTH, ALIKE = 0.1, 0.3
#: Units from which on a figure tells how many dialogues are needed.
FEWEST = 10


@lru_cache(maxsize=256)
def dialogues_needed(
    reviewers: int,
    rarest: float,
    kappa: float,
    *,
    tasks: float = 1.0,
    alike: float = ALIKE,
    half_width: float = HALF_WIDTH,
    level: float = LEVEL,
) -> int:
    """Return how many dialogues of so many tasks give an interval of kappa of ± ``half_width``.

    ``rarest``: the share of the rarer value, above 0 and up to 0.5. ``kappa``: the expected one, from 0 to below 1.
    Raises ValueError for fewer than two reviewers, less than one task, or shares outside these ranges.
    """
    if reviewers < 2 or tasks < 1 or not 0 < rarest <= 0.5 or not 0 <= kappa < 1 or half_width <= 0:
        raise ValueError("Two reviewers, a task, a share up to 0.5 and a kappa below 1 are needed.")
    expected = rarest**2 + (1 - rarest) ** 2
    variance = 0.0
    for said in range(reviewers + 1):
        weight = math.comb(reviewers, said) * rarest**said * (1 - rarest) ** (reviewers - said) * (1 - kappa)
        weight += kappa * {0: 1 - rarest, reviewers: rarest}.get(said, 0.0)
        pairs = said * (said - 1) + (reviewers - said) * (reviewers - said - 1)
        agreed = pairs / (reviewers * (reviewers - 1))
        # The derivatives of (p_o - p_e) / (1 - p_e); 1 - p_o is (1 - kappa) (1 - p_e).
        chance = (4 * rarest - 2) * (said / reviewers - rarest)
        change = agreed - (kappa + (1 - kappa) * expected) - (1 - kappa) * chance
        variance += weight * (change / (1 - expected)) ** 2
    units = variance * (z_quantile(level) / half_width) ** 2
    return max(2, math.ceil(units * (1 + (tasks - 1) * alike) / tasks - 1e-9))


def more_dialogues(figure: Figure, half_width: float = HALF_WIDTH) -> int | None:
    """Return how many more dialogues give this figure an interval of ± ``half_width``, if they are like those counted.

    The width of an interval falls with the square root of their number. 0 if the interval is narrow enough already and
    there are enough dialogues to rely on it; None if there is none to tell from, or fewer than ``FEWEST`` units.
    """
    if figure.low is None or figure.high is None or figure.dialogues is None or figure.n < FEWEST:
        return None
    times = ((figure.high - figure.low) / 2 / half_width) ** 2
    fewest = MANY_DIALOGUES if figure.caution == FEW_DIALOGUES else 0
    return math.ceil(max(figure.dialogues * (times - 1), fewest - figure.dialogues, 0))


def roughly(number: int) -> int:
    """Return a number rounded up to two digits."""
    step = int(10 ** max(0, len(str(number)) - 2))
    return -(-number // step) * step
