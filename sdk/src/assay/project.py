"""One project: its imports, dialogues, work and releases."""

import json
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx

from assay.errors import NotFound
from assay.generation import Generation
from assay.http import STORING, Http, Row
from assay.jobs import Import, Job
from assay.remote_release import RemoteRelease
from assay.scores import Run
from assay.work import Work

#: Suggestions in one request.
_BATCH = 1_000


class Project:
    """One project."""

    def __init__(self, http: Http, slug: str) -> None:
        self._http, self._path = http, f"projects/{quote(slug, safe='')}/"
        self.slug = slug

    def __repr__(self) -> str:
        return f"<Project {self.slug}>"

    def read(self) -> Row:
        """Return the project's name and settings."""
        return self._get("")

    # --- imports ------------------------------------------------------------------------------------------------------

    def import_file(
        self, path: str | Path, format: str | None = None, mapping: dict[str, str] | None = None, *,
        dry_run: bool = False, revise: bool = False, reopen: bool = False, at_conflicts: str | None = None,
        reopen_at: str | None = None, suggest_dependencies: bool = False, preview: bool = False,
    ) -> Import:  # fmt: skip
        """Send a file from disk and start to import it; without a format, the server recognises it.

        ``mapping``: role → field, for fields with other names. ``dry_run``: save nothing. ``revise``: known ids with
        new content change their dialogues, with ``reopen`` also reviewed ones, whose review starts again in the
        stage ``reopen_at`` (its key; by default the first). ``at_conflicts``: mine or theirs, see the docs. Sent
        again, the server finds the unfinished import.
        """
        given = {
            "dry_run": dry_run, "revise": revise, "reopen": reopen, "preview": preview,
            "suggest_dependencies": suggest_dependencies,
        }  # fmt: skip
        fields = {name: "true" for name, value in given.items() if value}
        texts = {"format": format, "reopen_at": reopen_at, "at_conflicts": at_conflicts}
        fields |= {name: value for name, value in texts.items() if value}
        if mapping:
            fields["mapping"] = json.dumps(mapping)
        with Path(path).open("rb") as file:
            row = self._http.send(
                "POST", f"{self._path}imports/", repeat=True, data=fields, files={"file": (Path(path).name, file)},
                timeout=httpx.Timeout(self._http.timeout, read=STORING),
            )  # fmt: skip
        return self._import(row)

    def preview(self, path: str | Path) -> Import:
        """Find out what a file has. After ``wait``, ``found`` in the row has its format, mapping and first dialogues;
        ``confirm`` then imports the file.
        """
        return self.import_file(path, preview=True)

    def imports(self, *, updated_since: str | datetime | None = None) -> Iterator[Import]:
        """Yield the imports, oldest first."""
        return map(self._import, self._http.pages(f"{self._path}imports/", updated_since=updated_since))

    def get_import(self, public_id: str) -> Import:
        """Return an import by its public id."""
        return self._import(self._get(f"imports/{public_id}/"))

    def _import(self, row: Row) -> Import:
        return Import(self._http, f"{self._path}imports/{row['public_id']}/", row)

    # --- dialogues ----------------------------------------------------------------------------------------------------

    def dialogues(self, *, updated_since: str | datetime | None = None, **filters: str) -> Iterator[Row]:
        """Yield the dialogues without their content, oldest first or as ``sort`` says.

        Pages are requested when they are needed.

        Filters: q (words or an id), status, stage, policy, topology, information, language, owner, problems, check,
        outdated, field and meta (“key=value”), tag. ``sort``: imported, changed, id, title, status, tasks, calls,
        errors or warnings; with “-” downwards.
        """
        return self._http.pages(f"{self._path}dialogues/", updated_since=updated_since, **filters)

    def dialogue(self, public_id: str) -> Row:
        """Return one dialogue: its row, ``head`` (the newest revision with document and tools) and ``findings``."""
        return self._get(f"dialogues/{public_id}/")

    def document(self, public_id: str) -> Row:
        """Return the document of a dialogue's newest revision."""
        found: Row = self.dialogue(public_id)["head"]["document"]
        return found

    def revisions(self, public_id: str) -> Iterator[Row]:
        """Yield the revisions of a dialogue, without their content."""
        return self._http.pages(f"{self._path}dialogues/{public_id}/revisions/")

    def reviews(self, public_id: str) -> Iterator[Row]:
        """Yield the reviews of a dialogue that you may see."""
        return self._http.pages(f"{self._path}dialogues/{public_id}/reviews/")

    def suggest(self, suggestions: Iterable[Row]) -> Row:
        """Post suggestions for people to accept or refuse, 1,000 in a request; a bad one does not stop the others.

        Each has dialogue (its id in the imported file), place, value, source and perhaps score. Returns counts by
        result, and the results that are “refused”, with messages. Sent again, they are unchanged.
        """
        rest = iter(suggestions)
        counts: dict[str, int] = {}
        refused: list[Row] = []
        while batch := list(islice(rest, _BATCH)):
            found = self._http.post(f"{self._path}suggestions/", {"suggestions": batch}, repeat=True)
            for result, count in found["counts"].items():
                counts[result] = counts.get(result, 0) + count
            refused += [one for one in found["results"] if one["result"] == "refused"]
        return {"counts": counts, "refused": refused}

    # --- work ---------------------------------------------------------------------------------------------------------

    def claim(self, stage: str | None = None) -> Work | None:
        """Claim your next item, None if there is none. Asked again, you get the item that you have."""
        row = self._http.post(f"{self._path}claims/", {"stage": stage} if stage else {}, repeat=True)
        return Work(self._http, row) if row else None

    def claimed(self, row: Row) -> Work:
        """Return the work of a claim that was stored, by its ``row``."""
        return Work(self._http, row)

    def goal(self) -> int | None:
        """Return your daily goal in reviews; None if you have none."""
        found: int | None = self._get("goal/")["goal"]
        return found

    def set_goal(self, reviews: int | None, person: str | None = None) -> Row:
        """Set your daily goal, or as an administrator that of a ``person``, by public id; None removes it."""
        path, body = ("goals/", {"person": person}) if person else ("goal/", {})
        found: Row = self._http.post(self._path + path, body | {"goal": reviews}, repeat=True)
        return found

    def goals(self) -> list[Row]:
        """Return the daily goals of all active members: ``person`` and ``goal``."""
        found: list[Row] = self._get("goals/")["people"]
        return found

    def training(self) -> Row:
        """Return the settings of the training; ``mine`` is where you are in it, None if you need none."""
        return self._get("training/")

    def set_training(
        self, stage: str, *, length: int, pass_mark: int, attempts: int, enabled: bool, exempt_experienced: bool = True
    ) -> Row:
        """Change all settings of the training. ``exempt_experienced``: when it is switched on, members who have
        submitted reviews need none.
        """
        body = {
            "stage": stage, "length": length, "pass_mark": pass_mark, "attempts": attempts, "enabled": enabled,
            "exempt_experienced": exempt_experienced,
        }  # fmt: skip
        found: Row = self._http.post(f"{self._path}training/", body, repeat=True)
        return found

    def train_again(self) -> Row:
        """Begin your next attempt in the training."""
        found: Row = self._http.post(f"{self._path}training/again/", repeat=True)
        return found

    def trainees(self) -> list[Row]:
        """Return how far each person is in the training."""
        found: list[Row] = self._get("training/people/")["people"]
        return found

    def decide_trainee(self, person: str, state: str) -> None:
        """Let a person, by public id, need “training” from the beginning, or be “passed” or “exempt”."""
        self._http.post(f"{self._path}training/people/{person}/", {"state": state}, repeat=True)

    def feedback(self, *, updated_since: str | datetime | None = None) -> Iterator[Row]:
        """Yield the feedback to you and about your decisions, oldest first, each with ``posts``, its thread."""
        return self._http.pages(f"{self._path}feedback/", updated_since=updated_since)

    def reply(self, feedback: str, text: str) -> Row:
        """Reply to feedback, by public id. The same text twice in a row is stored once."""
        return self._write(feedback, "replies", {"text": text})

    def dispute(self, feedback: str, reason: str) -> Row:
        """Dispute feedback to you, once."""
        return self._write(feedback, "dispute", {"text": reason})

    def answer_dispute(self, feedback: str, *, accept: bool, reason: str) -> Row:
        """Accept the dispute of your decision, or keep the decision."""
        return self._write(feedback, "answer", {"accept": accept, "text": reason})

    def _write(self, feedback: str, what: str, body: Row) -> Row:
        found: Row = self._http.post(f"{self._path}feedback/{feedback}/{what}/", body, repeat=True)
        return found

    def status(self) -> Row:
        """Return how many items are in each status and stage."""
        return self._get("status/")

    def statistics(self, name: str = "progress", **parameters: str) -> Row:
        """Return statistics: progress, accuracy, revisions, suggestions or agreement."""
        return self._get(f"statistics/{name}/", **parameters)

    # --- settings -----------------------------------------------------------------------------------------------------

    def fields(self) -> Row:
        """Return the custom fields: ``version`` and ``definitions``."""
        return self._get("fields/")

    def set_fields(self, definitions: list[Row], *, version: int, confirmed: bool = False) -> Row:
        """Replace the custom fields. Raises Conflict if somebody else has changed them since ``version``.

        Also if answers no longer fit, or verified dialogues lack one, unless ``confirmed``; ``details`` has how many.
        """
        body = {"version": version, "definitions": definitions, "confirmed": confirmed}
        found: Row = self._http.post(f"{self._path}fields/", body)
        return found

    def webhooks(self) -> list[Row]:
        """Return the webhooks."""
        found: list[Row] = self._http.get(f"{self._path}webhooks/")
        return found

    def add_webhook(self, url: str, events: list[str], description: str = "") -> Row:
        """Add a webhook; ``secret`` in the answer is shown only this once."""
        body = {"url": url, "events": events, "description": description}
        found: Row = self._http.post(f"{self._path}webhooks/", body)
        return found

    def rotate_webhook(self, public_id: str) -> Row:
        """Give a webhook another secret; ``secret`` in the answer is shown only this once. It is not sent twice."""
        found: Row = self._http.post(f"{self._path}webhooks/{public_id}/rotate/")
        return found

    def remove_webhook(self, public_id: str) -> None:
        """Remove a webhook."""
        self._http.send("DELETE", f"{self._path}webhooks/{public_id}/")

    def endpoints(self) -> Iterator[Row]:
        """Yield the endpoints of models, without their keys."""
        return self._http.pages(f"{self._path}endpoints/")

    def add_endpoint(self, name: str, base_url: str, key: str = "") -> Row:
        """Add an endpoint with the OpenAI chat API. The server never shows its key."""
        found: Row = self._http.post(f"{self._path}endpoints/", {"name": name, "base_url": base_url, "key": key})
        return found

    def replace_key(self, public_id: str, key: str) -> Row:
        """Replace the key of an endpoint."""
        found: Row = self._http.send("PATCH", f"{self._path}endpoints/{public_id}/", repeat=True, json={"key": key})
        return found

    def remove_endpoint(self, public_id: str) -> None:
        """Remove an endpoint and its key."""
        self._http.send("DELETE", f"{self._path}endpoints/{public_id}/")

    # --- generations --------------------------------------------------------------------------------------------------

    def generations(self, *, updated_since: str | datetime | None = None) -> Iterator[Generation]:
        """Yield the generations, oldest first."""
        rows = self._http.pages(f"{self._path}generations/", updated_since=updated_since)
        return (Generation(self._http, self._path, row) for row in rows)

    def generation(self, public_id: str) -> Generation:
        """Return one generation, with its candidates and what it waits for."""
        return Generation(self._http, self._path, self._get(f"generations/{public_id}/"))

    def generate(self, toolset: str | None, policies: list[str], **given: Any) -> Generation:
        """Start to generate a dialogue; ``given``: players, relations, language, seed, token_budget and more.

        ``past``, the id of a verified dialogue, is continued: then no toolset is given, and the first policies are its
        own. It is not sent twice.
        """
        body = {"toolset": toolset or "", "policies": policies} | given
        return Generation(self._http, self._path, self._http.post(f"{self._path}generations/", body))

    def next_generation(self) -> Generation | None:
        """Claim the generation that has waited longest, or return the one that you have claimed; None without any."""
        row = self._http.post(f"{self._path}generations/next/", {}, repeat=True)
        return Generation(self._http, self._path, row) if row else None

    # --- releases -----------------------------------------------------------------------------------------------------

    def freeze(
        self, version: str, format: str, *, require_all: bool = False, leave_out_gold: bool = False
    ) -> Job[RemoteRelease]:
        """Start to release the verified dialogues; ``wait`` of the job returns the release. It is not sent twice.

        ``require_all``: fail if anything would be left out. ``leave_out_gold``: leave out the answers of gold items in
        use; else these gold items are retired.
        """
        body = {
            "version": version,
            "format": format,
            "require_all": require_all,
            "leave_out_gold": leave_out_gold,
        }
        row = self._http.post(f"{self._path}releases/", body)
        path = f"{self._path}releases/{row['public_id']}/"
        return Job(self._http, path, row, lambda ended: RemoteRelease(self._http, self._path, ended))

    def releases(self, *, updated_since: str | datetime | None = None) -> Iterator[RemoteRelease]:
        """Yield the releases, oldest first."""
        for row in self._http.pages(f"{self._path}releases/", updated_since=updated_since):
            yield RemoteRelease(self._http, self._path, row)

    def release(self, version: str) -> RemoteRelease:
        """Return a release by its version or public id. Raises NotFound if there is none."""
        versions = []
        for one in self.releases():
            if version in (one.row["version"], one.row["public_id"]):
                return one
            versions.append(one.row["version"])
        known = f" It has {', '.join(versions[-20:])}." if versions else " It has none yet."
        raise NotFound(404, f"The project has no release “{version}”.{known}", "not_found")

    def run(self, public_id: str) -> Run:
        """Return a run of a model over a release, with all its figures."""
        return Run(self._http, f"{self._path}runs/{public_id}/", self._get(f"runs/{public_id}/"))

    def _get(self, path: str, **params: Any) -> Row:
        found: Row = self._http.get(self._path + path, **params)
        return found
