"""Entries that runs show to be notable, and sending an item back to review because of its scores."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from django.db import transaction
from django.db.models import Count, QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden
from annotator.models import Dialogue, User
from annotator.services.access.permissions import require_administrator
from benchmark.core.scoring.items import Flag
from benchmark.models import EntryStatistic, Release, Score, SentBack
from benchmark.services.releases.requests import oversees
from benchmark.services.runs.boards import current_sets
from benchmark.services.runs.withdrawn import reopen_item, start_recount
from reviews.models import Cycle, CycleState
from reviews.services.cycles.sending_back import may_be_sent_back

#: Flags that speak against the reference.
SUSPECT = (Flag.SAME_ANSWER, Flag.NONE_RIGHT, Flag.NEGATIVE)
#: Different answers to an entry that are read.
MAX_ANSWERS = 20
#: What everyone who reviews the item may read: it says nothing of what the models answered.
REASON = "Scores of release %(version)s raise a doubt about the reference of %(entry)s."


def list_statistics(release: Release, *, flag: str = "") -> QuerySet[EntryStatistic]:
    """Return the entries of a release, or those with a flag."""
    found = EntryStatistic.objects.filter(release=release).select_related("item__dialogue")
    return found.filter(flag=flag) if flag else found


def count_flags(release: Release) -> dict[str, int]:
    """Return how many entries have each flag."""
    rows = EntryStatistic.objects.filter(release=release).values_list("flag").annotate(Count("pk"))
    return dict(rows.order_by())


def load_statistic(release: Release, key: str) -> EntryStatistic:
    """Return the statistics of one entry. Raises Hidden."""
    found = list_statistics(release).filter(pk=int(key)).first() if _is_key(key) else None
    if found is None:
        raise Hidden(_("There is no such entry in the release."))
    return found


def load_answer(statistic: EntryStatistic, key: str) -> Score:
    """Return what one run earned on the entry, by any version of the scorers, with its prediction. Raises Hidden."""
    found = None
    if _is_key(key):
        same = Score.objects.filter(entry=statistic.entry, score_set__run__release=statistic.release_id)
        rows = same.select_related("score_set__run", "prediction").defer("detail", "score_set__summary")
        found = rows.filter(pk=int(key), score_set__complete=True).first()
    if found is None:
        raise Hidden(_("There is no such answer to the entry."))
    return found


def _is_key(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) < 19


def statistic_of(score: Score) -> EntryStatistic | None:
    """Return what all runs made of the entry of a score."""
    run = score.score_set.run
    return (
        EntryStatistic.objects.filter(
            release=run.release_id, family=run.family, language=run.language, entry=score.entry
        )
        .select_related("item__dialogue")
        .first()
    )


def answers_to(statistic: EntryStatistic, *, with_predictions: bool = False, limit: int = 100) -> list[Score]:
    """Return what the runs earned on the entry, those with the same answer next to each other.

    ``with_predictions``: with what they said, which may be large.
    """
    sets = current_sets(statistic.release).filter(run__family=statistic.family, run__language=statistic.language)
    rows = Score.objects.filter(score_set__in=sets.values("pk"), entry=statistic.entry)
    related = ("score_set__run", "prediction") if with_predictions else ("score_set__run",)
    return list(
        rows.select_related(*related).defer("detail", "score_set__summary")
        .order_by("right", "said", "score_set__run__model")[:limit]
    )  # fmt: skip


@dataclass
class Answer:
    """What several runs answered to an entry: the content of a prediction, None for no answer, and their names."""

    content: Any
    right: bool
    runs: list[str] = field(default_factory=list)


def group_answers(scores: Sequence[Score]) -> list[Answer]:
    """Return the different answers to an entry, those that most runs gave first. The scores have predictions."""
    found: dict[Any, Answer] = {}
    for score in scores:
        run = score.score_set.run
        name = f"{run.model} #{run.attempt}" if run.attempt > 1 else run.model
        content = score.prediction.content if score.prediction else None
        found.setdefault(score.said or score.pk, Answer(content, score.right)).runs.append(name)
    return sorted(found.values(), key=lambda one: -len(one.runs))[:MAX_ANSWERS]


def send_back(*, actor: User, statistic: EntryStatistic) -> Dialogue:
    """Send the item of an entry back to review, from the first stage on. The release stays as it is.

    Raises Denied for anyone but administrators, Conflict if the item is in review already or is claimed.
    """
    release = statistic.release
    require_administrator(actor=actor, project=release.project)
    if statistic.item is None:
        raise Conflict(_("This entry belongs to no item of the release."))
    with transaction.atomic():
        reason = REASON % {"version": release.version, "entry": statistic.entry}
        cycle = reopen_item(actor=actor, item=statistic.item, reason=reason)
        record_sent_back(actor=actor, statistic=statistic, cycle=cycle)
        start_recount(actor=actor, release=release)
    return cycle.dialogue


def record_sent_back(*, actor: User, statistic: EntryStatistic, cycle: Cycle) -> SentBack:
    """Record the scores because of which an item is in review: its reviewers see the answers after the review."""
    return SentBack.objects.create(
        release=statistic.release, statistic=statistic, dialogue=cycle.dialogue, cycle=cycle, requester=actor
    )


def load_answers(*, actor: User, dialogue: Dialogue) -> list[tuple[SentBack, list[Answer]]]:
    """Return the entries for which a dialogue was sent back, with what models answered.

    Raises Hidden if there is nothing that the actor may see.
    """
    rows = sent_back_to(actor=actor, dialogue=dialogue)
    if not rows:
        raise Hidden(_("There are no answers of models to this dialogue that you can see."))
    return [(row, group_answers(answers_to(row.statistic, with_predictions=True))) for row in rows]


def sent_back_to(*, actor: User, dialogue: Dialogue) -> list[SentBack]:
    """Return why a dialogue was sent back, where the actor may see what the models answered: people who see the scores
    at any time, reviewers of that cycle when the dialogue is not in review and no open audit can send it back.

    Their verdict is not enough: a later stage, round or cycle may need another one from them.
    """
    rows = SentBack.objects.filter(dialogue=dialogue).select_related("statistic__release", "release").order_by("-pk")
    if not oversees(actor=actor, project=dialogue.project):
        rows = rows.filter(cycle__stage_runs__reviews__person=actor).distinct()
        active = Cycle.objects.filter(dialogue=dialogue, state=CycleState.ACTIVE)
        if rows and (active.exists() or may_be_sent_back(dialogue)):
            return []
    return list(rows)
