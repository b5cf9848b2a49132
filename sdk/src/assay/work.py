"""A claimed item and what can be done with it."""

from copy import deepcopy
from typing import Any

from assay.http import Http, Row

#: What a submission may have besides the token.
REVIEW = ("verdict", "document", "checklist", "checklist_notes", "named_errors", "reason", "rulings")


class Work:
    """An item that is yours until ``row["expires_at"]``. Change ``document`` and submit, or give it back.

    ``stage`` says what to do: its verdicts and its checklist.
    """

    def __init__(self, http: Http, row: Row) -> None:
        self._http, self._path = http, f"work/{row['slot']}/"
        self.row = row
        self.document: Row = deepcopy(row.get("document", {}))
        self.tools: list[Row] = row.get("tools", [])
        self.stage: Row = row.get("stage", {})

    def __repr__(self) -> str:
        return f"<Work {self.row.get('dialogue', {}).get('external_id')} in {self.stage.get('key')}>"

    @property
    def changed(self) -> bool:
        """Whether ``document`` differs from what was claimed. Then the verdict is “fix”, not “approve”."""
        return bool(self.document != self.row.get("document", {}))

    def submit(self, verdict: str, *, reason: str = "", **review: Any) -> Row:
        """Submit your review with ``document`` as it is now. Sent twice, it is submitted once.

        ``review``: checklist, checklist_notes, named_errors, rulings. Raises Invalid for what is missing or wrong; its
        ``details`` may have findings, some of which can be waived.
        """
        body = {"token": self.row["token"], "verdict": verdict, "document": self.document, "reason": reason} | review
        found: Row = self._http.post(f"{self._path}submit/", body, repeat=True)
        return found

    def waive(self, finding: Row, reason: str) -> None:
        """Waive a warning from ``details["findings"]`` of a refused submission."""
        body = {name: finding[name] for name in ("check", "anchor", "value_hash")}
        token = {"token": self.row["token"], "document": self.document, "reason": reason}
        self._http.post(f"{self._path}waive/", body | token, repeat=True)

    def unwaive(self, finding: Row) -> None:
        """Take back the waiver of a warning, so that it counts again."""
        body = {name: finding[name] for name in ("check", "anchor", "value_hash")}
        self._http.post(f"{self._path}unwaive/", body | {"token": self.row["token"]}, repeat=True)

    def keep(self, active_seconds: int = 0) -> str:
        """Keep the claim alive; return when it expires. ``active_seconds``: worked since the last call."""
        body = {"token": self.row["token"], "active_seconds": active_seconds}
        self.row["expires_at"] = self._http.post(f"{self._path}heartbeat/", body)["expires_at"]
        return str(self.row["expires_at"])

    def release(self) -> None:
        """Give the item back; it keeps its place in the queue."""
        self._http.post(f"{self._path}release/", {"token": self.row["token"]})

    def skip(self) -> None:
        """Give the item back; it moves to the end of its queue."""
        self._http.post(f"{self._path}skip/", {"token": self.row["token"]})

    def take_back(self) -> str:
        """Undo what you have just done with the item: take your review back, or claim it again after skipping it.

        Return when the claim expires. Raises Conflict with the reason if something has followed, for example if the
        stage has ended.
        """
        self.row |= self._http.post(f"{self._path}take-back/", {"token": self.row["token"]}, repeat=True)
        return str(self.row["expires_at"])
