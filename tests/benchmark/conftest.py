"""Files of candidates, and imports and releases run in this process."""

import gzip
import json
import zipfile
from collections.abc import Callable, Iterable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from annotator.models import Dialogue, Project, User
from annotator.services.jobs import jobs
from benchmark.models import ImportBatch, Release
from benchmark.services.imports.report import read_report
from benchmark.services.imports.requests import start_import
from benchmark.services.releases.requests import start_release
from tests.factories import (
    WEATHER_TOOLS,
    Team,
    adopt_c3,
    begin,
    claim_and_submit,
    make_dialogue,
    make_document,
    make_team,
)

Lines = Iterable[dict[str, Any] | str | bytes]


def candidate(name: str, *, city: str = "", document: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    """A neutral record: one dialogue about the weather in a city of its own."""
    return {
        "assay": 1,
        "id": name,
        "language": "en",
        "variant_group": "",
        "document": document or make_document(city or name),
        "tools": WEATHER_TOOLS,
    } | fields


def candidates(count: int, start: int = 0) -> list[dict[str, Any]]:
    """Records ``c00000``, ``c00001`` and so on."""
    return [candidate(f"c{n:05}") for n in range(start, start + count)]


def as_lines(records: Lines) -> bytes:
    """JSON lines; text and bytes are written as they are."""
    out = []
    for record in records:
        if isinstance(record, bytes):
            out.append(record)
        else:
            text = record if isinstance(record, str) else json.dumps(record, ensure_ascii=False)
            out.append(text.encode())
    return b"\n".join(out) + b"\n"


def as_zip(members: dict[str, bytes]) -> bytes:
    """A zip archive."""
    out = BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.fixture
def team(db: None) -> Team:
    """A project under the c3 protocol without an audit, with somebody in every role."""
    team = make_team()
    adopt_c3(team, audit_fraction=0.0)
    return team


@pytest.fixture
def run_import(team: Team) -> Callable[..., ImportBatch]:
    """Import content to its end: ``run_import(records)``, ``run_import(content=…, filename="a.zip")``."""

    def run(records: Lines = (), *, content: bytes | None = None, filename: str = "a.jsonl", **options: Any) -> Any:
        batch = begin_import(team, as_lines(records) if content is None else content, filename, **options)
        jobs.run(batch.job_id)
        return fresh(batch)

    return run


def begin_import(
    team: Team, content: bytes, filename: str = "a.jsonl", *, project: Project | None = None, **options: Any
) -> ImportBatch:
    """Ask for an import as the team's administrator; no worker hears of it."""
    options = {"native_format": "neutral", "actor": team.administrator} | options
    return start_import(
        project=project or team.project, upload=BytesIO(content), filename=filename, wake_worker=False, **options
    )


def fresh(batch: ImportBatch) -> ImportBatch:
    """The import as the database has it now."""
    return ImportBatch.objects.select_related("job", "project").get(pk=batch.pk)


def counters(batch: ImportBatch) -> tuple[int, int, int, int, int, int]:
    """(read, created, revised, unchanged, rejected, with_errors)"""
    return (batch.read, batch.created, batch.revised, batch.unchanged, batch.rejected, batch.with_errors)


def report_of(batch: ImportBatch) -> list[dict[str, Any]]:
    """The report's entries."""
    return [json.loads(line) for line in b"".join(read_report(fresh(batch))).splitlines()]


def gzipped(content: bytes) -> bytes:
    """Packed, the same bytes each time."""
    return gzip.compress(content, mtime=0)


def make_verified(team: Team, name: str, document: dict[str, Any] | None = None, **fields: Any) -> Dialogue:
    """A dialogue that has passed every stage."""
    dialogue = make_dialogue(team.project, document, external_id=name, **fields)
    begin(team.project, [dialogue])
    claim_and_submit(team.annotator, dialogue)
    claim_and_submit(team.annotator, dialogue)
    claim_and_submit(team.annotators[1], dialogue, "approve")
    claim_and_submit(team.annotators[2], dialogue, "approve")
    dialogue.refresh_from_db()
    return dialogue


def run_release(team: Team, version: str = "1.0", *, actor: User | None = None, **options: Any) -> Release:
    """Freeze a release to its end."""
    options = {"native_format": "neutral"} | options
    release = start_release(
        actor=actor or team.administrator, project=team.project, version=version, wake_worker=False, **options
    )
    jobs.run(release.job_id)
    return Release.objects.select_related("job", "project").get(pk=release.pk)


@pytest.fixture
def candidate_file(tmp_path: Path) -> Callable[..., Path]:
    """Write records to a file: ``candidate_file(candidates(3))``."""

    def write(records: Lines = (), *, name: str = "candidates.jsonl", content: bytes | None = None) -> Path:
        path = tmp_path / name
        path.write_bytes(as_lines(records) if content is None else content)
        return path

    return write
