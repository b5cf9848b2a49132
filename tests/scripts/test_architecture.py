"""The guides name the folders and files that there are; no app names the pages of one above it."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

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
        if (path / "__init__.py").is_file()
    }
    assert folders <= described, folders - described
    gone = {name for name in described if not (ROOT / name).exists() and not (ROOT / f"{name}.py").exists()}
    assert not gone


def test_every_file_that_the_guides_name_is_there() -> None:
    guides = [(ROOT / name).read_text(encoding="utf-8") for name in ("CONTRIBUTING.md", "docs/architecture.md")]
    parts = "annotator|benchmark|deploy|docs|reviews|scripts|static|templates|tests"
    named = {name for text in guides for name in re.findall(rf"`((?:{parts})/[\w./-]+)`", text)}
    assert len(named) > 60
    assert not {name for name in named if not (ROOT / name).exists()}


#: Addresses and templates as Python and templates name them.
_ADDRESS = re.compile(r"""(?:\b(?:reverse|reverse_lazy|redirect|resolve_url|url)\(\s*|\{% url )["']([\w-]+)["']""")
_TEMPLATE = re.compile(r"""["'](\w+)/[\w/.#-]+\.(?:html|txt)\b""")


@pytest.mark.parametrize(("app", "above"), [("annotator", ["reviews", "benchmark"]), ("reviews", ["benchmark"])])
def test_no_app_names_a_page_or_a_template_of_an_app_above_it(app: str, above: list[str]) -> None:
    pages = {name for one in above for name in page_names(one)}
    assert pages
    found = []
    for file in files_of(app):
        text = file.read_text(encoding="utf-8")
        upward = {name for name in _ADDRESS.findall(text) if name in pages}
        upward |= {name for name in _TEMPLATE.findall(text) if name in above}
        found += [f"{file.relative_to(ROOT)}: {name}" for name in sorted(upward)]
    assert not found


def page_names(app: str) -> Iterator[str]:
    for urls in (f"{app}.urls", f"{app}.api.urls"):
        for pattern in import_module(urls).urlpatterns:
            yield pattern.name


def files_of(app: str) -> Iterator[Path]:
    folders = [ROOT / "templates", ROOT / "templates" / "jinja2"]
    shared = [path for one in folders for path in one.iterdir() if path.name not in ("reviews", "benchmark", "jinja2")]
    own = [folder / app for folder in folders if app != "annotator"]
    for place in [ROOT / app, *own, *(shared if app == "annotator" else [])]:
        for file in [place] if place.is_file() else place.rglob("*"):
            # The composition root puts the apps together.
            if file.suffix in (".py", ".html", ".txt") and ROOT / "annotator/config" not in file.parents:
                yield file
