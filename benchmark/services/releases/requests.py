"""Start, show and check releases."""

import logging
import re
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.jobs.jobs import start_job
from annotator.services.quotas import require_quota
from benchmark.core.formats import WRITTEN
from benchmark.models import LeftOutDialogue, Release, ReleaseItem, ReleaseState
from benchmark.services.releases.building import can_be_built
from benchmark.services.releases.freezing import published_in
from benchmark.services.stored_files import full_path, sha256_as_stored, sha256_of
from reviews.models import GoldItem

_LOG = logging.getLogger(__name__)

VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


def start_release(
    *,
    actor: User | None,
    project: Project,
    version: str,
    native_format: str,
    require_all: bool = False,
    leave_out_gold: bool = False,
    wake_worker: bool = True,
) -> Release:
    """Start a job that freezes all verified dialogues. ``actor`` None is the command line.

    ``leave_out_gold``: leave out the answers of gold items in use; else the release makes them public, so these items
    are retired. Raises Denied for anyone but administrators, Invalid for an invalid version or format, Conflict if the
    project has that version, OverQuota if its files have used up its quota.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    if native_format not in WRITTEN:
        raise Invalid(
            _("A release can’t be written as “%(name)s”. Choose one of: %(formats)s.")
            % {"name": native_format, "formats": ", ".join(WRITTEN)}
        )
    if VERSION.fullmatch(version) is None:
        raise Invalid(
            _(
                "A version has at most 40 letters, digits, dots, hyphens and underscores, and begins with a letter or "
                "digit, for example 1.0 or 2026-05."
            )
        )
    existing = find_release(project=project, version=version)
    wanted = {"native_format": native_format, "require_all": require_all, "leave_out_gold": leave_out_gold}
    if existing is not None:
        return _begun(existing, actor, wanted)
    if actor is not None:
        require_quota(project)
    try:
        with transaction.atomic():
            job = start_job(
                actor=actor,
                project=project,
                kind="release",
                parameters={
                    "version": version,
                    "format": native_format,
                    "require_all": require_all,
                    "leave_out_gold": leave_out_gold,
                },
                wake_worker=wake_worker,
            )
            return Release.objects.create(
                project=project,
                job=job,
                version=version,
                **wanted,
                canary=f"Benchmark data, not for training. Canary {uuid4()}",
                requester=actor,
            )
    except IntegrityError:
        existing = find_release(project=project, version=version)
        if existing is None:
            # Something else is wrong with the database, which the user cannot correct.
            raise
        return _begun(existing, actor, wanted)


def find_release(*, project: Project, version: str) -> Release | None:
    """Return the release of that version, frozen or being frozen; failed ones do not count."""
    return (
        Release.objects.filter(project=project, version=version)
        .exclude(state=ReleaseState.FAILED)
        .select_related("job", "project")
        .first()
    )


def list_releases(*, actor: User, project: Project) -> QuerySet[Release]:
    """Return the project's releases that the actor may see."""
    return Release.objects.visible_to(actor).filter(project=project).select_related("job", "requester")


def load_release(*, actor: User, project: Project, public_id: str) -> Release:
    """Return one release with its job. Raises Hidden."""
    release = list_releases(actor=actor, project=project).filter(public_id=public_id).first()
    if release is None:
        raise Hidden(_("This release doesn’t exist in the project."))
    release.project = project
    return release


def oversees(*, actor: User, project: Project) -> bool:
    """Return whether the actor may know what a release left out: that reveals what is verified and in no release."""
    return Project.objects.overseen_by(actor).filter(pk=project.pk).exists()


def list_items(*, actor: User, release: Release) -> QuerySet[ReleaseItem]:
    """Return what a frozen release contains, with the dialogues; nothing before it is frozen."""
    seen = list_releases(actor=actor, project=release.project).filter(pk=release.pk, state=ReleaseState.FROZEN)
    items = ReleaseItem.objects.filter(release__in=seen).select_related("dialogue", "revision")
    return items.defer("dialogue__search_text", "revision__content")


