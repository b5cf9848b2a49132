"""Read the errata log of a release."""

from collections.abc import Iterator

from django.utils.translation import gettext as _

from annotator.errors import Conflict
from annotator.models import User
from benchmark.models import Erratum, Release
from benchmark.services.releases.requests import oversees
from reviews.models import Cycle, CycleState
from reviews.services.cycles.sending_back import may_be_sent_back


def may_read_log(*, actor: User, release: Release) -> bool:
    """Return whether the actor may read the log: people who oversee the project at any time, others while none of its
    items is in review and no open audit can send one back. Otherwise reviewers would read what they must find.
    """
    if oversees(actor=actor, project=release.project):
        return True
    dialogues = set(Erratum.objects.filter(release=release).values_list("item__dialogue", flat=True))
    in_review = Cycle.objects.filter(dialogue__in=dialogues, state=CycleState.ACTIVE)
    return not (dialogues and (in_review.exists() or may_be_sent_back(*dialogues)))


def read_log(*, actor: User, release: Release) -> Iterator[bytes]:
    """Return the lines of ``errata.jsonl``. Raises Conflict while the actor may not read them."""
    if not may_read_log(actor=actor, release=release):
        raise Conflict(
            _(
                "An item of this errata log is in review again. Its reviewers must not know what was reported, so only "
                "administrators and senior reviewers can read the log now. Try again when the review is over."
            )
        )
    lines = Erratum.objects.filter(release=release).order_by("number").values_list("line", flat=True)
    return (f"{line}\n".encode() for line in lines.iterator(chunk_size=500))
