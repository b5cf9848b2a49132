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

from reviews.core.agreement.figures import LEVEL, t_quantile, z_quantile

#: Dialogues that the estimate gives up: as if so many more of them had tasks that are all alike.
CAUTION = 1.5
#: From so many dialogues on, intervals are as wide as they should be (docs/agreement.md).
MANY_DIALOGUES = 15


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


def differ_by_more_than_chance(groups: Sequence[tuple[int, int]]) -> bool:
    """Tell whether the shares of groups differ, by Pearson's chi-square test at 5 %. ``groups``: (right, of) of each.

    The quantile is that of Wilson and Hilferty (1931).
    """
    right, n = sum(one for one, _ in groups), sum(of for _, of in groups)
    freedom = sum(of > 0 for _, of in groups) - 1
    if freedom < 1 or right in (0, n):
        return False
    share = right / n
    chi_square = math.fsum((one - of * share) ** 2 / (of * share * (1 - share)) for one, of in groups if of)
    part = 2 / (9 * freedom)
    return chi_square > freedom * (1 - part + z_quantile(0.9) * math.sqrt(part)) ** 3


def effect_of_groups(groups: Sequence[tuple[int, int]], level: float = LEVEL) -> float:
    """Return the design effect of groups that are a sample of others, at least 1. ``groups``: (right, of) of each.

    It is the variance over groups divided by that of independent items, and with few groups more, as Student's t is
    wider than the normal distribution. Raises ValueError for fewer than two groups.
    """
    known = [(one, of) for one, of in groups if of]
    if len(known) < 2:
        raise ValueError("Two groups are needed.")
    right, n = sum(one for one, _ in known), sum(of for _, of in known)
    if right in (0, n):
        return 1.0
    share = right / n
    between = math.fsum((one - of * share) ** 2 for one, of in known) * len(known) / (len(known) - 1)
    wider = (t_quantile(len(known) - 1, level) / z_quantile(level)) ** 2
    return max(1.0, between / (n * share * (1 - share)) * wider)
