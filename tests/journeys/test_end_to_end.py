"""The whole way, once, with real parts: candidates in, a verified release out, and in again as the same records."""

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from annotator.models import Dialogue, Project, Role, User
from benchmark.core.formats import CANARY, FORMATS
from benchmark.services.releases.items import Item
from reviews.models import Review
from tests.browser import Problems
from tests.factories import changed, claim_and_submit, current, give_role, make_user
from tests.journeys.browser_window import BrowserWindow

pytestmark = [pytest.mark.browser, pytest.mark.servers, pytest.mark.slow]

PASSWORD = "a long way to gold"
FIRST = "wild_tool_bench_0_t2"
SECOND = "wild_tool_bench_1_t2"


class Journey:
    """The windows of everybody who takes part, and the check that every page is held to."""

    def __init__(self, open_page: Callable[..., Page], check_accessibility: Callable[..., None]) -> None:
        self.open_page = open_page
        self.check_accessibility = check_accessibility

    def window(self, user: Any = None, **options: Any) -> BrowserWindow:
        return BrowserWindow(self.open_page(user, **options))

    def look(self, window: BrowserWindow) -> None:
        """Hold the page that is open to the rules of accessibility, light and dark."""
        self.check_accessibility(window.page)


@pytest.fixture
def journey(open_page: Callable[..., Page], check_accessibility: Callable[..., None]) -> Journey:
    return Journey(open_page, check_accessibility)


def test_candidates_become_a_verified_release(
    journey: Journey,
    shared_data: Path,
    start_worker: Callable[..., Any],
    manage: Callable[..., Any],
    page_problems: Problems,
    tmp_path: Path,
) -> None:
    page_problems.allow("status of 422")  # an expert who settles without a ruling is told so
    ingrid = make_user("ingrid", display_name="Ingrid Solheim", is_staff=True)
    ingrid.set_password(PASSWORD)
    ingrid.save()
    start_worker()

    admin = sign_in(journey)
    project = create_project(journey, admin)
    amina = invite_amina(journey, admin)
    boris, chen = (give_role(project, make_user(name), Role.ANNOTATOR) for name in ("boris", "chen"))
    yuki = give_role(project, make_user("yuki"), Role.SENIOR_REVIEWER)

    import_candidates(journey, admin, shared_data)
    repair_first_item(journey, amina)
    cross_check(journey, boris, chen)
    settle(journey, yuki)
    audit(journey, admin, project, User.objects.get(username="amina"), (boris, chen), yuki)

    archive = freeze(journey, admin, tmp_path)
    verified = manage("verify_release", archive)
    assert verified.returncode == 0, verified.stderr
    assert json.loads(verified.stdout.splitlines()[-1])["items"] == 2
    import_again(journey, admin, project, archive, tmp_path, manage)


# --- the administrator prepares ---------------------------------------------------------------------------------------


def sign_in(journey: Journey) -> BrowserWindow:
    window = journey.window()
    window.page.goto("/")
    journey.look(window)
    window.page.get_by_label("Username or email address").fill("ingrid")
    window.page.get_by_label("Password").fill(PASSWORD)
    window.page.get_by_role("button", name="Sign in", exact=True).click()
    expect(window.page.get_by_role("heading", name="My work")).to_be_visible()
    journey.look(window)
    return window


def create_project(journey: Journey, window: BrowserWindow) -> Project:
    page = window.page
    page.get_by_role("link", name="Projects").click()
    page.get_by_role("link", name="New project").first.click()
    expect(page.get_by_label("Name")).to_be_visible()
    journey.look(window)
    page.get_by_label("Name").fill("Everyday tools")
    page.locator("main [data-primary]").click()
    page.wait_for_url("**/p/everyday-tools/protocol/")
    journey.look(window)
    page.get_by_role("button", name="Use the C3-Bench protocol").click()
    expect(page.get_by_role("heading", name="3. Cross-check")).to_be_visible()
    journey.look(window)
    return Project.objects.get(slug="everyday-tools")