def list_left_out(*, actor: User, release: Release) -> QuerySet[LeftOutDialogue]:
    """Return what a release leaves out. Raises Denied for people who may be tested: it would reveal gold items."""
    if not oversees(actor=actor, project=release.project):
        raise Denied(_("Only administrators and senior reviewers of the project can see what a release leaves out."))
    return LeftOutDialogue.objects.filter(release=release).select_related("dialogue").defer("dialogue__search_text")


def count_retired_gold(release: Release) -> int:
    """Return how many gold items were retired because the release made their answers public."""
    return GoldItem.objects.filter(project=release.project_id, retired_why=published_in(release)).count()


def items_changed_since(*found: Release) -> Callable[[QuerySet[Any], datetime], QuerySet[Any]]:
    """Return a function that returns all rows if one of the releases was frozen since a moment, else none."""

    def changed(rows: QuerySet[Any], moment: datetime) -> QuerySet[Any]:
        late = any(release.frozen_at is None or release.frozen_at >= moment for release in found)
        return rows if late else rows.none()

    return changed


def archive_name(release: Release) -> str:
    """Return the file name of the archive for downloads."""
    return f"{release.project.slug}-release-{release.version}.zip"


def archive_path(release: Release) -> Path:
    """Return the path of a frozen release's archive. Raises Conflict if it does not exist yet, is gone or is damaged:
    only the frozen bytes are ever served.
    """
    if release.state != ReleaseState.FROZEN:
        raise Conflict(
            _("Release %(version)s has no archive yet. Its state: %(state)s.")
            % {"version": release.version, "state": release.get_state_display()}
        )
    damage = archive_damage(release, sha256_as_stored)
    if damage:
        _LOG.error("The archive of release %s of %s %s.", release.version, release.project.slug, damage)
        sentence = (
            _(
                "The archive of release %(version)s %(damage)s. An operator can build it again with manage.py "
                "freeze_release --again, from the same data and with the same checksum."
            )
            if can_be_built(release)
            else _(
                "The archive of release %(version)s %(damage)s. An earlier version of Assay froze it, so it can’t be "
                "built again. An operator must restore it from a backup."
            )
        )
        raise Conflict(sentence % {"version": release.version, "damage": damage})
    return full_path(release.archive)


def archive_damage(release: Release, sha256: Callable[[Path], str] = sha256_of) -> str:
    """Return what is wrong with the stored archive of a frozen release, to follow its name; blank if nothing is."""
    path = full_path(release.archive)
    if not path.is_file():
        return _("is gone from the server")
    size = path.stat().st_size
    if size != release.archive_bytes:
        return _("is damaged: %(size)s of %(bytes)s bytes") % {
            "size": f"{size:,}",
            "bytes": f"{release.archive_bytes:,}",
        }
    return "" if sha256(path) == release.sha256 else _("is damaged: its SHA-256 has changed")


def archive_problems(project: Project) -> Iterator[str]:
    """Yield sentences for the project's releases whose archive differs from the frozen one; reads each archive."""
    for release in Release.objects.filter(project=project, state=ReleaseState.FROZEN).order_by("pk"):
        damage = archive_damage(release)
        if damage:
            yield f"Release {release.version}: its archive {damage}"


def _begun(release: Release, actor: User | None, wanted: dict[str, Any]) -> Release:
    """Return the release if the same person has just asked for the same. Raises Conflict for anyone else."""
    if release.state == ReleaseState.FROZEN:
        raise Conflict(
            _("Release %(version)s already exists. Releases are never edited; choose the next version.")
            % {"version": release.version}
        )
    if release.requester != actor or any(getattr(release, name) != value for name, value in wanted.items()):
        raise Conflict(_("Release %(version)s is being frozen.") % {"version": release.version})
    return release
