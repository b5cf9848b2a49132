"""Items of a release that were withdrawn, and scores without them.

They are no longer verified as they were released, or have a confirmed erratum.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q
from django.utils.translation import gettext as _

from annotator.core.text import gettext_noop
from annotator.errors import Conflict
from annotator.models import Dialogue, Job, JobState, User
from annotator.models.content import DialogueStatus
from annotator.services.access.permissions import require_administrator
from annotator.services.jobs.jobs import Running, job_kind, start_job, wake
from benchmark.core.scoring.items import dialogue_of
from benchmark.core.scoring.statistics import add_up, share
from benchmark.models import Erratum, Figure, Recount, Release, ReleaseItem, ScoreSet
from benchmark.services.runs.boards import KEPT, current_sets
from benchmark.services.runs.entries import items_by_name
from reviews.models import Cycle
from reviews.services.cycles.start import supersede_cycle

KIND = "recount"


def withdrawn_items(release: Release) -> list[int]:
    """Return keys of the items of a release that are in review again, archived, verified with other content, or have a
    confirmed erratum.
    """
    changed = ~Q(dialogue__status=DialogueStatus.VERIFIED) | Q(dialogue__archived_at__isnull=False)
    changed |= ~Q(dialogue__head=F("revision")) | Q(Exists(Erratum.objects.filter(item=OuterRef("pk"))))
    items = ReleaseItem.objects.filter(release=release).filter(changed)
    return sorted(items.values_list("pk", flat=True))


def reopen_item(*, actor: User, item: ReleaseItem, reason: str) -> Cycle:
    """Send an item of a release back to review, from the first stage on, in the caller's transaction. The release stays
    as it is. Everyone who reviews the item may read the reason.

    The caller has checked the permission. Raises Conflict if the item is in review already, archived or claimed.
    """
    # Locked, so that of two people who send it back at once the second learns that it is in review.
    dialogue = Dialogue.objects.select_for_update(no_key=True).get(pk=item.dialogue_id)
    if dialogue.status != DialogueStatus.VERIFIED or dialogue.archived_at is not None:
        raise Conflict(
            _("%(dialogue)s is not verified any more: it is in review already, or archived.")
            % {"dialogue": dialogue.external_id}
        )
    return supersede_cycle(actor=actor, dialogue=dialogue, reason=reason, if_idle=True)


@dataclass(frozen=True, slots=True)
class Counted:
    """How many items of a release were withdrawn, and whether its scores are counted without exactly these."""

    withdrawn: int
    current: bool


def read_recount(release: Release) -> Counted:
    """Return what the leaderboard of a release says about withdrawn items."""
    gone, recount = withdrawn_items(release), latest_recount(release)
    return Counted(len(gone), (recount.items if recount else []) == gone)


def latest_recount(release: Release) -> Recount | None:
    """Return the recount that counts."""
    return Recount.objects.filter(release=release, complete=True).order_by("-pk").first()


def start_recount(*, actor: User, release: Release, wake_worker: bool = True) -> Recount:
    """Start to count the scores of a release without its withdrawn items, or return the recount that is yet to do so.

    Raises Denied.
    """
    require_administrator(actor=actor, project=release.project)
    with transaction.atomic():
        # Locked until the caller commits: a job that has not begun reads what the caller changed.
        queued = Job.objects.select_for_update(no_key=True, skip_locked=True, of=("self",)).filter(
            recount__release=release, state=JobState.QUEUED
        )
        if (waiting := queued.first()) is not None:
            if wake_worker:
                # A worker skips a locked job, so it may have missed its message.
                transaction.on_commit(lambda: wake(waiting))
            return waiting.recount
        job = start_job(
            actor=actor, project=release.project, kind=KIND, parameters={"release": release.public_id},
            wake_worker=wake_worker,
        )  # fmt: skip
        return Recount.objects.create(release=release, job=job, requester=actor)


@job_kind(KIND, gettext_noop("Scores without withdrawn items"), quiet=True)
def run_recount(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``recount``."""
    recount = Recount.objects.select_related("release").get(job=running.job)
    if not recount.complete:
        with running.chunk() as chunk:
            # Locked, so that runs that are scored meanwhile are counted by one of the two.
            release = Release.objects.select_for_update(no_key=True).get(pk=recount.release_id)
            recount.items = withdrawn_items(release)
            count_kept(release, current_sets(release), recount.items)
            recount.complete = True
            recount.save()
            chunk.advance(done=1, total=1, note="")
    return {"items": len(recount.items)}


def count_kept(release: Release, sets: Iterable[ScoreSet], items: list[int]) -> None:
    """Store what the runs have right of the other items; nothing if no item was withdrawn."""
    withdrawn = set(items)

    @cache
    def withdrawn_names(family: str, language: str) -> set[str]:
        return {name for name, item in items_by_name(release, family, language).items() if item in withdrawn}

    for score_set in sets:
        Figure.objects.filter(score_set=score_set, name=KEPT[0], cell=KEPT[1]).delete()
        if not items:
            continue
        run = score_set.run
        left_out = withdrawn_names(run.family, run.language)
        triples = (
            (name, int(right), 1)
            for entry, right in score_set.scores.values_list("entry", "right").iterator(chunk_size=10_000)
            if (name := dialogue_of(run.family, entry)) not in left_out
        )
        figure = share(KEPT[0], add_up(triples))
        Figure.objects.create(
            score_set=score_set, name=KEPT[0], cell=KEPT[1], n=figure.n, value=figure.value, low=figure.low,
            high=figure.high,
        )  # fmt: skip
