"""Statistics of a release: counted once, from its frozen content, and kept with what else was frozen."""

from typing import Any

from annotator.core.text import gettext_noop
from annotator.models import Revision
from annotator.services.jobs.jobs import Running
from benchmark.models import Release, ReleaseItem, ReleaseState
from benchmark.services.dataset_statistics.counting import SLICE, Counting

#: Where ``Release.frozen`` has them: ``DatasetStatistics.summary``. Releases from before have none.
STATISTICS = "statistics"


def count_release(running: Running, release: Release) -> None:
    """Count and store the statistics of a release whose items are frozen, unless they are stored.

    The archive is written from what is stored, so a later version that counts otherwise builds it as it was.
    """
    if STATISTICS in release.frozen:
        return
    keys = list(ReleaseItem.objects.filter(release=release).order_by("pk").values_list("revision_id", flat=True))
    counting = Counting()
    for start in range(0, len(keys), SLICE):
        counting.add(Revision.objects.all(), keys[start : start + SLICE])
        with running.chunk() as chunk:
            done = min(start + SLICE, len(keys))
            chunk.advance(done=done, total=len(keys), note=gettext_noop("Counting what it consists of"))
    with running.chunk():
        release.frozen[STATISTICS] = counting.statistics.summary()
        Release.objects.filter(pk=release.pk).update(frozen=release.frozen)
    # As the database returns it, so that every build reads the same.
    release.refresh_from_db()


def statistics_of(release: Release) -> dict[str, Any] | None:
    """Return the statistics of a frozen release; None if it was frozen before there were any, or is not frozen yet."""
    found: dict[str, Any] | None = release.frozen.get(STATISTICS)
    return found if release.state == ReleaseState.FROZEN else None
