"""docs/architecture.md describes the folders that there are."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_folder_of_the_cores_and_services_is_described() -> None:
    rows = re.findall(r"^\| (`\w+/.*?) \|", (ROOT / "docs/architecture.md").read_text(encoding="utf-8"), re.M)
    described = set()
    for row in rows:
        first, *others = re.findall(r"`([\w/.]+)`", row)
        described |= {first, *(f"{first.rpartition('/')[0]}/{other}" for other in others)}
    folders = {
        path.relative_to(ROOT).as_posix()
        for app in ("annotator", "reviews", "benchmark")
        for part in ("core", "services")
        for path in (ROOT / app / part).iterdir()
        if path.is_dir() and path.name != "__pycache__"
    }
    assert folders <= described, folders - described
    gone = {name for name in described if not (ROOT / name).exists() and not (ROOT / f"{name}.py").exists()}
    assert not gone
