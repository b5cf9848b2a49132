"""Models and people that the server asks about a release."""

from typing import Any

from assay.http import Http, Row
from assay.jobs import Job
from assay.scores import Run

#: A limit that stays as it is.
SAME: Any = object()


class Inference(Job[list[Run]]):
    """A model that is asked about the entries of a release, or a person who answers them. ``wait`` returns the runs.

    ``row`` has the counts, the tokens and the cost so far; after ``refresh`` also ``settings`` and ``refusals``.
    """

    def __init__(self, http: Http, project: str, row: Row) -> None:
        super().__init__(http, f"{project}inferences/{row['public_id']}/", row, lambda _row: self.runs())
        self._project = project

    @property
    def state(self) -> Row:
        """The progress of what is asked, then that of the scores. While a person answers, it is running."""
        job: Row = self.row["job"]
        if job["state"] in ("failed", "cancelled"):
            return job
        scoring: Row | None = self.row["scoring"]
        asked = {"done": self.row["done"], "total": self.row["total"] or None, "error": ""}
        return scoring or {"state": "queued" if job["state"] == "queued" else "running"} | asked

    def cancel(self) -> None:
        """Stop. The replies that are there stay."""
        self.row = self._http.post(f"{self._path}cancel/")

    def resume(self, *, token_budget: int | None = SAME, cost_budget: float | str | None = SAME) -> "Inference":
        """Ask for what is missing after a stop. The limits are totals; None: no limit. It is not sent twice."""
        given = {"token_budget": token_budget, "cost_budget": cost_budget}
        self.row = self._http.post(
            f"{self._path}continue/", {name: value for name, value in given.items() if value is not SAME}
        )
        return self

    def runs(self) -> list[Run]:
        """Return the runs with all figures; none until the answers are scored."""
        found = []
        for name in self.refresh()["runs"]:
            path = f"{self._project}runs/{name}/"
            found.append(Run(self._http, path, self._http.get(path)))
        return found
