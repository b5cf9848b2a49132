"""Projects, dialogues, jobs and releases of a server."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.parse import quote

import httpx

from assay.errors import AssayError, JobFailed, ReleaseError
from assay.http import Http

Row = dict[str, Any]
_PIECE = 1 << 20
_SLOWEST = 10.0


class Client:
    """A server and a token. Use it as a context manager, or call ``close``.

    Raises ValueError for plain http to another machine, unless ``insecure``.
    """

    def __init__(
        self, url: str, token: str, *, timeout: float = 30.0, insecure: bool = False,
        transport: httpx.BaseTransport | None = None,
    ) -> None:  # fmt: skip
        self._http = Http(url, token, timeout=timeout, insecure=insecure, transport=transport)

    def __repr__(self) -> str:
        return f"Client({self._http.base.host!r})"

    def __enter__(self) -> "Client":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections."""
        self._http.close()

    def projects(self) -> list[Row]:
        """Return your projects."""
        found = self._http.send("GET", "projects/")
        return list(found["results"] if isinstance(found, dict) else found)

    def project(self, slug: str) -> "Project":
        """Return a project by its slug; no request is sent."""
        return Project(self._http, slug)


class Job:
    """An import or a release that the server makes in the background. ``row`` is its last known state."""

    def __init__(self, http: Http, path: str, row: Row) -> None:
        self._http, self._path, self.row = http, path, row

    def wait(self, progress: Callable[[Row], None] | None = None, timeout: float | None = None) -> Row:
        """Poll until the job has ended, and return the row. Raises JobFailed, and TimeoutError after ``timeout`` s."""
        end = None if timeout is None else time.monotonic() + timeout
        pause = 0.2
        while True:
            job = self.row["job"]
            if progress is not None:
                progress(job)
            if job["state"] in ("failed", "cancelled"):
                raise JobFailed(job["error"] or f"The job was {job['state']}.")
            if job["state"] == "done":
                return self.row
            if end is not None and time.monotonic() + pause > end:
                raise TimeoutError("The job has not ended yet. Wait longer.")
            time.sleep(pause)
            pause = min(pause * 1.5, _SLOWEST)
            self.row = self._http.send("GET", self._path)

    def cancel(self) -> None:
        """Stop an import and roll it back. Raises AssayError for a release, which cannot be stopped over HTTP."""
        if "/imports/" not in self._path:
            raise AssayError("Only imports can be cancelled over HTTP.")
        self.row = self._http.send("POST", self._path + "cancel/")


