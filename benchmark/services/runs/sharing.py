"""Public links to leaderboards: off by default, for everyone who knows the link, without answers or references."""

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Hidden
from annotator.models import User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from benchmark.models import Release, ReleaseState, SharedBoard


def find_shared(*, actor: User, release: Release) -> SharedBoard | None:
    """Return the public link of a leaderboard, None if it is off. Raises Denied for anyone but administrators."""
    require_administrator(actor=actor, project=release.project)
    return SharedBoard.objects.filter(release=release).select_related("requester").first()


def share_board(*, actor: User, release: Release, renew: bool = False) -> SharedBoard:
    """Make the leaderboard of a release public; a shared one keeps its link, unless ``renew`` ends that.

    Raises Denied and Conflict.
    """
    require_administrator(actor=actor, project=release.project)
    if release.state != ReleaseState.FROZEN:
        raise Conflict(_("Only scores of a frozen release can be shared."))
    with transaction.atomic():
        if renew:
            unshare_board(actor=actor, release=release)
        shared, created = SharedBoard.objects.get_or_create(release=release, defaults={"requester": actor})
        if created:
            _tell(actor, release, "scores.shared")
    return shared


def unshare_board(*, actor: User, release: Release) -> None:
    """End the public link of a leaderboard; if it is shared again, the link is another. Raises Denied."""
    require_administrator(actor=actor, project=release.project)
    with transaction.atomic():
        if SharedBoard.objects.filter(release=release).delete()[0]:
            _tell(actor, release, "scores.unshared")


def load_shared(token: str) -> Release:
    """Return the release whose leaderboard has a public link. Raises Hidden."""
    # PostgreSQL takes no text with a NUL.
    known = SharedBoard.objects.filter(token=token) if token.isprintable() else SharedBoard.objects.none()
    found = known.select_related("release__project").first()
    if found is None:
        raise Hidden(_("There are no such scores, or they are not public any more."))
    return found.release


def _tell(actor: User, release: Release, kind: str) -> None:
    append_event(actor=actor, project=release.project, kind=kind, after={"version": release.version})