def invite_amina(journey: Journey, window: BrowserWindow) -> BrowserWindow:
    """A colleague joins by a link, in a browser of her own."""
    page = window.page
    page.locator(".topbar summary", has_text="Project:").click()
    page.get_by_role("link", name="People", exact=True).click()
    page.get_by_label("Annotator").check()
    page.get_by_label("Note").fill("Amina")
    page.get_by_role("button", name="Create link").click()
    link = page.locator("#invitation-link").input_value()
    journey.look(window)

    hers = journey.window()
    hers.page.goto(link)
    expect(hers.page.get_by_role("heading", name="Join Everyday tools")).to_be_visible()
    journey.look(hers)
    hers.page.get_by_role("button", name="Create account").click()
    expect(hers.page.get_by_label("Username")).to_be_visible()
    journey.look(hers)
    hers.page.get_by_label("Username").fill("amina")
    hers.page.get_by_label("Email").fill("amina@example.org")
    for field in hers.page.locator("input[type=password]").all():
        field.fill(PASSWORD)
    hers.page.locator("main [data-primary]").click()
    expect(hers.page.get_by_role("heading", name="Everyday tools")).to_be_visible()
    return hers


def import_candidates(journey: Journey, window: BrowserWindow, data: Path) -> None:
    """Both files through the browser; a worker in its own process reads them while the page watches."""
    page = window.page
    upload(journey, window, data / "wild" / "candidates.jsonl", "wild")
    expect(figure(page, "Created")).to_have_text("27")
    journey.look(window)
    upload(journey, window, data / "c3" / "paper_cases.jsonl", "c3")
    expect(figure(page, "Created")).to_have_text("7")
    violation = page.get_by_role("row").filter(has_text="c3_globalmap_four_tasks").filter(has_text="overlayDataOnMap")
    check = page.locator("section").filter(has=violation).get_by_role("heading", level=3)
    expect(check.first).to_contain_text("Error")
    journey.look(window)
    with page.expect_download() as download:
        page.get_by_role("link", name=re.compile("^Download all")).click()
    report = [json.loads(line) for line in download.value.path().read_text().splitlines()]
    found = [
        line for line in report if line["id"] == "c3_globalmap_four_tasks" and "overlayDataOnMap" in line["message"]
    ]
    assert found
    assert all(line["severity"] == "error" and line["check"].startswith("schema.") for line in found)


def upload(journey: Journey, window: BrowserWindow, file: Path, native_format: str) -> None:
    page = window.page
    page.locator(".topbar summary", has_text="Project:").click()
    page.get_by_role("link", name="Imports", exact=True).first.click()
    expect(page.get_by_label("Candidate file")).to_be_visible()
    journey.look(window)
    page.get_by_label("Candidate file").set_input_files(file)
    page.get_by_label("Format").select_option(native_format)
    page.get_by_role("button", name="Import", exact=True).click()
    page.wait_for_url("**/imports/*/")
    expect(page.locator("#import-state").get_by_text("Done")).to_be_visible(timeout=60_000)
    # The page that watched the job comes once more, whole, with the report.
    expect(page.get_by_role("link", name=re.compile("^Download all"))).to_be_visible()


def figure(page: Page, label: str) -> Any:
    return page.locator("#import-state dt", has_text=label).locator("xpath=following-sibling::dd[1]")


# --- an annotator repairs ---------------------------------------------------------------------------------------------


