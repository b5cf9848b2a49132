"""One push of a release: what is missing there is sent, then everything is compared."""

import re
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from benchmark.core.archives.manifest import MANIFEST
from benchmark.core.archives.release_files import ReleaseFile
from benchmark.core.files.limits import Limits
from benchmark.core.pushing.target import PushedRelease, PushError, SentFile, Target, hash_file, retried

_TAG = re.compile(r"v[0-9A-Za-z](?:[0-9A-Za-z._+-]*[0-9A-Za-z])?")


@dataclass
class Push:
    """The result: numbers of files, and the paths that differ there after sending."""

    sent: int = 0
    skipped: int = 0
    verified: int = 0
    damaged: list[str] = field(default_factory=list)


def unpack(archive: Path, folder: Path, limits: Limits | None = None) -> PushedRelease:
    """Unpack a verified archive into an empty folder.

    Raises SourceError if it cannot be read, and OSError if the folder cannot be written.
    """
    with ExitStack() as stack:
        source = ReleaseFile(archive, limits or Limits(), stack)
        source.unpack(folder)
        manifest = source.manifest
    files = [SentFile(each.path, each.sha256, each.bytes, folder / each.path) for each in manifest.files]
    last = folder / MANIFEST
    files.append(SentFile(MANIFEST, hash_file(last), last.stat().st_size, last))
    return PushedRelease(manifest.version, tuple(files))


def plan(target: Target, release: PushedRelease) -> tuple[SentFile, ...]:
    """Return the files to send. Raises PushError if something else is there."""
    if target.at_once and not (_TAG.fullmatch(release.tag) and ".." not in release.tag):
        raise PushError(f"The version {release.version!r} can't be a tag. Send this release to s3:// or a folder.")
    for file in release.files:
        # git would read its settings from such a file.
        if target.at_once and any(part.lower().startswith(".git") for part in file.path.split("/")):
            raise PushError(f"{file.path!r} is a name that git uses. Send this release to s3:// or a folder.")
    found = retried(lambda: target.compare(release, content=False))
    others = [path for path, same in found.items() if not same]
    if others:
        more = f" and {len(others) - 1} more" if len(others) > 1 else ""
        raise PushError(
            f"{target.url} already has another {others[0]}{more}. A release is never changed: "
            "use another version, or an empty place."
        )
    if target.at_once and found and len(found) < len(release.files):
        raise PushError(
            f"{target.url} already has {release.tag} with other files. A release is never changed: use another version."
        )
    return tuple(file for file in release.files if file.path not in found)


def push(
    target: Target, release: PushedRelease, missing: tuple[SentFile, ...], progress: Callable[[str], None]
) -> Push:
    """Send what is missing, the manifest last, and compare every file with its SHA-256."""
    done = Push(skipped=len(release.files) - len(missing))
    first = missing if target.at_once else tuple(file for file in missing if file.path != MANIFEST)
    _send(target, release, first, done, progress)
    rest = tuple(file for file in missing if file not in first)
    unfinished = bool(rest)
    if unfinished:
        before = release._replace(files=tuple(file for file in release.files if file.path != MANIFEST))
        if _verify(target, before, done, unfinished=True):
            return done
        _send(target, release, rest, done, progress)
        done.damaged = []
        only = release._replace(files=tuple(file for file in release.files if file.path == MANIFEST))
        _verify(target, only, done, unfinished=True)
    else:
        _verify(target, release, done, unfinished=False)
    return done


def _send(
    target: Target, release: PushedRelease, files: tuple[SentFile, ...], done: Push, progress: Callable[[str], None]
) -> None:
    batches = (files,) if target.at_once and files else tuple((file,) for file in files)
    for batch in batches:
        progress(batch[0].path if len(batch) == 1 else f"{len(batch)} files")
        retried(lambda batch=batch: target.send(release, batch))  # type: ignore[misc]
        done.sent += len(batch)


def _verify(target: Target, release: PushedRelease, done: Push, *, unfinished: bool) -> list[str]:
    found = retried(lambda: target.compare(release, content=True))
    wrong = [file for file in release.files if not found.get(file.path)]
    done.verified += len(release.files) - len(wrong)
    done.damaged += [file.path for file in wrong]
    if wrong and unfinished:
        # The next run sends them again.
        target.remove(wrong)
    return done.damaged
