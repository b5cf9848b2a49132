"""Run the single tasks of a release again, and compare with what the release says they came to."""

import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from annotator.core.execution.running import Execution, Runner
from annotator.core.execution.subjects import Subject, subject_of
from annotator.core.schema import SchemaProblem, canonical, content_hash
from annotator.core.schema.toolsets import CompiledToolset, toolset_content
from benchmark.core.archives.manifest import ITEMS, MANIFEST
from benchmark.core.files.limits import Budget, Limits
from benchmark.core.files.record_lines import LineError, parse_record, split_lines
from benchmark.core.files.zips import open_member, open_zip, shown_name
from benchmark.core.formats import FORMATS

#: Problems that are listed.
MAX_PROBLEMS = 200


@dataclass
class ExecutionReport:
    """How many single tasks were run, and what differs."""

    executed: int = 0
    problems: list[str] = field(default_factory=list)


def execution_facts(execution: Execution) -> dict[str, Any]:
    """Return what a release states about a trajectory: hashes instead of states and results."""
    return {
        "calls": [
            {
                "status": outcome.status.value,
                "result_sha256": content_hash(canonical([outcome.result])),
                "state_sha256": outcome.state_sha256,
            }
            for outcome in execution.outcomes
        ],
        "final_state_sha256": execution.final_sha256,
    }


def execute_release(
    path: Path, run: Callable[[Runner, Subject], Execution], runner: Runner, *, limits: Limits | None = None
) -> ExecutionReport:
    """Run every single task of an archive that ``verify_archive`` has accepted.

    ``run`` runs a subject twice. Raises SandboxUnavailable, and SourceError for an archive that cannot be read.
    """
    bounds = limits or Limits()
    report = ExecutionReport()
    with path.open("rb") as stream, open_zip(stream, bounds) as archive:
        members = _members(archive)
        stated = {row["id"]: row.get("execution") for row in _rows(archive, members[ITEMS], bounds)}
        for name in _neutral_files(archive, members, bounds):
            for row in _rows(archive, members[name], bounds):
                if row["document"].get("kind") == "single_task":
                    report.executed += 1
                    for problem in _compare(row, stated.get(row["id"]), run, runner):
                        if len(report.problems) < MAX_PROBLEMS:
                            report.problems.append(problem)
    return report


def _compare(
    row: dict[str, Any], stated: Any, run: Callable[[Runner, Subject], Execution], runner: Runner
) -> Iterator[str]:
    name = shown_name(row["id"])
    if not isinstance(stated, dict):
        yield f"{name}: {ITEMS} does not say what the trajectory came to."
        return
    try:
        (dialogue,) = FORMATS["neutral"].read(row)
        content = canonical(toolset_content(dialogue.tools, dialogue.implementation))
        subject = subject_of(dialogue.document, CompiledToolset.of(content))
    except SchemaProblem as problem:
        yield f"{name}: {problem.problems[0].message}"
        return
    if isinstance(subject, str):
        yield f"{name}: {subject}"
        return
    execution = run(runner, subject)
    if execution.differs is not None:
        yield f"{name}: two runs of the trajectory differ here."
    found = execution_facts(execution)
    for index, (one, due) in enumerate(zip(found["calls"], stated.get("calls") or [], strict=False), 1):
        if one != due:
            what = next((key for key in one if not isinstance(due, dict) or one[key] != due.get(key)), "status")
            yield f"{name}: call {index} comes to another {what.removesuffix('_sha256')} than the release says."
            return
    if found != stated:
        yield f"{name}: the final state is another one than the release says."


def _members(archive: zipfile.ZipFile) -> dict[str, zipfile.ZipInfo]:
    """Return the files of the release by their paths in its folder."""
    infos = {info.filename: info for info in archive.infolist() if not info.is_dir()}
    root = next(name for name in infos if name.endswith(MANIFEST)).removesuffix(MANIFEST)
    return {name.removeprefix(root): info for name, info in infos.items()}


def _neutral_files(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo], limits: Limits) -> list[str]:
    with open_member(archive, members[MANIFEST], Budget(limits)) as source:
        pieces = []
        while piece := source.read(1 << 18):
            pieces.append(piece)
    manifest = parse_record(b"".join(pieces))
    return [file["path"] for file in manifest["files"] if file.get("format") == "neutral"]


def _rows(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limits: Limits) -> Iterator[dict[str, Any]]:
    with open_member(archive, info, Budget(limits)) as source:
        for line, _, _ in split_lines(source, limits.line):
            if line is None or not line.strip():
                continue
            try:
                yield parse_record(line)
            except LineError:
                continue