def repair_first_item(journey: Journey, amina: BrowserWindow) -> None:
    page = amina.page
    amina.take_next("Self-check, single round")
    expect(page.get_by_role("heading", level=1)).to_have_text(FIRST)
    expect(amina.findings).to_have_count(10)
    journey.look(amina)

    amina.open_place("s0 of task t1")
    amina.set_observation({"aqi": {"2024-07-13": 41, "2024-07-14": 38}, "level": "good"})
    expect(amina.findings).to_have_count(9)
    amina.depend_on()
    expect(amina.findings).to_have_count(8)

    # The city is misspelt: fix it in the form that is made from the tool's schema.
    amina.open_place("s1 of task t1")
    with amina.saving():
        page.locator("#f-arguments").get_by_label("city").fill("Las Vegas")
    expect(amina.chat.locator(".turn.call").nth(1)).to_contain_text("Las Vegas")
    amina.set_observation({"shows": [{"activity_id": "show123"}, {"activity_id": "show456"}]})
    amina.depend_on("s0")
    with amina.saving():
        page.get_by_label("Kind of dependency on s0").select_option("logical")
    expect(amina.chat.locator(".turn.call").nth(1)).to_contain_text("Depends on s0 (order only)")

    # The same by keyboard: from turn to turn with j, into the editor with e, and on with Tab and Space.
    for step, name in (("s2", "Cirque by night"), ("s3", "Desert strings")):
        amina.walk_to(step)
        page.keyboard.press("e")
        expect(page.locator("#i-head")).to_contain_text(step)
        amina.tab_to("#f-observation .cm-content")
        with amina.saving():
            page.keyboard.insert_text(json.dumps({"title": name, "days": ["2024-07-13", "2024-07-14"]}))
        amina.tab_to("#f-depends input[name=annotated]")
        with amina.saving():
            page.keyboard.press("ArrowDown")
        amina.tab_to("#f-depends input[value=s1]")
        with amina.saving():
            page.keyboard.press("Space")
        expect(page.locator("#f-depends input[value=s1]")).to_be_checked()
    # Two errors. Only administrators read that the published evaluators reject an order of two calls of one tool.
    expect(amina.findings).to_have_count(2)

    amina.open_place("s4 of task t1")
    with amina.saving():
        page.locator("#answer-text").fill("The air is good on both days; there are two shows: Cirque and Strings.")
    amina.depend_on("s2", "s3")
    expect(amina.findings).to_have_count(0)
    expect(page.locator("#toolbar")).to_contain_text("No issues")
    expect(amina.chat.locator(".task-head").first).to_contain_text("Mixed")
    journey.look(amina)

    page.locator("#toolbar").get_by_role("button", name="Approve with fix…").click()
    page.wait_for_url("**/submit/**")
    journey.look(amina)
    page.get_by_role("group", name="Task 1").get_by_label("Yes").first.check()
    page.locator("#reason").fill("Observations, answer and dependencies written; a city was misspelt.")
    page.get_by_role("button", name="Submit and close").click()
    amina.leave_blank()
    amina.expect_home()
    journey.look(amina)

    amina.take_next("Self-check, multi round")
    expect(page.get_by_role("heading", level=1)).to_have_text(FIRST)
    amina.submit("Approve")


# --- two colleagues look at it, blind ---------------------------------------------------------------------------------


def cross_check(journey: Journey, boris: User, chen: User) -> None:
    first, second = journey.window(boris, scheme="dark"), journey.window(chen)
    first.take_next("Cross-check")
    second.take_next("Cross-check")
    for window in (first, second):
        expect(window.page.get_by_role("heading", level=1)).to_have_text(FIRST)
        expect(window.page.locator(".pane-bar")).to_contain_text("Blind")
    journey.look(first)

    first.open_panel("Comments")
    with first.saving():
        first.page.get_by_label("Your comment").fill("Bobcat: the weekend is the thirteenth.")
        first.page.get_by_role("button", name="Add comment").click()
    first.submit("Approve", reason="Bobcat: nothing to add.")

    second.open_panel("Comments")
    expect(second.inspector).to_contain_text("No comments yet")
    second.open_place("s4 of task t1")
    with second.saving():
        second.page.locator("#answer-text").fill("Air good on both days. Two shows: Cirque by night, Desert strings.")
    see_nothing_of(second, "Bobcat", "Boris")
    journey.look(second)
    dialogue = Dialogue.objects.get(external_id=FIRST)
    second.page.goto(f"/p/everyday-tools/dialogues/{dialogue.public_id}/")
    see_nothing_of(second, "Bobcat", "Boris")
    second.page.goto(f"/p/everyday-tools/dialogues/{dialogue.public_id}/changes/")
    see_nothing_of(second, "Bobcat", "Boris")
    first.page.goto(f"/p/everyday-tools/dialogues/{dialogue.public_id}/")
    see_nothing_of(first, "Desert strings.", "Chen")

    second.page.go_back()
    second.page.goto("/")
    second.page.get_by_role("link", name=FIRST).click()
    second.submit("Approve with fix", reason="The answer names no show by its title.")
    assert Review.objects.filter(dialogue=dialogue, stage_kind="review", sealed=True).count() == 0


def see_nothing_of(window: BrowserWindow, *words: str) -> None:
    # Whom one may mention is a list of all members and tells nothing.
    said = window.page.locator("main").evaluate(
        "main => { const copy = main.cloneNode(true);"
        " for (const list of copy.querySelectorAll('datalist')) list.remove(); return copy.textContent; }"
    )
    assert [word for word in words if word in said] == []


# --- the expert decides -----------------------------------------------------------------------------------------------


