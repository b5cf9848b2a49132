"""Dialogues in the making, and what people do in them."""

from typing import Any

from assay.http import Http, Row


class Generation:
    """A generation. ``row`` is as it was when it was read: ``status``, ``waits_for``, ``candidates``, ``tasks``, cost.

    An action claims it if nobody else has, and is refused (Conflict) if it has gone on since ``row`` was read.
    """

    def __init__(self, http: Http, project: str, row: Row) -> None:
        self._http, self._path = http, f"{project}generations/{row['public_id']}/"
        self.row = row

    def __repr__(self) -> str:
        return f"<Generation {self.row['name']}: {self.row['status']}>"

    def refresh(self) -> Row:
        """Read it again."""
        found: Row = self._http.get(self._path)
        self.row = found
        return found

    def claim(self, *, take_over: bool = False) -> None:
        """Claim it, or extend your claim; ``take_over``: an administrator ends a colleague's claim."""
        self.row = self._http.post(f"{self._path}claim/", {"take_over": take_over}, repeat=True)

    def keep(self) -> str:
        """Keep the claim alive; return when it expires."""
        return str(self._http.post(f"{self._path}heartbeat/")["expires_at"])

    def release(self) -> None:
        """Give the claim back."""
        self._http.post(f"{self._path}release/", repeat=True)

    def choose(self, candidate: str, text: str = "") -> None:
        """Choose a request by its id; ``text``: as edited."""
        self._act("choose", candidate=candidate, text=text)

    def reject(self, reason: str) -> None:
        """Reject all requests, so that others are proposed."""
        self._act("reject", reason=reason)

    def write(self, text: str) -> None:
        """Write the next answer instead of the role whose turn it is; blank accepts the planner's actions."""
        self._act("write", text=text)

    def change_plan(self, text: str) -> None:
        """Replace the planner's latest actions; ``text``: as JSON."""
        self._act("plan", text=text)

    def retry(self) -> None:
        """Ask the model again after the retries are used up."""
        self._act("retry")

    def go_back(self, events: int) -> None:
        """Go back to where it was after so many events."""
        self._act("back", events=events)

    def pause(self) -> None:
        """Pause it."""
        self.row = self._http.post(f"{self._path}pause/")

    def resume(self, **given: Any) -> None:
        """Let it go on; ``given``: token_budget, cost_budget, send_again. It is not sent twice."""
        self.row = self._http.post(f"{self._path}continue/", given)

    def answers(self) -> bytes:
        """Return the recorded answers as JSON lines, from which it runs again."""
        with self._http.stream("GET", f"{self._path}answers/") as answer:
            return answer.read()

    def _act(self, act: str, **given: Any) -> None:
        if "seen" not in self.row:
            self.refresh()
        self.row = self._http.post(f"{self._path}act/", {"act": act, "seen": self.row["seen"]} | given)
