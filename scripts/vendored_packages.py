"""The npm packages whose code is in static/vendor, read from vendor.lock.json."""

import base64
from dataclasses import dataclass

from scripts.vendor import expected_files, read_lock


@dataclass(frozen=True)
class VendoredPackage:
    """One package. `sha512`: hex, of the archive that npm offers."""

    name: str
    version: str
    licence: str
    sha512: str


def vendored_packages() -> list[VendoredPackage]:
    """Return the packages that reach the browser, without the tools that built the bundles."""
    lock = read_lock()
    found = [
        VendoredPackage(name, one["version"], one["licence"], in_hex(one["integrity"]))
        for name, one in lock["packages"].items()
    ]
    for bundle in lock["bundles"].values():
        found += [
            VendoredPackage(name, one["version"], bundle["licence"], in_hex(one["integrity"]))
            for name, one in bundle["resolved"].items()
            if name not in bundle["tools"]
        ]
    return sorted(found, key=lambda one: one.name)


def vendored_files() -> dict[str, str]:
    """Return path → SHA-512 in hex, for each file in static/vendor."""
    return {f"static/vendor/{name}": in_hex(one) for name, one in sorted(expected_files(read_lock()).items())}


def in_hex(integrity: str) -> str:
    """Return a hash that npm writes as ``sha512-`` and Base64, in hex."""
    return base64.b64decode(integrity.removeprefix("sha512-")).hex()