def settle(journey: Journey, yuki: User) -> None:
    window = journey.window(yuki)
    page = window.page
    window.take_next("Expert verification")
    page.wait_for_url("**/settle/")
    expect(page.get_by_role("heading", name="Reviewer 1")).to_be_visible()
    journey.look(window)
    place = page.locator(".ruling")
    expect(place).to_have_count(1)
    page.get_by_role("button", name=re.compile("^Settle")).click()
    expect(page.get_by_role("alert")).to_contain_text("Settle every place")
    journey.look(window)
    place.locator(".tile", has_text="right" if "Desert" in place.locator(".after").inner_text() else "left").click()
    place.get_by_role("combobox").select_option("answer_wrong")
    place.get_by_label("Details").fill("Titles are what the user asked for.")
    page.get_by_role("button", name=re.compile("^Settle")).click()
    window.expect_home()
    dialogue = Dialogue.objects.get(external_id=FIRST)
    assert dialogue.status == "verified"
    assert current(dialogue)["tasks"][0]["steps"][-1]["text"].endswith("Desert strings.")
    page.goto(f"/p/everyday-tools/dialogues/{dialogue.public_id}/")
    for text in ("Boris", "Chen", "Titles are what the user asked for."):
        expect(page.locator("main")).to_contain_text(text)
    journey.look(window)


def audit(
    journey: Journey, admin: BrowserWindow, project: Project, owner: User, checkers: tuple[User, User], yuki: User
) -> None:
    """A second item is approved by everybody; a draw takes it into the sample, and the expert looks at it."""
    dialogue = Dialogue.objects.get(project=project, external_id=SECOND)
    document = changed(current(dialogue), "Yes: there were two reports on each in the past two months.")
    document["tasks"][0]["steps"][-1]["depends_on"] = []
    claim_and_submit(owner, dialogue, "fix", document=document)
    claim_and_submit(owner, dialogue)
    for person in checkers:
        claim_and_submit(person, dialogue, "approve")
    page = admin.page
    page.goto("/p/everyday-tools/")
    journey.look(admin)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Draw a sample from 1 item").click()
    expect(page.locator("#toasts")).to_contain_text("1 of 1")
    window = journey.window(yuki)
    window.take_next("Expert verification")
    expect(window.page.get_by_role("heading", level=1)).to_have_text(SECOND)
    window.page.once("dialog", lambda dialog: dialog.accept())
    window.submit("Approve")
    dialogue.refresh_from_db()
    assert dialogue.status == "verified"


# --- out, and in again ------------------------------------------------------------------------------------------------


def freeze(journey: Journey, window: BrowserWindow, folder: Path) -> Path:
    page = window.page
    page.get_by_role("link", name="Releases", exact=True).first.click()
    page.get_by_label("Version").fill("1.0")
    page.get_by_label("Native format").select_option("wild")
    journey.look(window)
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Freeze").click()
    page.wait_for_url("**/releases/*/")
    link = page.get_by_role("link", name=re.compile("^Download"))
    expect(link).to_be_visible(timeout=60_000)
    expect(page.get_by_role("heading", name="Left out: 32")).to_be_visible()
    journey.look(window)
    with page.expect_download() as download:
        link.click()
    archive = folder / download.value.suggested_filename
    download.value.save_as(archive)
    return archive


def import_again(
    journey: Journey, window: BrowserWindow, project: Project, archive: Path, folder: Path, manage: Callable[..., Any]
) -> None:
    """Both files of the archive come into projects of their own as what they were.

    The native format cannot say that an edge is mere order, so of it the records are compared, written once more.
    """
    with zipfile.ZipFile(archive) as packed:
        packed.extractall(folder)
    verified = {row.external_id: row for row in Dialogue.objects.filter(project=project, status="verified")}
    for name, native_format in (("wild.jsonl", "wild"), ("dialogues.jsonl", "neutral")):
        file = folder / "release-1.0" / name
        slug = f"again-{native_format}"
        done = manage("import_dialogues", file, "--project", slug, "--format", native_format, "--create-project")
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout.splitlines()[-1])["created"] == len(verified)
        released = [json.loads(line) for line in file.read_text().splitlines()]
        assert all(record.pop(CANARY) for record in released)
        again = Dialogue.objects.filter(project__slug=slug).select_related("head__toolset_revision")
        for row in again:
            first = verified[row.external_id]
            assert row.head.toolset_revision.content_hash == first.head.toolset_revision.content_hash
            if native_format == "neutral":
                assert row.head.content_hash == first.head.content_hash
        written = [FORMATS[native_format].write([Item.of(row, row.head)], full=True) for row in again]
        by_id = {record["id"]: record for record in released}
        assert {record["id"]: record for record in written} == by_id
        assert set(by_id) == set(verified)
