"""A release on the server: download it, score models on it, report errors in it."""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import httpx

from assay.errors import NoAnswer, NotFound, ReleaseError
from assay.http import ATTEMPTS, STORING, Http, Row
from assay.inference import Inference
from assay.jobs import Job, stream_lines
from assay.scores import Run, prediction_file

_PIECE = 1 << 20


class RemoteRelease:
    """A release on the server. ``row`` has its version, counts and checksum."""

    def __init__(self, http: Http, project: str, row: Row) -> None:
        self._http, self._project = http, project
        self._path = f"{project}releases/{row['public_id']}/"
        self.row = row

    def __repr__(self) -> str:
        return f"<RemoteRelease {self.row['version']}: {self.row['item_count']} dialogues>"

    def download(self, path: str | Path) -> Path:
        """Download the archive to a file, or into a folder, and compare its SHA-256; return the file.

        The file gets its name only when it is whole; a download that breaks off begins again, a few times. Raises
        NoAnswer if it still breaks off, ReleaseError if the content differs.
        """
        target = Path(path)
        if target.is_dir():
            target = target / f"release-{self.row['version']}.zip"
        part = target.with_name(f".{target.name}.part")
        try:
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    found, due = self._save(part)
                    break
                except httpx.TransportError:
                    if attempt == ATTEMPTS:
                        raise NoAnswer(0, "The download broke off several times. Start it again.") from None
            if found != due:
                raise ReleaseError("The downloaded archive differs from its SHA-256. Download it again.")
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)
        return target

    def _save(self, part: Path) -> tuple[str, str]:
        """Write the archive; return the SHA-256 of what was written, and the one that the server states."""
        found = hashlib.sha256()
        with self._http.stream("GET", f"{self._path}archive/") as answer, part.open("wb") as file:
            for piece in answer.iter_bytes(_PIECE):
                found.update(piece)
                file.write(piece)
            stated = answer.headers.get("ETag", "").removeprefix("W/").strip('"')
        return found.hexdigest(), self.row["sha256"] or stated

    def score(
        self, predictions: str | Path | Iterable[Row], *, family: str | None = None, model: str = "", **mode: Any
    ) -> Job[list[Run]]:
        """Upload predictions and start to score them; ``wait`` of the job returns the runs with all figures.

        ``predictions``: a file, or records. ``family``: how to score, by default as the release's own format. ``model``
        names the run of records that name none. ``mode``: provider, language, history, tool_mode, thinking,
        strip_thinking.
        """
        given = {"family": family, "model": model} | mode
        fields = {name: _form_value(value) for name, value in given.items() if value not in (None, "")}
        with prediction_file(predictions) as (name, file):
            row = self._http.send(
                "POST", f"{self._path}predictions/", data=fields, files={"file": (name, file)},
                timeout=httpx.Timeout(self._http.timeout, read=STORING),
            )  # fmt: skip
        path = f"{self._project}predictions/{row['public_id']}/"
        return Job(self._http, path, row, lambda _row: [self.run(one) for one in self._http.get(path)["runs"]])

    def predictions(self) -> Iterator[Row]:
        """Yield the uploaded files of predictions, oldest first."""
        return self._http.pages(f"{self._path}predictions/")

    def runs(self, *, family: str | None = None, updated_since: str | datetime | None = None) -> Iterator[Run]:
        """Yield the runs, oldest first, with the figures of the leaderboard."""
        for row in self._http.pages(f"{self._path}runs/", family=family, updated_since=updated_since):
            yield Run(self._http, f"{self._project}runs/{row['public_id']}/", row)

    def run(self, public_id: str) -> Run:
        """Return one run with all its figures."""
        path = f"{self._project}runs/{public_id}/"
        return Run(self._http, path, self._http.get(path))

    def run_model(self, endpoint: str, model: str, **options: Any) -> Inference:
        """Start to ask a model about all entries; ``wait`` returns the runs. It is not sent twice.

        ``endpoint``: its name or public id. Options: name, family, language, history, tool_mode, thinking, temperature,
        seed, max_tokens, extra, strip_thinking, stream, attempts, delays, delay_seed, limit, concurrency, per_minute,
        timeout, input_price, output_price, token_budget, cost_budget. Raises NotFound if there is no such endpoint.
        """
        names = []
        for row in self._http.pages(f"{self._project}endpoints/"):
            if endpoint in (row["name"], row["public_id"]):
                body = {"endpoint": row["public_id"], "model": model} | options
                return self._inference(self._http.post(f"{self._path}inferences/", body))
            names.append(row["name"])
        known = f" It has {', '.join(names)}." if names else " It has none yet."
        raise NotFound(404, f"The project has no endpoint “{endpoint}”.{known}", "not_found")

    def ask_person(self, person: str, **options: Any) -> Inference:
        """Ask a member to answer the entries as a model would, by the public id; ``wait`` returns the runs.

        Options: name, family, language, history, delays, delay_seed, limit.
        """
        return self._inference(self._http.post(f"{self._path}baselines/", {"person": person} | options))

    def inferences(self) -> Iterator[Inference]:
        """Yield the models and people that were asked, oldest first."""
        return map(self._inference, self._http.pages(f"{self._path}inferences/"))

    def _inference(self, row: Row) -> Inference:
        return Inference(self._http, self._project, row)

    def leaderboard(self, **choice: str) -> Row:
        """Return the leaderboard: ``rows`` in order with ranks. ``choice``: family, slice (“name=cell”), sort."""
        found: Row = self._http.get(f"{self._path}scores/", **choice)
        return found

    def entries(self, *, flag: str | None = None) -> Iterator[Row]:
        """Yield the entries with their statistics over all runs. ``flag``: such as same_answer."""
        return self._http.pages(f"{self._path}entries/", flag=flag)

    def left_out(self) -> Iterator[Row]:
        """Yield the dialogues that the release leaves out, with reasons."""
        return self._http.pages(f"{self._path}left-out/")

    def diff(self, later: "RemoteRelease", *, show: str | None = None, category: str | None = None) -> Iterator[Row]:
        """Yield the dialogues that differ in a later release. ``show``: changed, added or removed."""
        return self._http.pages(f"{self._path}diff/", to=later.row["public_id"], show=show, category=category)

    def errata(self) -> Iterator[Row]:
        """Yield the lines of the errata log."""
        return stream_lines(self._http, f"{self._path}errata.jsonl")

    def report_error(self, item: str, text: str, *, place: str = "") -> Row:
        """Report an error in an item, by its id in the release."""
        body = {"item": item, "text": text, "place": place}
        found: Row = self._http.post(f"{self._path}errata/reports/", body)
        return found

    def error_reports(self, *, state: str | None = None) -> Iterator[Row]:
        """Yield the reports of errors, oldest first. ``state``: open, confirmed or declined."""
        return self._http.pages(f"{self._path}errata/reports/", state=state)

    def confirm_report(
        self, report: str, *, severity: str, reason: str, evidence: str = "", place: str | None = None
    ) -> Row:
        """Confirm a report by its public id: the log gets a line, and the item goes back to review if it can."""
        body = {"severity": severity, "reason": reason, "evidence": evidence}
        if place is not None:
            body["place"] = place
        found: Row = self._http.post(f"{self._path}errata/reports/{report}/confirm/", body)
        return found

    def decline_report(self, report: str, *, reason: str) -> Row:
        """Close a report without an erratum."""
        found: Row = self._http.post(f"{self._path}errata/reports/{report}/decline/", {"reason": reason})
        return found


def _form_value(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
