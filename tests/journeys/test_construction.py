"""From a description of tools to a covered sequence: toolset, review, gap, generation, choice, review, coverage."""

import json
import re

import pytest
from django.urls import reverse
from playwright.sync_api import expect

from annotator.models import Dialogue, Toolset
from annotator.models.content import DialogueStatus
from annotator.services.jobs import jobs
from annotator.services.toolsets.categories import start_categories
from benchmark.core.generation.state import Setup
from benchmark.demo.generation_script import TOOLS, scripted_records
from benchmark.models import Generation
from reviews.models import Slot
from reviews.services.sampling.draws import close_population_and_draw
from tests.factories import claim_and_submit

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def as_openapi() -> str:
    """The tools of the scripted roles as an OpenAPI document."""
    paths = {}
    for tool in TOOLS:
        function = tool["function"]
        described = function["parameters"]["properties"].items()
        content = {"application/json": {"schema": function["response"]}}
        paths[f"/{function['name']}"] = {
            "get": {
                "operationId": function["name"],
                "summary": function["description"],
                "parameters": [
                    {"name": name, "in": "query", "required": True, "description": schema["description"],
                     "schema": {"type": schema["type"]}}
                    for name, schema in described
                ],
                "responses": {"200": {"description": "OK", "content": content}},
            }
        }  # fmt: skip
    return json.dumps({"openapi": "3.0.3", "info": {"title": "Trips"}, "paths": paths})


def work(generation: Generation) -> None:
    jobs.run(Generation.objects.get(pk=generation.pk).job_id)


def test_an_openapi_document_becomes_a_verified_dialogue_that_fills_a_gap(
    window_of, team, check_accessibility, tmp_path
):
    start_categories(team.project)
    slug = team.project.slug
    page = window_of(team.administrator).page
    page.goto(reverse("toolset-import", args=[slug]))
    page.get_by_label("Or paste it here").fill(as_openapi())
    page.get_by_role("button", name="Read").click()
    page.get_by_role("button", name="Save the toolset").click()
    expect(page.get_by_role("heading", name="Trips")).to_be_visible()

    # Its review: two people independently, then a senior reviewer.
    page.goto(reverse("toolset-review", args=[slug]))
    page.get_by_role("button", name="Start the review of toolsets").click()
    expect(page.get_by_role("button", name="Send 1 toolset to review")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("button", name="Send 1 toolset to review").click()
    expect(page.locator("#toasts")).to_contain_text("1 toolset sent to review.")
    item = Dialogue.objects.get(kind="toolset")
    reviewer = window_of(team.annotators[0]).page
    reviewer.goto(reverse("home"))
    reviewer.get_by_role("button", name=re.compile("Claim next")).first.click()
    reviewer.locator("#toolbar").get_by_role("button", name=re.compile("^Approve")).click()
    submit = reviewer.get_by_role("button", name="Submit and close")
    expect(submit).to_be_visible()
    check_accessibility(reviewer)
    reviewer.get_by_role("button", name="Yes to the rest").click()
    submit.click()
    expect(submit).to_have_count(0)
    claim_and_submit(team.annotators[1], item, "approve")
    claim_and_submit(team.senior, item, "approve")
    page.goto(reverse("toolset", args=[slug, Toolset.objects.get(name="Trips").public_id]))
    expect(page.get_by_text("Verified", exact=True)).to_be_visible()

    # A target shows a gap, which leads to a generation.
    page.goto(reverse("coverage", args=[slug]))
    page.get_by_label("Of what").select_option(label="All sequences of 1 task")
    page.get_by_label("How many").fill("1")
    page.get_by_role("button", name="Save target").click()
    expect(page.get_by_text("4 sequences are below their target.")).to_be_visible()
    page.get_by_role("link", name=re.compile("^Generate ?: Single-tool$")).click()
    tools = Toolset.objects.select_related("head").get(name="Trips").head.tools()
    answers = tmp_path / "answers.jsonl"
    setup = Setup("trip", ("single_tool",), (("explicit",),), tools, seed=1)
    answers.write_bytes(b"".join(one.to_line() for one in scripted_records(setup)))
    page.get_by_label("Toolset").select_option(label="Trips")
    page.get_by_label("Name").fill("trip")
    page.get_by_label("Recorded answers").set_input_files(answers)
    page.get_by_role("button", name="Generate").click()
    expect(page.get_by_role("heading", name="trip")).to_be_visible()
    generation = Generation.objects.get()
    work(generation)

    # Somebody claims the choice of the request and changes one; the other roles go on.
    expect(page.get_by_role("heading", name="Choose the request of task 1")).to_be_visible()
    check_accessibility(page)
    page.get_by_role("button", name="Claim").click()
    request = page.get_by_role("textbox", name="Request 1")
    request.fill(request.input_value().replace("?", ", please?"))
    with page.expect_navigation():
        page.get_by_role("button", name="Choose request 1").click()
    work(generation)
    page.reload()
    expect(page.get_by_role("link", name="Open the dialogue")).to_be_visible()
    dialogue = Dialogue.objects.get(external_id="trip")
    assert "please?" in dialogue.title

    # Its review moves the coverage.
    reviewers = {"cross_check": iter(team.annotators[1:]), "expert": iter([team.senior])}
    while dialogue.status != DialogueStatus.VERIFIED:
        if dialogue.status == DialogueStatus.POOLED:
            close_population_and_draw(actor=team.administrator, project=team.project)
        stage = Slot.objects.filter(dialogue=dialogue, state="open").order_by("index")[0].stage
        person = next(reviewers[stage]) if stage in reviewers else team.annotator
        claim_and_submit(person, dialogue, "approve" if stage in reviewers else "")
        dialogue.refresh_from_db()
    page.goto(reverse("coverage", args=[slug]))
    expect(page.get_by_text("3 sequences are below their target.")).to_be_visible()
    check_accessibility(page)
