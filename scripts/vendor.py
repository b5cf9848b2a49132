"""JavaScript libraries from npm, stored in ``static/vendor`` so that running Assay does not need Node.

    vendor.py check    compare the files with vendor.lock.json; needs no npm and no network
    vendor.py sync     download the pinned packages and copy their files
    vendor.py bundle   build the code editor from the pinned packages (``--update``: from the newest ones)

To change a library's version, edit it in vendor.lock.json, remove its ``integrity``, and run sync or bundle.
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
#: Source maps are not included, and static file storage refuses references to missing files.
SOURCE_MAP = re.compile(rb"\n?//# sourceMappingURL=\S+\s*$")
TARGET = "es2022"

Lock = dict[str, Any]


class Stop(Exception):
    """Stops the command. The message says what is wrong."""


def integrity(content: bytes) -> str:
    """Return the SHA-512 hash as npm and the ``integrity`` attribute write it."""
    return "sha512-" + base64.b64encode(hashlib.sha512(content).digest()).decode()


def read_lock() -> Lock:
    lock: Lock = json.loads(LOCK.read_text())
    return lock


def write_lock(lock: Lock) -> None:
    LOCK.write_text(json.dumps(lock, indent=2) + "\n")


def expected_files(lock: Lock) -> dict[str, str]:
    """Return path below ``static/vendor`` → integrity, for all expected files."""
    files: dict[str, str] = {}
    for package in lock["packages"].values():
        files.update({file["to"]: file["integrity"] for file in package["files"].values()})
    for bundle in lock["bundles"].values():
        files.update(bundle["files"])
    return files


def check(lock: Lock) -> list[str]:
    """Return a sentence for each difference between the lock file and ``static/vendor``."""
    wanted = expected_files(lock)
    found = {
        path.relative_to(FOLDER).as_posix(): integrity(path.read_bytes())
        for path in sorted(FOLDER.rglob("*"))
        if path.is_file()
    }
    problems = [f"{name} is missing. Run vendor.py sync or bundle." for name in sorted(wanted.keys() - found.keys())]
    problems += [
        f"{name} is not in vendor.lock.json. Remove it or add it." for name in sorted(found.keys() - wanted.keys())
    ]
    problems += [
        f"{name} differs from the file in vendor.lock.json."
        for name in sorted(wanted.keys() & found.keys())
        if wanted[name] != found[name]
    ]
    return problems


def sync(lock: Lock) -> None:
    """Download each package at its pinned version and copy the files that the lock file lists."""
    for name, package in lock["packages"].items():
        with tempfile.TemporaryDirectory() as folder:
            specifier = f"{name}@{package['version']}"
            _npm("pack", specifier, "--pack-destination", folder, cwd=Path(folder))
            archive = next(Path(folder).glob("*.tgz"))
            found = integrity(archive.read_bytes())
            if package.setdefault("integrity", found) != found:
                raise Stop(f"{specifier}: the downloaded package is not the pinned one ({found}). Nothing was changed.")
            with tarfile.open(archive) as members:
                for source, file in package["files"].items():
                    member = members.extractfile(f"package/{source}")
                    if member is None:
                        raise Stop(f"{specifier} has no file {source}. Correct vendor.lock.json.")
                    file["integrity"] = _write(file["to"], SOURCE_MAP.sub(b"\n", member.read()))


def bundle(lock: Lock, *, update: bool) -> None:
    """Build each bundle in the lock file with esbuild, from packages with pinned hashes."""
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
    """Return package → version and integrity of what npm installed, without esbuild for other systems."""
    packages = json.loads((folder / "package-lock.json").read_text())["packages"]
    resolved = {}
    for path, package in sorted(packages.items()):
        name = path.removeprefix("node_modules/")
        if path and not package.get("optional"):
            if "node_modules/" in name:
                raise Stop(f"{path}: two versions of one package. Pin one in vendor.lock.json.")
            resolved[name] = {"version": package["version"], "integrity": package["integrity"]}
    return resolved


def _licences(folder: Path, resolved: dict[str, dict[str, str]], tools: list[str]) -> str:
    """Return the licences of all bundled packages; a text that several share appears once."""
    by_text: dict[str, list[str]] = {}
    for package, found in resolved.items():
        if package in tools:
            continue
        text = next((folder / "node_modules" / package).glob("LICEN[SC]E*"), None)
        if text is None:
            raise Stop(f"{package} has no licence file. Add the text yourself before you bundle it.")
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
        raise Stop("npm is not installed. Only sync and bundle need it.") from None
    if done.returncode:
        raise Stop(f"npm {arguments[0]} failed: {done.stderr.strip() or done.stdout.strip()}")


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Check or update the JavaScript libraries in static/vendor.")
    parser.add_argument("command", choices=["check", "sync", "bundle"])
    parser.add_argument("--update", action="store_true", help="bundle: use the newest compatible packages")
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
