"""``make sbom``: write the software bill of materials of this version of Assay, in CycloneDX 1.6.

It lists what a user gets: the packages of the application and of its extras, and the JavaScript in static/vendor, each
with its version, hashes and licence. The same sources give the same bytes: there is no time in it, and its serial
number follows from its content.
"""

import argparse
import json
import sys
import uuid
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from jsonschema_rs import Registry, validator_for

from scripts.environment import ROOT, print_line
from scripts.licences import licence_of
from scripts.shipped_packages import APPLICATION, Package, own_version, read_lock, shipped_packages
from scripts.vendored_packages import VendoredPackage, vendored_files, vendored_packages

Json = dict[str, Any]


def bill_of_materials() -> Json:
    """Return the bill of materials of this checkout."""
    entries = read_lock()
    packages, vendored = shipped_packages(entries), vendored_packages()
    assay = {
        "type": "application",
        "bom-ref": "assay",
        "name": "assay",
        "version": own_version(entries),
        "licenses": _licences("Apache-2.0"),
    }
    components = [*map(_python, packages), *map(_npm, vendored), *_files()]
    direct = [
        *(_reference(package) for package in packages if package.is_direct),
        *(_npm_reference(one) for one in vendored),
        *vendored_files(),
    ]
    bill: Json = {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": assay},
        "components": components,
        "dependencies": [
            {"ref": "assay", "dependsOn": sorted(direct)},
            *({"ref": _reference(one), "dependsOn": sorted(map(_key_reference, one.requires))} for one in packages),
        ],
    }
    return {"serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, written(bill))}", **bill}


def written(bill: Json) -> str:
    """Return a bill of materials as text."""
    return json.dumps(bill, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def problems_of(bill: Json) -> list[str]:
    """Return how a bill of materials violates the schema of CycloneDX 1.6."""
    folder = files("cyclonedx.schema._res")
    names = ("bom-1.6", "spdx", "jsf-0.82")
    schemas = [json.loads((folder / f"{name}.SNAPSHOT.schema.json").read_text()) for name in names]
    base = "http://cyclonedx.org/schema/"
    registry = Registry([(f"{base}{name}.SNAPSHOT.schema.json", one) for name, one in zip(names, schemas, strict=True)])
    errors = validator_for(schemas[0], registry=registry).iter_errors(bill)
    return [f"{'/'.join(map(str, error.instance_path))}: {error.message[:200]}" for error in errors]


def _python(package: Package) -> Json:
    licence, _source = licence_of(package.name)
    return {
        "type": "library",
        "bom-ref": _reference(package),
        "purl": _reference(package),
        "name": package.name,
        "version": package.version,
        "scope": "required" if APPLICATION in package.used_by else "optional",
        "licenses": _licences(licence),
        "externalReferences": [
            {"type": "distribution", "url": url, "hashes": [{"alg": "SHA-256", "content": sha256}]}
            for url, sha256 in sorted(package.artefacts.items())
        ],
        "properties": [{"name": "assay:used-by", "value": group} for group in sorted(package.used_by)],
    }


def _npm(package: VendoredPackage) -> Json:
    return {
        "type": "library",
        "bom-ref": _npm_reference(package),
        "purl": _npm_reference(package),
        "name": package.name,
        "version": package.version,
        "scope": "required",
        "licenses": _licences(package.licence),
        "hashes": [{"alg": "SHA-512", "content": package.sha512}],
    }


def _files() -> list[Json]:
    return [
        {"type": "file", "bom-ref": path, "name": path, "hashes": [{"alg": "SHA-512", "content": sha512}]}
        for path, sha512 in vendored_files().items()
    ]


def _licences(expression: str) -> list[Json]:
    return [{"expression": expression}]


def _reference(package: Package) -> str:
    return _key_reference(package.key)


def _key_reference(key: tuple[str, str]) -> str:
    name, version = key
    return f"pkg:pypi/{name}@{version}"


def _npm_reference(package: VendoredPackage) -> str:
    return f"pkg:npm/{package.name.replace('@', '%40')}@{package.version}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the bill of materials. Return 1 if it violates the schema."""
    parser = argparse.ArgumentParser(prog="make sbom", description="Write the software bill of materials.")
    parser.add_argument("target", nargs="?", type=Path, help="default: var/assay-VERSION.cdx.json")
    options = parser.parse_args(arguments)
    bill = bill_of_materials()
    if problems := problems_of(bill):
        print("\n".join(["The bill of materials violates the schema of CycloneDX:", *problems]), file=sys.stderr)
        return 1
    target = options.target or ROOT / "var" / f"assay-{bill['metadata']['component']['version']}.cdx.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(written(bill))
    print_line(f"{target}: {len(bill['components'])} components")
    return 0


if __name__ == "__main__":
    sys.exit(main())
