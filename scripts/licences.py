"""The licences of everything that is shipped: docs/licences.md, and whether each is on the list of allowed ones.

``make check`` runs it with ``--check``, which changes nothing; without, it writes the page.
"""

import argparse
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from license_expression import LicenseExpression, LicenseSymbol, get_spdx_licensing

from scripts.environment import ROOT, print_line
from scripts.shipped_packages import Package, read_lock, shipped_packages
from scripts.vendored_packages import VendoredPackage, vendored_packages

PAGE = ROOT / "docs" / "licences.md"

#: Licences (SPDX) that may be shipped with Apache-2.0, with what they ask.
_NOTICE = "keep the notice"
ALLOWED = {
    "0BSD": "nothing",
    "Apache-2.0": "keep the notice, say what was changed",
    "BSD-2-Clause": _NOTICE,
    "BSD-3-Clause": _NOTICE,
    "CC0-1.0": "nothing",
    "CNRI-Python": _NOTICE,
    "MIT": _NOTICE,
    "MIT-0": "nothing",
    "MPL-2.0": "publish changes to its own files; Assay makes none",
    "PSF-2.0": _NOTICE,
    "Zlib": _NOTICE,
}
#: Package and licence → why this package may be shipped although its licence is not in the list.
EXCEPTIONS = {
    (name, "LGPL-3.0-only"): "imported unchanged, as a package of its own that users can replace"
    for name in ("psycopg", "psycopg-binary")
}
#: What packages without an SPDX expression write instead, where it can mean one licence only.
_MEANING = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2": "Apache-2.0",
    "Apache 2.0": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD 3-Clause OR Apache-2.0": "BSD-3-Clause OR Apache-2.0",
    "MIT License": "MIT",
    "New BSD": "BSD-3-Clause",
    "PSFL": "PSF-2.0",
}
#: Package → its licence, and the file in which it was read, where the metadata is not enough.
READ_IN_FILES = {
    "amqp": ("BSD-3-Clause", "LICENSE"),
    "async-timeout": ("Apache-2.0", "LICENSE"),  # only installed with the first versions of Python 3.11
    "billiard": ("BSD-3-Clause", "LICENSE.txt"),
    "django-csp": ("BSD-3-Clause", "LICENSE"),
    "fido2": ("BSD-2-Clause AND Apache-2.0 AND MPL-2.0", "COPYING, COPYING.APLv2 and COPYING.MPLv2"),
    "jinja2": ("BSD-3-Clause", "LICENSE.txt"),
    "prompt-toolkit": ("BSD-3-Clause", "LICENSE"),
    "pyrage": ("MIT", "LICENSE"),
    "python-dateutil": ("Apache-2.0 OR BSD-3-Clause", "LICENSE"),
    "qrcode": ("BSD-3-Clause AND MIT", "LICENSE"),
    "rouge": ("Apache-2.0", "LICENSE"),
    "sqlparse": ("BSD-3-Clause", "LICENSE"),
    "vine": ("BSD-3-Clause", "LICENSE"),
}
_SPDX = get_spdx_licensing()


@dataclass(frozen=True)
class Row:
    """One line of the page. `licence`: an SPDX expression, or empty if it is not known."""

    name: str
    version: str
    licence: str
    used_by: str
    source: str


def licence_of(name: str) -> tuple[str, str]:
    """Return the licence of an installed package as an SPDX expression, and where that was read. Empty if unclear."""
    if name in READ_IN_FILES:
        return READ_IN_FILES[name]
    try:
        about: Any = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return "", ""
    if expression := about.get("License-Expression"):
        return str(_SPDX.parse(expression)), "metadata"
    classifiers = [one for one in about.get_all("Classifier") or [] if one.startswith("License ::")]
    for text in (about.get("License") or "", *(one.rpartition(" :: ")[2] for one in classifiers)):
        said = _MEANING.get(text, text)
        if said and not _SPDX.validate(said).errors:
            return str(_SPDX.parse(said)), "metadata"
    return "", ""


def refusal_of(name: str, licence: str) -> str:
    """Return a sentence if a package with this licence may not be shipped, else an empty text."""
    if not licence:
        return f"{name}: its licence is not known. Read it, and add it to READ_IN_FILES in scripts/licences.py."
    if _is_allowed(name, _SPDX.parse(licence)):
        return ""
    return f"{name}: {licence} is not an allowed licence. Use another package, or add the licence and a reason."


def _is_allowed(name: str, expression: LicenseExpression) -> bool:
    if isinstance(expression, LicenseSymbol):
        return expression.key in ALLOWED or (name, expression.key) in EXCEPTIONS
    parts = (_is_allowed(name, part) for part in expression.args)
    return any(parts) if isinstance(expression, _SPDX.OR) else all(parts)


def rows(packages: list[Package], vendored: list[VendoredPackage]) -> Iterator[Row]:
    """Return a row for each package, with all its versions."""
    versions: dict[str, list[Package]] = defaultdict(list)
    for package in packages:
        versions[package.name].append(package)
    for name, same in sorted(versions.items()):
        licence, source = licence_of(name)
        used_by = set().union(*(package.used_by for package in same))
        # An extra that needs a package of the application adds nothing.
        places = ["application"] if "application" in used_by else sorted(f"extra {extra}" for extra in used_by)
        yield Row(name, ", ".join(one.version for one in same), licence, ", ".join(places), source)
    for one in vendored:
        yield Row(one.name, one.version, one.licence, "browser (vendored)", "vendor.lock.json")


def page(table: list[Row]) -> str:
    """Return docs/licences.md."""
    lines = [
        "# Licences",
        "",
        "<!-- Written by scripts/licences.py: run `make licences` after a change of uv.lock or vendor.lock.json. -->",
        "",
        "Assay is under [Apache-2.0](../LICENSE). This page lists what a user gets with it: the packages of the",
        "application, of each extra, and the JavaScript in `static/vendor`. Packages for development are not shipped.",
        "`make check` fails if the page is not current, or if a licence is unknown or not in the list of allowed ones.",
        "",
        "## Allowed",
        "",
        "| licence | what it asks |",
        "|---|---|",
        *(f"| {licence} | {what} |" for licence, what in ALLOWED.items()),
        *(f"| {licence}, for {name} only | {why} |" for (name, licence), why in EXCEPTIONS.items()),
        "",
        "## Packages",
        "",
        "*Source* says where the licence was read: in the metadata of the package, in `vendor.lock.json`, or, where",
        "the metadata is unclear, in the named file of the package.",
        "",
        "| package | version | licence | used by | source |",
        "|---|---|---|---|---|",
        *(f"| {row.name} | {row.version} | {row.licence} | {row.used_by} | {row.source} |" for row in table),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the page, or check it. Return 1 if something is wrong."""
    parser = argparse.ArgumentParser(description="List and check the licences of what is shipped.")
    parser.add_argument("--check", action="store_true", help="change nothing")
    options = parser.parse_args(arguments)
    table = list(rows(shipped_packages(read_lock()), vendored_packages()))
    problems = [sentence for row in table if (sentence := refusal_of(row.name, row.licence))]
    written = page(table)
    if not options.check:
        PAGE.write_text(written)
    elif not PAGE.exists() or PAGE.read_text() != written:
        problems.append("docs/licences.md is not current. Run make licences.")
    print_line("\n".join(problems) or f"{len(table)} packages, all with allowed licences.")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
