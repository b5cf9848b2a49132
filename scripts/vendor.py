"""The browser's libraries: pinned npm packages, kept in ``static/vendor`` so that nobody who runs Assay needs Node.

    vendor.py check    compare the files with vendor.lock.json; needs neither npm nor a network
    vendor.py sync     fetch the pinned packages again and copy their files
    vendor.py bundle   build the code editor's module again from the pinned packages (``--update``: from newer ones)

To move a library to another version, change it in vendor.lock.json, remove its ``integrity``, and sync or bundle.
"""

import argparse
import base64
import hashlib
import json
import re
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "vendor.lock.json"
FOLDER = ROOT / "static" / "vendor"
#: Source maps are not shipped, and static file storage refuses a reference to a file that is not there.
SOURCE_MAP = re.compile(rb"\n?//# sourceMappingURL=\S+\s*$")
TARGET = "es2022"

Lock = dict[str, Any]


class Stop(Exception):
    """Ends the command with a sentence."""


def integrity(content: bytes) -> str:
    """SHA-512 in the spelling of package locks and of the ``integrity`` attribute."""
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


def read_lock() -> Lock:
    lock: Lock = json.loads(LOCK.read_text())
    return lock


def write_lock(lock: Lock) -> None:
    LOCK.write_text(json.dumps(lock, indent=2) + "\n")


def expected_files(lock: Lock) -> dict[str, str]:
    """Name below ``static/vendor`` -> integrity, for everything that should be there."""
    files: dict[str, str] = {}
    for package in lock["packages"].values():
        files.update({file["to"]: file["integrity"] for file in package["files"].values()})
    for bundle in lock["bundles"].values():
        files.update(bundle["files"])
    return files


def check(lock: Lock) -> list[str]:
    """What differs between the lock file and ``static/vendor``, as sentences; empty when nothing does."""
    wanted = expected_files(lock)
    found = {
        path.relative_to(FOLDER).as_posix(): integrity(path.read_bytes())
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file()
    }
    problems = [f"{name} is missing; run vendor.py sync or bundle." for name in sorted(wanted.keys() - found.keys())]
    problems += [
        f"{name} is not in vendor.lock.json; remove it or add it." for name in sorted(found.keys() - wanted.keys())
    ]
    problems += [
        f"{name} is not the file that vendor.lock.json names."
        for name in sorted(wanted.keys() & found.keys())
        if wanted[name] != found[name]
    ]
    return problems


def sync(lock: Lock) -> None:
    """Fetch every plain package at its pinned version and copy the files the lock file names."""
    for name, package in lock["packages"].items():
        with tempfile.TemporaryDirectory() as folder:
            specifier = f"{name}@{package['version']}"
            _npm("pack", specifier, "--pack-destination", folder, cwd=Path(folder))
            archive = next(Path(folder).glob("*.tgz"))
            found = integrity(archive.read_bytes())
            if package.setdefault("integrity", found) != found:
                raise Stop(f"{specifier}: the package fetched is not the one pinned ({found}). Nothing was changed.")
            with tarfile.open(archive) as members:
                for source, file in package["files"].items():
                    member = members.extractfile(f"package/{source}")
                    if member is None:
                        raise Stop(f"{specifier} has no file {source}; correct vendor.lock.json.")
                    file["integrity"] = _write(file["to"], SOURCE_MAP.sub(b"\n", member.read()))


def bundle(lock: Lock, *, update: bool) -> None:
    """Build each bundle of the lock file with esbuild, from packages whose hashes are pinned."""
    for name, entry in lock["bundles"].items():
        pinned = {} if update else {key: value["version"] for key, value in entry["resolved"].items()}
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            manifest = {"private": True, "dependencies": {**entry["requires"], **pinned}}
            (folder / "package.json").write_text(json.dumps(manifest))
            _npm("install", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
            resolved = _resolved(folder)
            for package, found in resolved.items():
                known = entry["resolved"].get(package)
                if not update and known != found:
                    raise Stop(f"{package}: installed {found}, pinned {known}. Nothing was changed.")
            (folder / "entry.js").write_bytes((ROOT / entry["entry"]).read_bytes())
            output = folder / "bundle.js"
            command = ["node_modules/.bin/esbuild", "entry.js", "--bundle", "--minify", "--format=esm"]
            command += [f"--target={TARGET}", "--legal-comments=none", f"--outfile={output}", "--log-level=warning"]
            subprocess.run(command, cwd=folder, check=True)
            entry["resolved"] = resolved
            entry["files"] = {
                f"{name}.js": _write(f"{name}.js", output.read_bytes()),
                f"LICENSE.{name}": _write(f"LICENSE.{name}", _licences(folder, resolved, entry["tools"]).encode()),
            }


def _resolved(folder: Path) -> dict[str, dict[str, str]]:
    """What npm installed: package -> version and integrity. Builds of esbuild for other systems are left out."""
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    resolved = {}
    for path, package in sorted(packages.items()):
        name = path.removeprefix("node_modules/")
        if path and not package.get("optional"):
            if "node_modules/" in name:
                raise Stop(f"{path}: two versions of one package; pin a common one in vendor.lock.json.")
            resolved[name] = {"version": package["version"], "integrity": package["integrity"]}
    return resolved


def _licences(folder: Path, resolved: dict[str, dict[str, str]], tools: list[str]) -> str:
    """Every bundled package's licence, equal texts once."""
    by_text: dict[str, list[str]] = {}
    for package, found in resolved.items():
        if package in tools:
            continue
        text = next((folder / "node_modules" / package).glob("LICEN[SC]E*"), None)
        if text is None:
            raise Stop(f"{package} ships no licence text; add it by hand before bundling it.")
        by_text.setdefault(text.read_text().strip(), []).append(f"{package} {found['version']}")
    return "\n\n".join("\n".join(names) + "\n\n" + text for text, names in by_text.items()) + "\n"


def _write(name: str, content: bytes) -> str:
    path = FOLDER / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return integrity(content)


def _npm(*arguments: str, cwd: Path) -> None:
    try:
        done = subprocess.run(["npm", *arguments, "--silent"], cwd=cwd, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Stop("npm is not on this machine; only sync and bundle need it.") from None
    if done.returncode:
        raise Stop(f"npm {arguments[0]} failed: {done.stderr.strip() or done.stdout.strip()}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Keep the browser's libraries as vendor.lock.json pins them.")
    parser.add_argument("command", choices=["check", "sync", "bundle"])
    parser.add_argument("--update", action="store_true", help="bundle: take the newest packages that fit")
    options = parser.parse_args(arguments)
    lock = read_lock()
    try:
        if options.command == "sync":
            sync(lock)
        elif options.command == "bundle":
            bundle(lock, update=options.update)
    except Stop as stop:
        print(stop, file=sys.stderr)
        return 1
    if options.command != "check":
        write_lock(lock)
        return 0
    problems = check(lock)
    for problem in problems:
        print(f"static/vendor: {problem}", file=sys.stderr)
    print(json.dumps({"ok": not problems, "files": len(expected_files(lock)), "problems": len(problems)}))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
