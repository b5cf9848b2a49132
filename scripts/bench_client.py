"""A client of the benchmark: a separate process that sends HTTP requests.

It reads its order (one line of JSON), prints ``ready``, waits for a line, sends a limited number of requests, and
prints the results as one line of JSON.

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


class UnexpectedResponse(Exception):
    """The response of the server has an unexpected status."""


class Client:
    """A persistent connection."""

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
        """Send a request. Return the status, the body, the address it redirects to, and the seconds it took."""
        begin = time.perf_counter()
        self.connection.request(method, path, body=body, headers=self.headers)
        response = self.connection.getresponse()
        content = response.read()
        return response.status, content, response.getheader("Location", ""), time.perf_counter() - begin


def expect_status(status: int, expected: tuple[int, ...], what: str, content: bytes) -> None:
    """Raise UnexpectedResponse unless the status is expected."""
    if status not in expected:
        raise UnexpectedResponse(f"{what} returned {status}: {content[:300]!r}")


def run_cycles(client: Client, order: dict[str, Any], until: float) -> dict[str, Any]:
    """Claim and approve items until there are none, the count is reached or the time is up."""
    claims: list[float] = []
    submissions: list[float] = []
    submitted: list[str] = []
    path = f"/api/projects/{order['slug']}/claims/"
    while len(submissions) < order["count"] and time.monotonic() < until:
        status, content, _, seconds = client.ask("POST", path, "{}")
        expect_status(status, (201, 204), "claim", content)
        if status == 204:
            break
        claims.append(seconds)
        work = json.loads(content)
        body = json.dumps({"token": work["token"], "verdict": "approve"})
        status, content, _, seconds = client.ask("POST", f"/api/work/{work['slot']}/submit/", body)
        expect_status(status, (201,), "submit", content)
        submissions.append(seconds)
        submitted.append(work["slot"])
    return {"claim": claims, "submit": submissions, "submitted": submitted}


def run_pages(client: Client, order: dict[str, Any], until: float) -> dict[str, Any]:
    """Open an item, approve it, and follow the redirect to the next one."""
    pages: list[float] = []
    submissions: list[float] = []
    submitted: list[str] = []
    status, content, following, _ = client.ask("POST", f"/p/{order['slug']}/next/", "")
    expect_status(status, (302,), "next", content)
    while following.startswith("/work/") and len(submissions) < order["count"] and time.monotonic() < until:
        place = following
        status, content, _, seconds = client.ask("GET", place)
        expect_status(status, (200,), "workspace", content)
        pages.append(seconds)
        status, content, following, seconds = client.ask("POST", f"{place}submit/", "verdict=approve")
        expect_status(status, (302,), "submit", content)
        submissions.append(seconds)
        submitted.append(place.split("/")[2])
    return {"page": pages, "submit": submissions, "submitted": submitted}


def run_gets(client: Client, order: dict[str, Any], until: float) -> dict[str, Any]:
    """Request the addresses in turn and time them. The first response is not counted, because it fills caches."""
    out: dict[str, Any] = {}
    for name, urls in order["urls"].items():
        taken = []
        for number in range(order["count"] + 1):
            status, content, _, seconds = client.ask("GET", urls[number % len(urls)])
            expect_status(status, (200,), name, content)
            taken.append(seconds)
            if time.monotonic() > until:
                break
        out[name] = taken[1:] or taken
    return out


WORKLOADS = {"cycles": run_cycles, "pages": run_pages, "get": run_gets}


def main() -> None:
    """Run the workload that standard input describes."""
    order = json.loads(sys.stdin.readline())
    client = Client(order)
    client.connection.connect()
    print("ready", flush=True)
    sys.stdin.readline()
    begin = time.monotonic()
    try:
        seen = WORKLOADS[order["do"]](client, order, begin + order["seconds"])
    except (UnexpectedResponse, OSError, http.client.HTTPException) as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}))
        raise SystemExit(1) from None
    print(json.dumps({"seen": seen, "seconds": time.monotonic() - begin}))


if __name__ == "__main__":
    main()
