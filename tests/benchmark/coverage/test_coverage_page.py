"""The page of the coverage, and the same for programs."""

from django.urls import reverse

from benchmark.services.coverage.targets import read_targets
from reviews.models import AssignmentPlan
from tests.benchmark.coverage.labelled import labelled, want
from tests.factories import begin


def page_of(team, client, query=""):
    response = client.get(reverse("coverage", args=[team.project.slug]) + query)
    assert response.status_code == 200, response.content
    return " ".join(response.content.decode().split())


def test_the_page_shows_gaps_first_and_links_to_the_dialogues(team, client):
    labelled(team, "chat", "clarify", external_id="wanted-here", status="verified")
    labelled(team, "clarify", external_id="not-wanted")
    client.force_login(team.annotator)
    page = page_of(team, client)
    assert "No sequence has a target yet" in page
    assert "Save target" not in page
    assert "Chat → Clarify: 1" in page
    want(team, "level", "1", 1)
    want(team, "level", "4", 2)
    page = page_of(team, client, "?show=all&by=language")
    assert "259 sequences are below their target. Missing entries: 515." in page
    assert "Chat: 1 of 1" in page
    assert "Clarify: 1 of 1" in page
    assert "Show all 259 gaps" in page
    assert "Show all" not in page_of(team, client, "?gaps=all")
    listed = client.get(reverse("dialogue-list", args=[team.project.slug]), {"sequence": "chat"}).content.decode()
    assert "wanted-here" in listed
    assert "not-wanted" not in listed
    assert "First policies" in listed
    assert client.get(reverse("coverage", args=[team.project.slug]), {"by": "colour"}).status_code == 400


def test_administrators_set_targets_and_errors_are_at_their_field(team, client):
    client.force_login(team.administrator)
    address = reverse("coverage", args=[team.project.slug])
    assert client.post(address, {"do": "target", "target": "cell:chat,chat", "wanted": "3"}).status_code == 302
    assert client.post(address, {"do": "target", "target": "switches:2", "wanted": "7"}).status_code == 302
    assert read_targets(team.project).wanted == {("cell", "chat,chat"): 3, ("switches", "2"): 7}
    page = page_of(team, client)
    assert "Chat → Chat (target 3)" in page
    assert client.post(address, {"do": "target", "target": "cell:chat,chat", "wanted": ""}).status_code == 302
    assert read_targets(team.project).wanted == {("switches", "2"): 7}
    for bad in ({"target": "cell:nothing", "wanted": "1"}, {"target": "cell:chat", "wanted": "0"}, {"wanted": "2"}, {}):
        refused = client.post(address, {"do": "target"} | bad)
        assert refused.status_code == 422
        assert 'aria-invalid="true"' in refused.content.decode()
    client.force_login(team.senior)
    assert client.post(address, {"do": "target", "target": "cell:chat", "wanted": "1"}).status_code == 403


def test_what_is_needed_first_leads_to_a_preview(team, client):
    begin(team.project, [labelled(team, "chat")])
    client.force_login(team.administrator)
    address = reverse("coverage", args=[team.project.slug])
    refused = client.post(address, {"do": "hand_out"})
    assert refused.status_code == 422
    assert "No waiting dialogue fills a gap" in refused.content.decode()
    want(team, "cell", "chat", 1)
    answer = client.post(address, {"do": "hand_out"})
    plan = AssignmentPlan.objects.get()
    assert answer.url == reverse("assignment-plan-detail", args=[team.project.slug, plan.public_id])


def test_programs_read_the_coverage_and_set_targets(team, client):
    labelled(team, "chat", status="verified")
    client.force_login(team.administrator)
    address = reverse("api-coverage", args=[team.project.slug])
    sent = {"dimension": "level", "value": "1", "wanted": 2}
    answer = client.post(address, sent, content_type="application/json").json()
    assert (answer["dimension"], len(answer["values"]), answer["release"]) == ("cell", 340, "")
    [chat] = [one for one in answer["values"] if one["value"] == "chat"]
    assert chat == {
        "value": "chat", "candidate": 0, "in_review": 0, "verified": 1, "released": 0, "rejected": 0, "reached": 1,
        "wanted": 2, "missing": 1,
    }  # fmt: skip
    assert answer["levels"][0] == {"level": 1, "cells": 4, "covered": 1, "entries": 1, "uniformity": 0.0}
    assert answer["needed_next"][0] == {"value": "single_tool", "there": 0, "wanted": 2, "missing": 2}
    client.force_login(team.annotator)
    assert client.get(address, {"dimension": "switches"}).json()["values"][0]["verified"] == 1
    assert client.get(address, {"dimension": "level"}).status_code == 400
    assert client.post(address, sent, content_type="application/json").status_code == 403
