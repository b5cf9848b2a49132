"""What is shipped is listed, licensed and audited; the same sources give the same list."""

import copy
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from scripts import audit, licences, sbom
from scripts.audit import Asked
from scripts.shipped_packages import read_lock, shipped_packages
from scripts.vendored_packages import vendored_packages


def test_the_bill_of_materials_has_everything_shipped_and_nothing_for_development():
    bill = sbom.bill_of_materials()
    assert sbom.problems_of(bill) == []
    found = {one.get("purl", one["name"]): one for one in bill["components"]}
    for name in ("django", "psycopg-binary", "sentry-sdk", "boto3", "jieba", "numpy"):
        versions = {entry["version"] for entry in read_lock() if entry["name"] == name}
        assert {f"pkg:pypi/{name}@{version}" for version in versions} <= set(found)
    names = {one["name"] for one in bill["components"]}
    assert {"htmx.org", "@codemirror/view", "static/vendor/htmx.js"} <= names
    assert names & {"pytest", "ruff", "playwright", "esbuild", "colorama", "assay"} == set()
    assert all(one.get("hashes") or one["externalReferences"] for one in bill["components"])
    assert all(one["licenses"][0]["expression"] for one in bill["components"] if one["type"] == "library")
    references = {one["bom-ref"] for one in bill["components"]}
    links = {one["ref"]: set(one["dependsOn"]) for one in bill["dependencies"]}
    assert set().union(*links.values()) <= references
    assert "pkg:pypi/sqlparse@" in " ".join(links[next(one for one in links if one.startswith("pkg:pypi/django@"))])
    # Everything is there because Assay requires it, or because something that is there does.
    assert set().union(*links.values()) == references


def test_the_same_sources_give_the_same_bytes_and_other_ones_another_serial_number(monkeypatch):
    first = sbom.bill_of_materials()
    assert sbom.written(first) == sbom.written(sbom.bill_of_materials())
    changed = copy.deepcopy(read_lock())
    next(entry for entry in changed if entry["name"] == "django")["version"] = "5.2.99"
    monkeypatch.setattr(sbom, "read_lock", lambda: changed)
    assert sbom.bill_of_materials()["serialNumber"] != first["serialNumber"]


def test_a_bill_that_violates_the_schema_is_not_written(monkeypatch, tmp_path, capsys):
    bill = sbom.bill_of_materials()
    bill["components"][0]["type"] = "nonsense"
    monkeypatch.setattr(sbom, "bill_of_materials", lambda: bill)
    assert sbom.main([str(tmp_path / "bill.json")]) == 1
    assert "components/0/type" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "licence", "allowed"),
    [
        ("one", "MIT", True),
        ("one", "GPL-3.0-only", False),
        ("one", "GPL-3.0-only OR MIT", True),
        ("one", "GPL-3.0-only AND MIT", False),
        ("one", "MPL-2.0 AND (Apache-2.0 OR AGPL-3.0-only)", True),
        ("psycopg", "LGPL-3.0-only", True),
        ("one", "LGPL-3.0-only", False),
        ("one", "", False),
    ],
)
def test_licences_are_allowed_by_the_list(name, licence, allowed):
    assert (licences.refusal_of(name, licence) == "") is allowed


def test_a_page_of_licences_that_is_not_current_fails_the_check(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(licences, "PAGE", tmp_path / "licences.md")
    assert licences.main(["--check"]) == 1
    assert licences.main([]) == 0
    assert licences.main(["--check"]) == 0
    licences.PAGE.write_text(licences.PAGE.read_text().replace("| django |", "| jango |"))
    assert licences.main(["--check"]) == 1
    assert "not current" in capsys.readouterr().out


#: What the advisory service of these tests knows.
KNOWN = {
    ("PyPI", "django", "1.0"): ["TEST-1", "TEST-2"],
    ("npm", "htmx.org", "0.9"): ["TEST-3"],
    ("PyPI", "retracted", "1"): ["TEST-4"],
}
ADVISORIES = {
    "TEST-1": {"id": "TEST-1", "summary": "A query is wrong", "aliases": ["CVE-1"]},
    "TEST-2": {"id": "TEST-2"},
    "TEST-3": {"id": "TEST-3", "summary": "A script runs"},
    "TEST-4": {"id": "TEST-4", "withdrawn": "2026-01-01T00:00:00Z"},
}


class AdvisoryService(BaseHTTPRequestHandler):
    """Answers like OSV."""

    def do_POST(self) -> None:
        queries = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["queries"]
        keys = [(one["package"]["ecosystem"], one["package"]["name"], one["version"]) for one in queries]
        self.answer({"results": [{"vulns": [{"id": id} for id in KNOWN[key]]} if key in KNOWN else {} for key in keys]})

    def do_GET(self) -> None:
        self.answer(ADVISORIES[self.path.removeprefix("/v1/vulns/")])

    def answer(self, content: dict[str, Any]) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        """Print nothing."""


class FailingService(AdvisoryService):
    """Knows packages, but not what is wrong with them."""

    def do_GET(self) -> None:
        self.send_error(500)


@pytest.fixture
def service(request: pytest.FixtureRequest) -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), getattr(request, "param", AdvisoryService))
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_known_vulnerabilities_of_python_and_npm_packages_fail_the_audit(service, capsys):
    asked = [Asked("PyPI", "django", "1.0"), Asked("npm", "htmx.org", "0.9"), Asked("PyPI", "jinja2", "3")]
    assert audit.audit(asked, service) == audit.VULNERABLE
    said = capsys.readouterr().out
    assert "django 1.0 (PyPI): TEST-1, CVE-1: A query is wrong" in said
    assert "htmx.org 0.9 (npm): TEST-3: A script runs" in said
    assert "Audited 3 packages" in said
    assert "2 with known vulnerabilities" in said


def test_an_accepted_or_withdrawn_advisory_does_not_fail_the_audit(service, capsys, monkeypatch):
    monkeypatch.setattr(audit, "ACCEPTED", {"TEST-3": "Assay does not use this part."})
    asked = [Asked("npm", "htmx.org", "0.9"), Asked("PyPI", "retracted", "1")]
    assert audit.audit(asked, service) == 0
    assert "accepted: Assay does not use this part." in capsys.readouterr().out


def test_the_audit_asks_about_everything_shipped(service, capsys):
    assert audit.main(["--service", service]) == 0
    count = len(shipped_packages(read_lock())) + len(vendored_packages())
    assert f"Audited {count} packages" in capsys.readouterr().out


@pytest.mark.parametrize("service", [FailingService], indirect=True)
def test_a_failing_service_leaves_packages_unaudited(service, capsys):
    assert audit.audit([Asked("PyPI", "django", "1.0")], service) == audit.NOT_AUDITED
    assert "NOT AUDITED" in capsys.readouterr().out


def test_no_service_leaves_packages_unaudited(capsys):
    assert audit.audit([Asked("PyPI", "django", "1.0")], "http://127.0.0.1:9") == audit.NOT_AUDITED
    said = capsys.readouterr().out
    assert "NOT AUDITED: http://127.0.0.1:9 did not answer" in said
    assert "with known vulnerabilities" not in said
