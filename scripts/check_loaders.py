"""Load releases with the libraries that people use: ``make loaders``, or with archives of your own:

    python scripts/check_loaders.py [ARCHIVE …]

Without an archive, it creates the demo in a database of its own and takes its releases, and one with answers to custom
fields (``answered_release.py``). Each library is installed into an environment of its own, in the cache folder of the
user. Every table of every release is read, row by row, and compared with the files of the release. It prints a table,
and exits with 1 if anything differs.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
READER = ROOT / "scripts" / "read_release.py"
#: Seconds for one installation, and for one library to read one release.
PATIENCE = 240


class Loader(NamedTuple):
    """A library: the name that ``read_release.py`` knows, and what is installed."""

    library: str
    requirements: tuple[str, ...]

    @property
    def title(self) -> str:
        return self.requirements[0]


LOADERS = (
    *(Loader("datasets", (f"datasets=={version}.*",)) for version in ("2.21", "3.6", "4.0", "4.4", "5")),
    Loader("pandas", ("pandas", "pyarrow")),
    Loader("polars", ("polars",)),
    Loader("duckdb", ("duckdb",)),
    Loader("mlcroissant", ("mlcroissant[parquet]",)),
    # It imports a module that setuptools had until then.
    Loader("cffconvert", ("cffconvert==2.*", "setuptools<81")),
)


class Stop(Exception):
    """Stops the check. The message says what is wrong and what to do."""


def main(arguments: Sequence[str]) -> int:
    """Check the archives, or the releases of the demo."""
    parser = argparse.ArgumentParser(prog="check_loaders.py", description="Load releases with the usual libraries.")
    parser.add_argument("archives", nargs="*", type=Path, metavar="ARCHIVE", help="an archive of a release")
    options = parser.parse_args(arguments)
    begun = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="assay-loaders-") as temporary:
        try:
            scratch = Path(temporary)
            with ThreadPoolExecutor(2) as pool:
                installed = pool.map(install, LOADERS)
                releases = unpack(options.archives or demo_archives(scratch / "demo"), scratch / "releases")
                pythons = dict(zip(LOADERS, installed, strict=True))
                tasks = [(loader, pythons[loader], release, scratch) for loader in LOADERS for release in releases]
                rows = list(pool.map(lambda task: check(*task), tasks))
        except Stop as stop:
            print(stop, file=sys.stderr)
            return 1
    failed = report(rows)
    print(f"{len(rows) - failed} passed, {failed} failed")
    print(f"{time.monotonic() - begun:.0f} seconds", file=sys.stderr)
    return 1 if failed else 0


def install(loader: Loader) -> Path:
    """Return the Python of an environment with the library; create it if it is missing. Raises Stop."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "assay-loaders"
    key = hashlib.sha256(f"{sys.version_info[:2]} {loader.requirements}".encode()).hexdigest()[:12]
    folder = cache / f"{loader.library}-{key}"
    python, done = folder / "bin" / "python", folder / "complete"
    if done.exists() and python.exists():
        return python
    cache.mkdir(parents=True, exist_ok=True)
    uv = Path(sys.executable).with_name("uv")
    if not uv.exists():
        raise Stop(f"{uv} is missing. Run make loaders, which installs it.")
    for command in (
        [uv, "venv", "--quiet", "--clear", "--python", sys.executable, folder],
        [uv, "pip", "install", "--quiet", "--python", python, *loader.requirements],
    ):
        try:
            run = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise Stop(f"{loader.title} was not installed in {PATIENCE} seconds. Is the network slow?") from None
        if run.returncode:
            words = re.sub(r"\S*://\S*", "…", run.stderr.strip())
            network = re.search(r"dns|connect|network|fetch|timed out", words, re.I)
            why = "There is no network, which the first check of a library needs." if network else words
            raise Stop(f"{loader.title} could not be installed. {why}")
    done.touch()
    return python


def demo_archives(folder: Path) -> list[Path]:
    """Create the demo and a release with answers; return the archives of all releases. Raises Stop."""
    folder.mkdir()
    environment = {key: value for key, value in os.environ.items() if key not in ("DATABASE_URL", "REDIS_URL")}
    environment |= {"ASSAY_DATA": str(folder), "DJANGO_SETTINGS_MODULE": "annotator.config.settings"}
    for order in (["manage.py", "migrate"], ["manage.py", "load_demo"], ["scripts/answered_release.py"]):
        command = [sys.executable, *order]
        run = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
        if run.returncode:
            raise Stop(f"{' '.join(order)} failed:\n{run.stderr.strip()}")
    return sorted(folder.glob("**/release-*.zip"))


def unpack(archives: Sequence[Path], folder: Path) -> list[Path]:
    """Unpack archives of releases; return their folders. Raises Stop."""
    roots = []
    for number, path in enumerate(archives, 1):
        place = folder / str(number)
        try:
            with zipfile.ZipFile(path) as archive:
                archive.extractall(place)
        except (OSError, zipfile.BadZipFile) as error:
            raise Stop(f"Can't read {path}: {error.strerror if isinstance(error, OSError) else error}.") from None
        found = [manifest.parent for manifest in place.glob("**/manifest.json")]
        if len(found) != 1 or not (found[0] / "data").is_dir():
            raise Stop(f"{path} is not a release with tables. Earlier versions of Assay wrote none.")
        roots.append(found[0])
    if not roots:
        raise Stop("There is no release to check.")
    return roots