class Project:
    """One project."""

    def __init__(self, http: Http, slug: str) -> None:
        self._http, self._path = http, f"projects/{quote(slug, safe='')}/"

    def import_file(
        self, path: str | Path, format: str | None = None, mapping: dict[str, str] | None = None, *,
        dry_run: bool = False, revise: bool = False, at_conflicts: str | None = None, preview: bool = False,
    ) -> Job:  # fmt: skip
        """Start an import of a file, which is sent from disk. Retries are safe: the server finds the repeated one."""
        flags = {"dry_run": dry_run, "revise": revise, "preview": preview}
        fields = {name: "true" for name, value in flags.items() if value}
        fields |= {name: value for name, value in (("format", format), ("at_conflicts", at_conflicts)) if value}
        if mapping:
            fields["mapping"] = json.dumps(mapping)
        with Path(path).open("rb") as file:
            files = {"file": (Path(path).name, file)}
            row = self._http.send("POST", self._path + "imports/", repeat=True, data=fields, files=files)
        return self._import(row)

    def preview(self, path: str | Path) -> Job:
        """Find out what a file has. After ``wait``, ``found`` in the row has its format and mapping."""
        return self.import_file(path, preview=True)

    def confirm(self, preview: Job, format: str, **options: Any) -> Job:
        """Import the file of a preview. Options: mapping, dry_run, revise, reopen, at_conflicts, remember."""
        path = f"{self._path}imports/{preview.row['public_id']}/confirm/"
        return self._import(self._http.send("POST", path, json={"format": format} | options))

    def imports(self) -> Iterator[Row]:
        """Yield the imports, oldest first."""
        return self._pages("imports/")

    def dialogues(self, **filters: str) -> Iterator[Row]:
        """Yield the dialogues, oldest first, page by page."""
        return self._pages("dialogues/", **filters)

    def dialogue(self, public_id: str) -> Row:
        """Return one dialogue with its document and findings."""
        return self._get(f"dialogues/{public_id}/")

    def claim(self, stage: str | None = None) -> Row | None:
        """Claim your next item; None if there is none. A repeated request returns the item that you have."""
        body = {"stage": stage} if stage else {}
        found: Row | None = self._http.send("POST", self._path + "claims/", repeat=True, json=body)
        return found

    def submit(self, claim: Row, *, verdict: str, document: Row | None = None, **review: Any) -> Row:
        """Submit the review of a claimed item. ``review``: checklist, reason, named_errors, rulings."""
        body = {"token": claim["token"], "verdict": verdict} | review
        if document is not None:
            body["document"] = document
        found: Row = self._http.send("POST", f"work/{claim['slot']}/submit/", json=body)
        return found

    def statistics(self, name: str = "progress") -> Row:
        """Return statistics: progress, accuracy, revisions or agreement."""
        return self._get(f"statistics/{name}/")

    def freeze(self, version: str, format: str, *, require_all: bool = False) -> Job:
        """Start a release of the verified dialogues. It is not retried."""
        body = {"version": version, "format": format, "require_all": require_all}
        row = self._http.send("POST", self._path + "releases/", json=body)
        return Job(self._http, f"{self._path}releases/{row['public_id']}/", row)

    def releases(self) -> Iterator[Row]:
        """Yield the releases, oldest first."""
        return self._pages("releases/")

    def release(self, version: str) -> "RemoteRelease":
        """Return a release by its version or public id. Raises ReleaseError if there is none."""
        for row in self.releases():
            if version in (row["version"], row["public_id"]):
                return RemoteRelease(self._http, f"{self._path}releases/{row['public_id']}/", row)
        raise ReleaseError(f"The project has no release “{version}”.")

    def diff(self, before: str, after: str) -> Row:
        """Return the first page of what changed between two releases, given by public id; ``next`` has more."""
        found: Row = self._http.send("GET", f"{self._path}releases/{before}/diff/", params={"to": after})
        return found

    def _import(self, row: Row) -> Job:
        return Job(self._http, f"{self._path}imports/{row['public_id']}/", row)

    def _get(self, path: str) -> Row:
        found: Row = self._http.send("GET", self._path + path)
        return found

    def _pages(self, path: str, **filters: str) -> Iterator[Row]:
        page = self._http.send("GET", self._path + path, params=filters)
        yield from page["results"]
        while page["next"]:
            page = self._http.send("GET", self._http.own(page["next"]))
            yield from page["results"]


class RemoteRelease:
    """A release on the server."""

    def __init__(self, http: Http, path: str, row: Row) -> None:
        self._http, self._path, self.row = http, path, row

    def download(self, path: str | Path) -> Path:
        """Download the archive and compare its SHA-256. The file gets its name only when it is whole.

        Raises ReleaseError if the content differs.
        """
        target = Path(path)
        part = target.with_name(f".{target.name}.part")
        found = hashlib.sha256()
        try:
            with self._http.stream("GET", self._path + "archive/") as answer, part.open("wb") as file:
                for piece in answer.iter_bytes(_PIECE):
                    found.update(piece)
                    file.write(piece)
            if found.hexdigest() != self.row["sha256"]:
                raise ReleaseError("The downloaded archive differs from its SHA-256. Download it again.")
            part.replace(target)
        except httpx.TransportError:
            raise ReleaseError("The download broke off. Start it again.") from None
        finally:
            part.unlink(missing_ok=True)
        return target
