"""Marks on content that has no findings that block a release, so that a release need not check it again.

A mark is valid for exactly what was checked: the content and its tools (by their hashes), the project's settings, and
the program that checked (its code, Python and the libraries). If any of these changes, the mark no longer matches and
the checks run again. Constrained cases and single tasks get no mark, since their findings change when they are run.
"""

import hashlib
import sys
from collections.abc import Iterable
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from annotator.core.checks.registry import checks_and_severities
from annotator.core.checks.settings import CheckSettings
from annotator.core.fields import stored_fields
from annotator.core.findings import Finding
from annotator.core.schema import canonical

#: The code that produces a document's findings, and the columns that lists and counters read.
PARTS = (
    *(
        "checks",
        "composites",
        "constraints",
        "execution",
        "fields",
        "findings.py",
        "graph",
        "mergeable.py",
        "metadata.py",
        "provenance",
        "sandbox",
        "schema",
        "search.py",
        "text.py",
        "tools/checks.py",
        "tools/parameters.py",
        "validators",
    ),
    "python_source.py",
    "wording.py",
)
LIBRARIES = ("jsonschema-rs", "orjson", "pydantic")


def _program() -> bytes:
    digest = hashlib.sha256(sys.version.encode())
    for library in LIBRARIES:
        digest.update(f"\0{library} {version(library)}".encode())
    root = Path(__file__).resolve().parent.parent
    for part in PARTS:
        path = root / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            digest.update(f"\0{file.relative_to(root)}\0".encode() + hashlib.sha256(file.read_bytes()).digest())
    return digest.digest()


#: Read when the process starts, because the files may be replaced by the next version while this one still runs.
_PROGRAM = _program()


class CleanMarks:
    """The marks of one project's documents under its current settings."""

    def __init__(self, settings: CheckSettings) -> None:
        chosen = asdict(settings) | {"fields": stored_fields(settings.fields)}
        self._base = hashlib.sha256(_PROGRAM + canonical(chosen).encode())
        severities = checks_and_severities("release", tuple(sorted(settings.severities.items())))[1]
        self._blocking = {check for check, severity in severities.items() if severity == "error"}

    def expected_mark(self, content_hash: str, toolset_hash: str) -> str:
        """Return the mark that this content has if it is clean."""
        digest = self._base.copy()
        digest.update(f"\0{content_hash}\0{toolset_hash}".encode())
        return digest.hexdigest()

    def mark_if_clean(
        self, document: dict[str, Any], findings: Iterable[Finding], content_hash: str, toolset_hash: str
    ) -> str | None:
        """Return the mark of a document from all its findings; None if it gets none."""
        if document["kind"] != "multi_turn" or any(finding.check in self._blocking for finding in findings):
            return None
        return self.expected_mark(content_hash, toolset_hash)
