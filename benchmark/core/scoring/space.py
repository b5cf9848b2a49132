"""The space of tasks that a run covers: policy, place and information of each, and sequences of policies (4^N)."""

from collections.abc import Iterable, Sequence
from typing import Any

from annotator.core.coverage import MAX_TASKS
from benchmark.core.scoring.counts import Tally

#: Between the parts of a cell's name.
SIGN = "|"


def space_of(entries: Iterable[tuple[Sequence[str | None], str | None, bool]]) -> dict[str, Any]:
    """Return [right, of] by “policy|place|information” (``tasks``; the place counts from 1) and by the policies up to
    the task (``sequences``, the first four tasks).

    ``entries``: the policies up to the task, its information, and whether it is right. Tasks without a label are left
    out.
    """
    tasks, sequences = Tally(), Tally()
    for policies, information, right in entries:
        if policies[-1] is not None:
            tasks.add(SIGN.join((policies[-1], str(len(policies)), information or "")), right)
        if len(policies) <= MAX_TASKS and None not in policies:
            sequences.add(SIGN.join(map(str, policies)), right)
    return {"tasks": tasks.as_json(), "sequences": sequences.as_json()}