class Row(NamedTuple):
    """A line of the report: the library, its version, the release, the rows that it read, and what differs."""

    title: str
    version: str
    release: str
    rows: int
    problem: str


def check(loader: Loader, python: Path, release: Path, scratch: Path) -> Row:
    """Read a release with a library, and compare."""
    manifest = json.loads((release / "manifest.json").read_text())
    name = f"{manifest['project']} {manifest['version']}"
    home = tempfile.mkdtemp(dir=scratch)
    environment = os.environ | {
        "HF_HOME": home, "HF_HUB_OFFLINE": "1", "HOME": home, "XDG_CACHE_HOME": home, "PYTHONDONTWRITEBYTECODE": "1",
    }  # fmt: skip
    command = [str(python), "-I", str(READER), loader.library, str(release)]
    try:
        run = subprocess.run(
            command, env=environment, cwd=home, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except subprocess.TimeoutExpired:
        return Row(loader.title, "", name, 0, f"took more than {PATIENCE} seconds")
    if run.returncode:
        last = (run.stderr.strip().splitlines() or ["no output"])[-1]
        return Row(loader.title, "", name, 0, last)
    read = json.loads(run.stdout)
    tables: dict[str, list[list[str]]] = read["tables"]
    rows = sum(map(len, tables.values()))
    return Row(loader.title, read["version"], name, rows, _compare(tables, release, manifest, loader))


def _compare(tables: dict[str, list[list[str]]], release: Path, manifest: dict[str, Any], loader: Loader) -> str:
    """Return what differs from the files of the release; blank if nothing does."""
    if loader.library == "cffconvert":
        return ""
    items = [json.loads(line) for line in _lines(release / "items.jsonl")]
    expected = {"default": [[item["id"], item["revision_sha256"]] for item in items]}
    for file in manifest["files"]:
        if file["format"] == manifest["format"] != "neutral":
            lines = _lines(release / file["path"])
            expected[file["format"]] = [[str(json.loads(line)["id"]), _hash(line)] for line in lines]
    for path in sorted([*release.glob("entries.jsonl"), *release.glob("challenges/*.jsonl")]):
        records = [json.loads(line) for line in _lines(path)]
        expected[path.stem] = [[record["id"], _hash(json.dumps(record, sort_keys=True))] for record in records]
    answers = [row for line in _lines(release / "dialogues.jsonl") for row in _answers(json.loads(line))]
    if answers:
        expected["labels"] = [[row["id"], _hash(json.dumps(row, sort_keys=True))] for row in answers]
    if tables.keys() != expected.keys():
        return f"has the tables {sorted(tables)} instead of {sorted(expected)}"
    for config, rows in expected.items():
        if len(tables[config]) != len(rows):
            return f"{config}: {len(tables[config])} rows instead of {len(rows)}"
        for number, (found, due) in enumerate(zip(tables[config], rows, strict=True), 1):
            if found != due:
                return f"{config}: row {number} has {found[0]}, with other content or another id than {due[0]}"
    return ""


def _answers(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield the answers to custom fields of a record, as rows of the table of labels."""
    document = record["document"]
    parts = [("", "dialogue", document)]
    for task in document.get("tasks", ()):
        place = f"/tasks/{task['id']}"
        parts.append((place, "task", task))
        parts += [(f"{place}/steps/{step['id']}", step["type"], step) for step in task["steps"]]
    for each in document.get("reference_trajectory") or ():
        parts += [(f"/reference_trajectory/{each['id']}/calls/{call['id']}", "call", call) for call in each["calls"]]
    for place, scope, part in parts:
        for field, value in part.get("labels", {}).items():
            row = {"id": record["id"], "language": record["language"], "place": place, "scope": scope, "field": field}
            spans = isinstance(value, list) and isinstance(value[0], dict)
            yield row | {
                "text": value if isinstance(value, str) else None,
                "number": value if isinstance(value, int) else None,
                "values": value if isinstance(value, list) and not spans else None,
                "spans": value if spans else None,
                "canary": record["canary"],
            }


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _lines(path: Path) -> list[str]:
    # Not splitlines: a text may contain other line breaks.
    return [line for line in path.read_text(encoding="utf-8").split("\n") if line]


def report(rows: Sequence[Row]) -> int:
    """Print the table; return the number of failures."""
    heads = ("library", "version", "release", "rows", "result")
    cells = [heads, *((row.title, row.version, row.release, f"{row.rows:,}", row.problem or "ok") for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(4)]
    for line in cells:
        print("  ".join([*(text.ljust(width) for text, width in zip(line, widths, strict=False)), line[4]]))
    return sum(bool(row.problem) for row in rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
