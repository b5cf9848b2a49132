"""Every page of a project at work, found by following links as a person does, and held to the same rules."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from django.core.management import call_command
from django.urls import Resolver404, resolve
from django.utils import timezone
from playwright.sync_api import Page

from annotator.models import Dialogue, Project, User
from benchmark.core.scoring.items import Flag
from benchmark.demo import slip, weeks
from benchmark.demo.project import SLUG, is_loaded
from benchmark.demo.reviewing import Scenario
from benchmark.models import EntryStatistic, ScoreSet
from reviews.models import GoldItem, Review
from reviews.services.queue.claims import claim_next

pytestmark = [pytest.mark.browser, pytest.mark.slow(seconds=100)]

#: Pages of one kind that are opened: items are laid out alike, and a filter shows the same list.
ALIKE = 1
#: What only hands out a file or speaks to machines; the style guide and the API's page have tests of their own.
NOT_FOLLOWED = ("/api/", "/accounts/logout/", "/static/", "/styleguide/")

#: The kinds of element in a page's content: axe finds nothing new on a page whose kinds it has all seen.
KINDS = """() => [...new Set([...document.querySelectorAll("main, main *")].map(
  (e) => [e.parentElement.className, e.localName, e.className, ...e.getAttributeNames()].join(" "),
))]"""


@pytest.fixture
def project(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The demo: work in every stage, over weeks that are past. Its first start is interrupted, and leaves nothing."""

    def stop(scenario: Scenario) -> None:
        assert Dialogue.objects.filter(project=scenario.project).exists()
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(weeks, "play_first_weeks", stop)
        with pytest.raises(KeyboardInterrupt):
            call_command("load_demo")
    assert not Project.objects.exists()
    assert not User.objects.exists()
    call_command("load_demo")
    assert is_loaded()
    project = Project.objects.get(slug=SLUG)
    moments = Review.objects.filter(project=project).values_list("created_at", "seconds")
    assert len({moment.date() for moment, _ in moments}) > 8
    assert max(moment for moment, _ in moments) < timezone.now()
    assert all(seconds for _, seconds in moments)
    assert GoldItem.objects.filter(project=project, retired_at=None).exists()
    assert GoldItem.objects.filter(project=project, retired_at__isnull=False).exists()
    # A scripted model that knows what is right was asked about a release of each kind.
    asked = ScoreSet.objects.filter(run__file__inference__isnull=False).order_by("pk")
    assert [(one.run.family, one.entries - one.right) for one in asked] == [("wild", 1), ("cctu", 0), ("async", 0)]
    # Where it is wrong, the reference is.
    suspect = EntryStatistic.objects.exclude(flag__in=(Flag.NOTHING, Flag.ALL_RIGHT)).get(release__project=project)
    assert (suspect.entry, suspect.flag) == (f"{slip.NAME}#{slip.TASK}", Flag.SAME_ANSWER)
    return project


#: The people that the test signs in, what they claim first (None: nothing), and some of the pages that they must reach.
PEOPLE: tuple[tuple[str, dict[str, str] | None, set[str]], ...] = (
    (
        "ingrid",
        None,
        {
            "import-list",
            "import-detail",
            "release-list",
            "job-list",
            "protocol",
            "project-settings",
            "score-board",
            "prediction-file",
            "run",
            "run-entry",
            "entry-list",
            "entry-detail",
            "errata-list",
            "erratum-add",
            "erratum-decide",
            "endpoint-list",
            "inference",
            "inference-start",
            "baseline-start",
            "generation-list",
            "generation",
            "generation-call",
            "generation-start",
            "generation-figures",
            "prompt",
        },
    ),
    ("yuki", {"stage": "expert"}, {"workspace", "workspace-settle", "dialogue-list", "revision-diff"}),
    ("amina", {}, {"workspace", "guideline", "project", "dialogue", "baseline", "error-report"}),
)


def test_every_page_one_can_reach(open_page: Any, check_accessibility: Any, project: Project) -> None:
    """No CSP violation or script error; nothing for axe to find, light and dark; no sideways scrolling; one heading.

    One test for an administrator, a senior reviewer and an annotator, because the demo takes seconds to load. axe scans
    each person's first page, one page of each kind, and every page with a kind of element that it has not seen.
    """
    faults: list[str] = []
    scanned: set[str] = set()
    seen_kinds: set[str] = set()
    for username, takes, pages in PEOPLE:
        person = User.objects.get(username=username)
        if takes is not None:
            assert claim_next(actor=person, project=project, **takes) is not None
        page = open_page(person, width=1440)
        seen: dict[str, int] = {}
        for path, name in _reachable(page, seen):
            kinds = set(page.evaluate(KINDS))
            if path == "/" or name not in scanned or not kinds <= seen_kinds:
                check_accessibility(page)
                scanned.add(name)
                seen_kinds |= kinds
            if page.locator("h1").count() != 1:
                faults.append(f"{username}: {path}: {page.locator('h1').count()} first headings")
            for width in (1440, 800, 320):
                page.set_viewport_size({"width": width, "height": 900})
                if (wide := page.evaluate("document.documentElement.scrollWidth")) > width:
                    faults.append(f"{username}: {path} ({name}): {wide} wide in a window of {width}")
            page.set_viewport_size({"width": 1440, "height": 900})
        assert pages <= seen.keys(), username
    assert faults == []


def _reachable(page: Page, seen: dict[str, int]) -> Iterator[tuple[str, str]]:
    """Open the pages that links lead to, breadth first; gives path and name of each while it is open."""
    waiting, known = ["/"], {"/"}
    while waiting:
        path = waiting.pop(0)
        try:
            name = str(resolve(urlsplit(path).path).url_name)
        except Resolver404:
            pytest.fail(f"A link leads to {path}, where nothing is.")
        if seen.get(name, 0) >= ALIKE:
            continue
        answer = page.goto(path)
        assert answer is not None
        assert answer.status == 200, f"{path}: {answer.status}"
        # A link may lead on: what counts is where one arrives.
        seen[name] = seen.get(name, 0) + 1
        links = page.locator("a[href]:not([download])").evaluate_all("all => all.map(a => a.getAttribute('href'))")
        yield path, name
        for link in links:
            target = urlsplit(urljoin(page.url, link))
            local = target.path + (f"?{target.query}" if target.query else "")
            if target.netloc == urlsplit(page.url).netloc and not local.startswith(NOT_FOLLOWED) and local not in known:
                known.add(local)
                waiting.append(local)
