"""``make audit``: ask the OSV database whether what is shipped has known vulnerabilities.

Asks about the Python packages of uv.lock and the npm packages of vendor.lock.json. Exit codes: 0 nothing known, 1 at
least one vulnerability, 3 NOT AUDITED: the service did not answer, so nothing is known about any package.
API: https://google.github.io/osv.dev/api/
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2

from scripts.environment import print_line
from scripts.shipped_packages import read_lock, shipped_packages
from scripts.vendored_packages import vendored_packages

SERVICE = "https://api.osv.dev"
VULNERABLE, NOT_AUDITED = 1, 3
SECONDS = 20
#: Id of an advisory → why it does not concern Assay. It is still printed.
ACCEPTED: dict[str, str] = {}


@dataclass(frozen=True)
class Asked:
    """A version of a package. `ecosystem`: as OSV names it, PyPI or npm."""

    ecosystem: str
    name: str
    version: str


class Unanswered(Exception):
    """The service did not answer, or not as documented. The message says how."""


def shipped() -> list[Asked]:
    """Return every version of a package that a user gets."""
    python = [Asked("PyPI", one.name, one.version) for one in shipped_packages(read_lock())]
    return python + [Asked("npm", one.name, one.version) for one in vendored_packages()]


def advisories(asked: Sequence[Asked], service: str = SERVICE) -> Iterator[tuple[Asked, dict[str, Any]]]:
    """Yield each package with each advisory about this version. Raises `Unanswered`."""
    queries = [{"package": {"ecosystem": one.ecosystem, "name": one.name}, "version": one.version} for one in asked]
    try:
        with httpx2.Client(base_url=service, timeout=SECONDS) as client:
            results = _json(client.post("/v1/querybatch", json={"queries": queries}))["results"]
            if len(results) != len(asked):
                raise Unanswered(f"{len(results)} answers to {len(asked)} questions")
            for one, result in zip(asked, results, strict=True):
                if result.get("next_page_token"):
                    raise Unanswered(f"more than one page of advisories about {one.name}")
                for found in result.get("vulns", []):
                    advisory = _json(client.get(f"/v1/vulns/{found['id']}"))
                    if "withdrawn" not in advisory:
                        yield one, advisory
    except (httpx2.HTTPError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise Unanswered(f"{type(error).__name__}: {error}") from error


def _json(response: httpx2.Response) -> dict[str, Any]:
    response.raise_for_status()
    content: dict[str, Any] = response.json()
    return content


def audit(asked: Sequence[Asked], service: str) -> int:
    """Print what is known about these packages, and return the exit code."""
    try:
        found = list(advisories(asked, service))
    except Unanswered as error:
        print_line(f"NOT AUDITED: {service} did not answer ({error}).")
        print_line(
            "Whether a package has a known vulnerability was not checked. Run make audit where it can be reached."
        )
        return NOT_AUDITED
    for one, advisory in found:
        reason = ACCEPTED.get(advisory["id"])
        summary = advisory.get("summary") or "no summary"
        names = ", ".join([advisory["id"], *advisory.get("aliases", [])])
        print_line(f"{one.name} {one.version} ({one.ecosystem}): {names}: {summary}")
        print_line(f"  accepted: {reason}" if reason else f"  see https://osv.dev/vulnerability/{advisory['id']}")
    bad = {one for one, advisory in found if advisory["id"] not in ACCEPTED}
    print_line(f"Audited {len(asked)} packages with {service}: {len(bad)} with known vulnerabilities.")
    return VULNERABLE if bad else 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit what is shipped."""
    parser = argparse.ArgumentParser(prog="make audit", description="Look for known vulnerabilities.")
    parser.add_argument("--service", default=SERVICE, help="another service with the API of OSV")
    return audit(shipped(), parser.parse_args(arguments).service)


if __name__ == "__main__":
    sys.exit(main())
