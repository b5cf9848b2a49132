"""The design effect of dialogues: how much less their tasks tell than as many tasks of different dialogues.

Tasks of one dialogue are alike, since some dialogues are harder than others. The variance of a statistic is then that
of its sum over dialogues. With u_j what one unit of pattern j adds to the statistic (its derivative by the number of
such units, centred), c_j the number of them and m_jk the number of pairs of units in one dialogue with patterns j and k

    deff = (Σ_j c_j u_j² + 2 Σ_jk m_jk u_j u_k) / Σ_j c_j u_j²

It is the variance over dialogues divided by the variance of independent units (Kish 1965; Rao and Scott 1992). n units
tell as much as n / deff independent ones. Only pairs are counted, so counts of weeks and of stages can be added.
"""

import math
from collections.abc import Sequence

from annotator.core.text import gettext_noop

#: Dialogues that the estimate gives up: as if so many more of them had tasks that are all alike.
CAUTION = 1.5
#: From so many dialogues on, intervals are as wide as they should be (docs/agreement.md).
MANY_DIALOGUES = 15
FEW_DIALOGUES = gettext_noop(
    "The tasks are from fewer than 15 dialogues. Perhaps none of the difficult ones is among them, so the interval may "
    "be too narrow."
)


def design_effect(units: Sequence[tuple[float, int]], pairs: Sequence[tuple[float, float, int]]) -> float:
    """Return the design effect; 1 exactly if no dialogue has two units.

    ``units``: (u_j, c_j), with Σ c_j u_j = 0. ``pairs``: (u_j, u_k, m_jk), in any order, which does not change a digit.

    The estimate from few dialogues is uncertain, and too low if no difficult dialogue is among them. So it is moved
    towards the highest value it can have, that of dialogues whose tasks are all alike. With d = n² / Σ n_i² dialogues
    of n_i tasks (fewer than there are if their sizes differ), that value is n / d (our choice, checked in
    docs/agreement.md).
    """
    together = sum(times for _, _, times in pairs)
    if not together:
        return 1.0
    n = sum(times for _, times in units)
    alone = math.fsum(u * u * times for u, times in units)
    highest = 1 + 2 * together / n
    dialogues = n / highest
    if alone <= 1e-18:
        return highest
    shared = math.fsum(one * other * times for one, other, times in pairs)
    # The sum of squares over dialogues is not below 0, but pairs may have been left out.
    found = max(0.0, 1 + 2 * shared / alone)
    return max(found, highest - (highest - found) * max(0.0, 1 - CAUTION / dialogues))
