"""Run a release: freeze its contents, build the archive under another name, and publish it. It can continue after being
killed at any point.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from annotator.core.text import gettext_noop, message
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Job, Project, Revision
from annotator.models.content import DialogueStatus
from annotator.services.dialogues.untried import Runnable, ensure_run, runnables
from annotator.services.history.events import append_event
from annotator.services.jobs.jobs import Running, job_kind
from annotator.services.jobs.outages import require_room
from benchmark.models import Release, ReleaseItem, ReleaseState
from benchmark.services.dataset_statistics.releases import count_release
from benchmark.services.releases.building import build_archive
from benchmark.services.releases.freezing import freeze, opened_by, published_in, require_worth_releasing
from benchmark.services.releases.trails import verified_cycles
from benchmark.services.stored_files import copy_whole, full_path, sha256_of, sync_folder
from reviews.services.gold.settings import retire_with

#: The number of dialogues between two checks that the job is still ours.
_BEAT = 500
#: The number of dialogues whose code is read together.
_READ_AT_ONCE = 100


def give_up(job: Job) -> None:
    """Clean up after a failed or cancelled release: only its row and the list of left-out dialogues stay."""
    release = Release.objects.filter(job=job).first()
    if release is None or release.state == ReleaseState.FROZEN:
        return
    ReleaseItem.objects.filter(release=release).delete()
    Release.objects.filter(pk=release.pk).update(state=ReleaseState.FAILED)
    _clear(_folder(release))


@job_kind("release", gettext_noop("Release"), discard=give_up, queue="imports", untrusted=True, writes_files=True)
def run_release(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``release``."""
    release = Release.objects.select_related("project", "requester").get(job=running.job)
    if release.state != ReleaseState.FROZEN:
        if not running.checkpoint.get("frozen"):
            _try_what_waits(running, release.project)
            freeze(running, release)
        require_worth_releasing(release)
        count_release(running, release)
        _build(running, release)
        release.refresh_from_db()
    # Here, and not with the last chunk: an attempt that finds the release frozen also comes here.
    _clear(_folder(release), keep=full_path(release.archive))
    return {
        "items": release.item_count,
        "left_out": release.left_out_count,
        "bytes": release.archive_bytes,
        "sha256": release.sha256,
    }


def _try_what_waits(running: Running, project: Project) -> None:
    """Run the code of verified dialogues. If no code can be run it stays untried, and the dialogues are left out for
    that reason.
    """
    try:
        for one in _runnables(project):
            if ensure_run(one, beat=running.beat):
                running.beat()
    except Conflict:
        return


def _runnables(project: Project) -> Iterator[Runnable]:
    rows = Dialogue.objects.filter(project=project, status=DialogueStatus.VERIFIED, policies="", archived_at=None)
    keys = list(rows.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), _READ_AT_ONCE):
        verified = [cycle.revision for cycle in verified_cycles(keys[start : start + _READ_AT_ONCE]).values()]
        revisions = Revision.objects.filter(pk__in=verified).select_related("toolset_revision")
        for revision in revisions.order_by("dialogue_id"):
            yield from runnables(revision.document(), revision.toolset_revision)


def _build(running: Running, release: Release) -> None:
    folder = _folder(release)
    folder.mkdir(parents=True, exist_ok=True)
    # Each attempt builds under its own name: an attempt that was considered dead may still be writing.
    aside = folder / f"attempt-{running.attempt}.zip"
    final = folder / f"release-{release.version}.zip"
    total = release.item_count

    def progress(done: int) -> None:
        if done % _BEAT < 2 or done == total:
            require_room()
            with running.chunk() as chunk:
                chunk.advance(done=done, total=total, note=gettext_noop("Writing the archive"))

    try:
        build_archive(release, aside, progress=progress)
        sha256, size = sha256_of(aside), aside.stat().st_size
    except FileNotFoundError:
        # If another process took the job over, it has finished and removed our file: then this raises Lost.
        running.beat()
        raise
    with running.chunk() as chunk:
        # Under the job's lock, so no other process is here. A crash right after the renaming leaves a complete archive
        # without a row; the next attempt writes the same bytes in its place.
        aside.replace(final)
        sync_folder(folder)
        Release.objects.filter(pk=release.pk).update(
            state=ReleaseState.FROZEN,
            archive=f"releases/{release.public_id}/{final.name}",
            archive_bytes=size,
            sha256=sha256,
        )
        # Gold answers become public only here: a release that fails, or is cancelled, retires no item.
        retire_with(
            actor=release.requester,
            dialogue_ids=opened_by(release),
            reason=published_in(release),
        )
        append_event(
            actor=release.requester,
            project=release.project,
            kind="release.frozen",
            after={"version": release.version, "items": release.item_count, "sha256": sha256},
        )
        chunk.advance(done=total, total=total, note="")


def hand_out(release: Release, target: Path) -> None:
    """Copy the archive of a frozen release to ``target``. If the stored one is gone or damaged, it is first built
    again, so that the release's page has it, too.

    Raises Invalid if the rebuilt archive differs from the frozen one.
    """
    stored = full_path(release.archive)
    if not (stored.is_file() and sha256_of(stored) == release.sha256):
        with _writing(stored):
            _build_again(release, stored)
    with _writing(target):
        copy_whole(stored, target)


def _build_again(release: Release, stored: Path) -> None:
    require_room(release.archive_bytes)
    aside = stored.with_name(f".{stored.name}.built")
    build_archive(release, aside)
    if sha256_of(aside) != release.sha256:
        aside.unlink()
        raise Invalid(
            message(
                "Release %(version)s can’t be built again with its checksum: the stored archive is gone or damaged, "
                "and this version of Assay writes it differently.",
                version=release.version,
            )
        )
    aside.replace(stored)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise Invalid(
            message("Can’t write %(path)s: %(error)s.", path=str(path), error=error.strerror or str(error))
        ) from None


def _folder(release: Release) -> Path:
    return full_path(f"releases/{release.public_id}")


def _clear(folder: Path, keep: Path | None = None) -> None:
    """Remove what other attempts have left in a release's folder."""
    for file in folder.glob("*") if folder.is_dir() else ():
        if file != keep:
            file.unlink(missing_ok=True)
    if keep is None and folder.is_dir():
        folder.rmdir()
