"""One load client of the measurement: a process of its own that speaks HTTP and knows nothing of the application.

It reads its order (one line of JSON), says ``ready``, waits for a line, does a bounded number of things, and prints
what it saw as one line of JSON.

    {"do": "cycles", "host", "port", "slug", "token", "count", "seconds"}            claim and submit through the API
    {"do": "pages", "host", "port", "slug", "session", "count", "seconds"}           the same with the page of each item
    {"do": "get", "host", "port", "session" or "token", "urls": {name: [url …]}, "count"}   each url in turn, timed
"""

import http.client
import json
import sys
import time
from typing import Any

CSRF = "measurement0measurement0measure0"


class Refused(Exception):
    """The server answered otherwise than a measurement can use."""


class Client:
    """A kept-open connection, as a browser or a program has one."""

    def __init__(self, order: dict[str, Any]) -> None:
        self.connection = http.client.HTTPConnection(order["host"], order["port"], timeout=60)
        self.headers = {"Host": f"{order['host']}:{order['port']}"}
        if "token" in order:
            self.headers |= {"Authorization": f"Bearer {order['token']}", "Content-Type": "application/json"}
        else:
            self.headers |= {
                "Cookie": f"sessionid={order['session']}; csrftoken={CSRF}",
                "X-CSRFToken": CSRF,
                "Content-Type": "application/x-www-form-urlencoded",
            }

    def ask(self, method: str, path: str, body: str | None = None) -> tuple[int, bytes, str, float]:
        """Status, body, where it redirects to, and how long it took in seconds."""
        begin = time.perf_counter()
        self.connection.request(method, path, body=body, headers=self.headers)
        response = self.connection.getresponse()
        content = response.read()
        return response.status, content, response.getheader("Location", ""), time.perf_counter() - begin


def wanted(status: int, expected: tuple[int, ...], what: str, content: bytes) -> None:
    """Raise unless the answer is one of those expected."""
    if status not in expected:
        raise Refused(f"{what} answered {status}: {content[:300]!r}")


def run_cycles(client: Client, order: dict[str, Any], until: float) -> dict[str, Any]:
    """Claim, look, approve; until there is no work, the count is reached or the time is up."""
    claims: list[float] = []
    submissions: list[float] = []
    held: list[str] = []
    path = f"/api/projects/{order['slug']}/claims/"
    while len(submissions) < order["count"] and time.monotonic() < until:
        status, content, _, seconds = client.ask("POST", path, "{}")
        wanted(status, (201, 204), "claim", content)
        if status == 204:
            break
        claims.append(seconds)
        work = json.loads(content)
        body = json.dumps({"token": work["token"], "verdict": "approve"})
        status, content, _, seconds = client.ask("POST", f"/api/work/{work['slot']}/submit/", body)
        wanted(status, (201,), "submit", content)
        submissions.append(seconds)
        held.append(work["slot"])
    return {"claim": claims, "submit": submissions, "held": held}


def run_pages(client: Client, order: dict[str, Any], until: float) -> dict[str, Any]:
    """Open the item, approve it, be brought to the next one."""
    pages: list[float] = []
    submissions: list[float] = []
    held: list[str] = []
    status, content, following, _ = client.ask("POST", f"/p/{order['slug']}/next/", "")
    wanted(status, (302,), "next", content)
    while following.startswith("/work/") and len(submissions) < order["count"] and time.monotonic() < until:
        place = following
        status, content, _, seconds = client.ask("GET", place)
        wanted(status, (200,), "workspace", content)
        pages.append(seconds)
        status, content, following, seconds = client.ask("POST", f"{place}submit/", "verdict=approve")
        wanted(status, (302,), "submit", content)
        submissions.append(seconds)
        held.append(place.split("/")[2])
    return {"page": pages, "submit": submissions, "held": held}


def run_gets(client: Client, order: dict[str, Any], until: float) -> dict[str, Any]:
    """Each address so often, one after the other, the first answer of each left out: it fills caches."""
    out: dict[str, Any] = {}
    for name, urls in order["urls"].items():
        taken = []
        for number in range(order["count"] + 1):
            status, content, _, seconds = client.ask("GET", urls[number % len(urls)])
            wanted(status, (200,), name, content)
            taken.append(seconds)
            if time.monotonic() > until:
                break
        out[name] = taken[1:] or taken
    return out


ERRANDS = {"cycles": run_cycles, "pages": run_pages, "get": run_gets}


def main() -> None:
    """Do the errand that standard input asks for."""
    order = json.loads(sys.stdin.readline())
    client = Client(order)
    client.connection.connect()
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.monotonic()
    try:
        seen = ERRANDS[order["do"]](client, order, begin + order["seconds"])
    except (Refused, OSError, http.client.HTTPException) as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        raise SystemExit(1) from None
    print(json.dumps({"seen": seen, "seconds": time.monotonic() - begin}))


if __name__ == "__main__":
    main()
