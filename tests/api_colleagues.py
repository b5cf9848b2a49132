"""People who review over the API, and note what the server has acknowledged."""

import http.client
import json
import threading
from collections import Counter
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Colleague:
    """One person's program: claims and approves, and notes what the server has acknowledged."""

    person: Any
    token: str
    slug: str
    port: int
    #: Public id of the review → (slot, verdict).
    acknowledged: dict[str, tuple[str, str]] = field(default_factory=dict)
    #: Answers that no client should get, whatever is killed.
    surprises: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)

    def work(self, stop: threading.Event) -> None:
        """Until told to stop. A cut connection and a 503 are what a kill looks like from here: then again."""
        while not stop.is_set():
            connection = http.client.HTTPConnection("localhost", self.port, timeout=60)
            try:
                while not stop.is_set():
                    self.review_one(connection)
            except (OSError, http.client.HTTPException):
                continue
            finally:
                connection.close()

    def review_one(self, connection: http.client.HTTPConnection) -> None:
        status, work = self.ask(connection, f"/api/projects/{self.slug}/claims/", {})
        if status != 201:
            return
        body = {"token": work["token"], "verdict": "approve"}
        status, review = self.ask(connection, f"/api/work/{work['slot']}/submit/", body)
        if status == 201:
            self.acknowledged[review["public_id"]] = (work["slot"], "approve")

    def ask(self, connection: http.client.HTTPConnection, path: str, body: dict) -> tuple[int, dict]:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection.request("POST", path, json.dumps(body), headers)
        answer = connection.getresponse()
        content = answer.read()
        self.statuses[answer.status] += 1
        # 204: nothing waits just now; 409: a colleague, or one's own lost answer, was quicker.
        if answer.status not in (201, 204, 409, 503):
            self.surprises.append(f"{path} answered {answer.status}: {content[:300]!r}")
        return answer.status, json.loads(content) if answer.status == 201 else {}
