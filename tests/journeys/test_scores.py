"""From a release to scores and back: a wrong reference is found, corrected, and the next release scored."""

import os
import re
import signal
import threading
from collections.abc import Callable
from copy import deepcopy
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from annotator.models import Dialogue, Job
from annotator.services.jobs import jobs
from benchmark.demo.chat_server import Answer, called, said, serving
from benchmark.models import Inference, InferenceReply
from tests.benchmark.conftest import make_verified
from tests.browser import Problems
from tests.factories import Team, adopt_c3, claim_and_submit, make_document, make_team
from tests.journeys.browser_window import BrowserWindow

pytestmark = [pytest.mark.browser, pytest.mark.servers, pytest.mark.slow]

KEY = "sk-secret-0123456789"
#: Replies after which the endpoint waits, and the worker is killed.
BEFORE_THE_KILL = 3
CITY = re.compile(r"in (.*)\?$")


@pytest.fixture
def team(transactional_db: None) -> Team:
    """A project with five verified dialogues; the reference of one answers from memory where it should have called."""
    team = make_team("tools")
    adopt_c3(team, audit_fraction=0.0)
    for number in range(5):
        document = make_document(f"{number}")
        if number == 2:
            task = document["tasks"][0]
            task |= {"policy": "chat", "steps": [{**task["steps"][-1], "depends_on": [], "answer_type": "chat"}]}
        make_verified(team, f"weather-{number}", document)
    return team


class Model:
    """A scripted model that looks up the weather of the city in question, then answers."""

    def __init__(self) -> None:
        self.asked, self.reached, self.go_on = 0, threading.Event(), threading.Event()

    def __call__(self, body: dict[str, Any]) -> Answer:
        self.asked += 1
        if self.asked > BEFORE_THE_KILL:
            self.reached.set()
            self.go_on.wait(60)
        last = body["messages"][-1]
        if last["role"] == "tool":
            return said("It is clear and 18 degrees.")
        found = CITY.search(last["content"])
        assert found
        return called(("get_weather", {"city": found[1]}))


def test_a_wrong_reference_is_found_by_scores_and_corrected_in_the_next_release(
    team: Team,
    open_page: Callable[..., Page],
    check_accessibility: Callable[..., None],
    start_worker: Callable[..., Any],
    page_problems: Problems,
) -> None:
    page_problems.allow("status of 422")
    page = open_page(team.administrator)
    window = BrowserWindow(page)
    model = Model()
    worker = start_worker()
    with serving(model) as server:
        freeze(window, "1.0")
        scores = open_scores(window)
        add_endpoint(window, server.url)
        page.goto(scores)
        run_model(window)
        check_accessibility(page)

        assert model.reached.wait(60)
        os.killpg(worker.pid, signal.SIGKILL)
        worker.wait()
        inference = Inference.objects.get()
        assert 0 < inference.replies.count() == inference.requests
        stored = set(InferenceReply.objects.values_list("unit", "number"))
        # As if half a minute had gone by: the next worker need not wait for it.
        Job.objects.filter(pk=inference.job_id).update(heartbeat_at=timezone.now() - timedelta(minutes=5))
        model.go_on.set()
        start_worker()
        jobs.wake(inference.job)
        expect(page.get_by_role("link", name="model-1", exact=True)).to_be_visible(timeout=120_000)

        inference.refresh_from_db()
        assert inference.job.attempt == 2
        keys = [headers["idempotency-key"] for headers in server.headers]
        # Only what was on its way at the kill was asked again, under the key of before.
        assert len(keys) - len(set(keys)) <= 1
        assert stored <= set(InferenceReply.objects.values_list("unit", "number"))
        assert all(KEY not in text for text in (page.content(), str(list(Job.objects.values()))))

        page.get_by_role("link", name="model-1", exact=True).click()
        page.get_by_role("link", name="weather-2#0").click()
        page.get_by_role("link", name="0 of 1").click()
        page.get_by_role("button", name="Send back to review").click()
        expect(page.get_by_text("In review").first).to_be_visible()
        correct(team, Dialogue.objects.get(external_id="weather-2"))

        freeze(window, "1.1")
        again = open_scores(window)
        run_model(window)
        expect(page.get_by_role("link", name="model-1", exact=True)).to_be_visible(timeout=120_000)
    for url, share in ((scores, "80.0"), (again, "100.0")):
        page.goto(url)
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name="model-1", exact=True)).first
        expect(row.get_by_role("cell").nth(1)).to_contain_text(share)


def freeze(window: BrowserWindow, version: str) -> None:
    page = window.page
    page.goto("/p/tools/releases/")
    page.get_by_label("Version").fill(version)
    page.get_by_label("Native format").select_option("wild")
    page.once("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Freeze").click()
    page.wait_for_url("**/releases/*/")
    expect(page.get_by_role("link", name=re.compile("^Download"))).to_be_visible(timeout=60_000)


def open_scores(window: BrowserWindow) -> str:
    page = window.page
    page.get_by_role("link", name="Scores").first.click()
    page.wait_for_url("**/scores/")
    return page.url


def add_endpoint(window: BrowserWindow, url: str) -> None:
    page = window.page
    page.get_by_role("link", name="Run a model").click()
    page.get_by_role("link", name="Add an endpoint").click()
    page.get_by_label("Name").fill("Local models")
    page.get_by_label("Base URL").fill("not an address")
    page.locator("#id_key").fill(KEY)
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_text("must be an address").first).to_be_visible()
    page.get_by_label("Base URL").fill(url)
    page.locator("#id_key").fill(KEY)
    page.get_by_role("button", name="Add").click()
    expect(page.get_by_role("row", name=re.compile("Local models"))).to_contain_text("Stored")


def run_model(window: BrowserWindow) -> None:
    page = window.page
    page.get_by_role("link", name="Run a model").click()
    page.get_by_role("textbox", name="Model").fill("model-1")
    page.get_by_label("Requests at the same time").fill("1")
    page.get_by_role("button", name="Run", exact=True).click()
    page.wait_for_url("**/inferences/*/")


def correct(team: Team, dialogue: Dialogue) -> None:
    """Review the item again, with the call that its reference lacked."""
    assert dialogue.head is not None
    document = deepcopy(dialogue.head.document())
    document["tasks"] = make_document("2")["tasks"]
    claim_and_submit(team.annotator, dialogue, document=document)
    claim_and_submit(team.annotator, dialogue)
    claim_and_submit(team.annotators[1], dialogue, "approve")
    claim_and_submit(team.annotators[2], dialogue, "approve")
    dialogue.refresh_from_db()
    assert dialogue.status == "verified"
