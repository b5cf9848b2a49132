"""The packages that a user of Assay gets, read from uv.lock: not those for development only."""

import tomllib
from collections import defaultdict
from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

from packaging.markers import Marker, default_environment

from scripts.environment import ROOT

LOCK = ROOT / "uv.lock"
APPLICATION = "application"
#: Servers run Linux, on one of these processors, with one of these versions of Python.
_PYTHONS = ("3.11.0", "3.12.9", "3.13.9", "3.14.9")
_MACHINES = ("x86_64", "aarch64")

Entry = dict[str, Any]


@dataclass
class Package:
    """One version of a package.

    `artefacts`: URL → SHA-256 in hex. `used_by`: the application, or names of extras. `is_direct`: whether Assay itself
    requires it. `requires`: keys of packages.
    """

    name: str
    version: str
    artefacts: dict[str, str]
    used_by: set[str] = field(default_factory=set)
    is_direct: bool = False
    requires: set[tuple[str, str]] = field(default_factory=set)

    @property
    def key(self) -> tuple[str, str]:
        """Name and version. Some packages have another version for older Pythons."""
        return self.name, self.version


def read_lock(path: Path = LOCK) -> list[Entry]:
    """Return the entries of the lock file, one for each version of a package."""
    entries: list[Entry] = tomllib.loads(path.read_text())["package"]
    return entries


def shipped_packages(entries: list[Entry]) -> list[Package]:
    """Return what is installed with the application or with one of its extras, ordered by name and version."""
    return _Walk(entries).packages()


def own_version(entries: list[Entry]) -> str:
    """Return the version of Assay."""
    return str(next(entry["version"] for entry in entries if entry["name"] == "assay"))


class _Walk:
    """Follows the requirements from Assay on."""

    def __init__(self, entries: list[Entry]) -> None:
        self.entries: dict[str, list[Entry]] = defaultdict(list)
        for entry in entries:
            self.entries[entry["name"]].append(entry)
        self.found: dict[tuple[str, str], Package] = {}

    def packages(self) -> list[Package]:
        (assay,) = self.entries["assay"]
        groups = {APPLICATION: assay["dependencies"], **assay.get("optional-dependencies", {})}
        for group, dependencies in groups.items():
            done: set[tuple[str, str, str]] = set()
            for dependency in dependencies:
                for key in self._add(dependency, group, done):
                    self.found[key].is_direct = True
        return [self.found[key] for key in sorted(self.found)]

    def _add(self, dependency: Entry, group: str, done: set[tuple[str, str, str]]) -> set[tuple[str, str]]:
        """Add a requirement and what it requires in turn. Return the packages that fulfil it."""
        if not _is_for_servers(dependency.get("marker", "")):
            return set()
        fulfilling = set()
        for entry in self.entries[dependency["name"]]:
            if entry["version"] != dependency.get("version", entry["version"]):
                continue
            package = self._package(entry)
            package.used_by.add(group)
            fulfilling.add(package.key)
            for extra, required in _parts(entry, dependency.get("extra", [])):
                part = (*package.key, extra)
                if part not in done:
                    done.add(part)
                    for one in required:
                        package.requires |= self._add(one, group, done)
        return fulfilling

    def _package(self, entry: Entry) -> Package:
        files = [*entry.get("wheels", []), *([entry["sdist"]] if "sdist" in entry else [])]
        package = Package(
            entry["name"], entry["version"], {file["url"]: file["hash"].removeprefix("sha256:") for file in files}
        )
        return self.found.setdefault(package.key, package)


def _parts(entry: Entry, extras: list[str]) -> Iterator[tuple[str, list[Entry]]]:
    """Return the requirements of a package, and those of its extras."""
    yield "", entry.get("dependencies", [])
    for extra in extras:
        yield extra, entry.get("optional-dependencies", {}).get(extra, [])


def _is_for_servers(marker: str) -> bool:
    return not marker or any(Marker(marker).evaluate(one) for one in _SERVERS)


def _server(python: str, machine: str) -> dict[str, str | AbstractSet[str]]:
    return {
        **{key: str(value) for key, value in default_environment().items()},
        "implementation_name": "cpython",
        "platform_python_implementation": "CPython",
        "os_name": "posix",
        "platform_system": "Linux",
        "sys_platform": "linux",
        "platform_machine": machine,
        "python_version": python.rpartition(".")[0],
        "python_full_version": python,
    }


_SERVERS = [_server(python, machine) for python, machine in product(_PYTHONS, _MACHINES)]
