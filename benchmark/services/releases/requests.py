"""Releases as people meet them: begin one, look at it, get its archive, build it again."""

import logging
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import uuid4

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Project, User
from annotator.services.access.permissions import require_administrator
from annotator.services.jobs.jobs import start_job
from benchmark.core.formats import WRITERS
from benchmark.models import LeftOutDialogue, Release, ReleaseState
from benchmark.services.stored_files import full_path, sha256_as_stored, sha256_of

_LOG = logging.getLogger(__name__)

#: Formats a release can be written in.
FORMATS = tuple(WRITERS)
VERSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")


def start_release(
    *,
    actor: User | None,
    project: Project,
    version: str,
    native_format: str,
    require_all: bool = False,
    wake_worker: bool = True,
) -> Release:
    """Ask for a release of all verified dialogues. ``actor`` None is the command line.

    Raises Denied for whoever is no administrator, Invalid for a version or format that cannot be, Conflict where the
    project has that version.
    """
    if actor is not None:
        require_administrator(actor=actor, project=project)
    if native_format not in FORMATS:
        raise Invalid(f"A release cannot be written as “{native_format}”; choose one of: {', '.join(FORMATS)}.")
    if VERSION.fullmatch(version) is None:
        raise Invalid(
            "A version is made of letters, digits, dots, hyphens and underscores, at most 40, as in 1.0 or 2026-05."
        )
    existing = find_release(project=project, version=version)
    if existing is not None:
        return _begun(existing, actor, native_format, require_all)
    try:
        with transaction.atomic():
            job = start_job(
                actor=actor,
                project=project,
                kind="release",
                parameters={"version": version, "format": native_format, "require_all": require_all},
                wake_worker=wake_worker,
            )
            return Release.objects.create(
                project=project,
                job=job,
                version=version,
                native_format=native_format,
                require_all=require_all,
                canary=f"Benchmark data, not for training. Canary {uuid4()}",
                requester=actor,
            )
    except IntegrityError:
        existing = find_release(project=project, version=version)
        if existing is None:
            # Something else is wrong with the database, and not for people to mend.
            raise
        return _begun(existing, actor, native_format, require_all)


def find_release(*, project: Project, version: str) -> Release | None:
    """The release of that version, frozen or being frozen; failed ones do not count."""
    return (
        Release.objects.filter(project=project, version=version)
        .exclude(state=ReleaseState.FAILED)
        .select_related("job", "project")
        .first()
    )


def list_releases(*, actor: User, project: Project) -> QuerySet[Release]:
    """The project's releases that its members may see."""
    return Release.objects.visible_to(actor).filter(project=project).select_related("job", "requester")


def load_release(*, actor: User, project: Project, public_id: str) -> Release:
    """One release with its job. Raises Hidden."""
    release = list_releases(actor=actor, project=project).filter(public_id=public_id).first()
    if release is None:
        raise Hidden("There is no such release in this project.")
    release.project = project
    return release


def oversees(*, actor: User, project: Project) -> bool:
    """Whether the actor may know what a release left out: it names what is verified and in no release."""
    return Project.objects.overseen_by(actor).filter(pk=project.pk).exists()


def list_left_out(*, actor: User, release: Release) -> QuerySet[LeftOutDialogue]:
    """What a release leaves out. Raises Denied for who may be tested: known answers and gold items would show."""
    if not oversees(actor=actor, project=release.project):
        raise Denied("What a release leaves out is for administrators and senior reviewers of the project.")
    return LeftOutDialogue.objects.filter(release=release).select_related("dialogue").defer("dialogue__search_text")


def archive_name(release: Release) -> str:
    """What the archive is called when it is downloaded."""
    return f"{release.project.slug}-release-{release.version}.zip"


def archive_path(release: Release) -> Path:
    """Where the archive of a frozen release lies. Raises Conflict while there is none, and where it is gone or
    damaged: nobody is given other bytes than were frozen.
    """
    if release.state != ReleaseState.FROZEN:
        raise Conflict(f"Release {release.version} has no archive: {release.get_state_display().lower()}.")
    damage = archive_damage(release, sha256_as_stored)
    if damage:
        _LOG.error("The archive of release %s of %s %s.", release.version, release.project.slug, damage)
        raise Conflict(
            f"The archive of release {release.version} {damage}; an operator can build it again with manage.py "
            "freeze_release --again, from the same data and with the same checksum."
        )
    return full_path(release.archive)


def archive_damage(release: Release, sha256: Callable[[Path], str] = sha256_of) -> str:
    """What is wrong with the stored archive of a frozen release, to follow its name; blank where it is as recorded."""
    path = full_path(release.archive)
    if not path.is_file():
        return "is gone from the server"
    size = path.stat().st_size
    if size != release.archive_bytes:
        return f"is damaged: {size:,} of {release.archive_bytes:,} bytes"
    return "" if sha256(path) == release.sha256 else "is damaged: its bytes are not those of its SHA-256"


def archive_problems(project: Project) -> Iterator[str]:
    """The project's releases whose archive is not the one that was frozen, as sentences; reads each archive."""
    for release in Release.objects.filter(project=project, state=ReleaseState.FROZEN).order_by("pk"):
        damage = archive_damage(release)
        if damage:
            yield f"release {release.version}: its archive {damage}"


def _begun(release: Release, actor: User | None, native_format: str, require_all: bool) -> Release:
    """The release that is there, for whoever asked for just that by a first click. Raises Conflict for all others."""
    if release.state == ReleaseState.FROZEN:
        raise Conflict(f"Release {release.version} exists; releases are never edited. Choose the next version.")
    if (release.requester, release.native_format, release.require_all) != (actor, native_format, require_all):
        raise Conflict(f"Release {release.version} is being frozen at this moment.")
    return release
