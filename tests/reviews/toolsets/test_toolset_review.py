"""Toolsets are reviewed as items of a project of their own, and dialogues are only verified on verified tools."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotator.core.checks import all_checks
from annotator.core.schema.exact_json import load_stored
from annotator.core.schema.toolset_documents import content_of, document_of
from annotator.errors import Conflict, Denied, Hidden
from annotator.models import Dialogue, Event, Membership, Project, Role, Toolset
from annotator.models.content import DialogueStatus
from reviews.models import Cycle, ToolsetItem, ToolsetVerification
from reviews.services.cycles.start import supersede_cycle
from reviews.services.cycles.toolset_changes import change_toolset
from reviews.services.gold.creation import make_gold_item
from reviews.services.history.record_checks import record_problems
from reviews.services.protocols.versions import adopt_protocol, current_protocol
from reviews.services.sampling.draws import close_population_and_draw
from reviews.services.statistics.counters import recount, stored_counters
from reviews.services.toolset_review.sending import send_to_review
from reviews.services.toolset_review.settings import choose_toolset_review, possible_reviews, start_toolset_review
from reviews.services.toolset_review.states import ReviewState, counts_of, standings_of, unsent
from reviews.services.toolset_review.waiting import verify_all_waiting, verify_waiting
from reviews.services.transitions.verified_tools import waiting_for_tools
from tests.factories import (
    Team,
    adopt_c3,
    claim_and_submit,
    current,
    give_role,
    make_item,
    make_project,
    make_team,
    make_toolset,
    open_slot,
)
from tests.pages import one_line
from tests.reviews.rulings import disputed_anchors

pytestmark = [pytest.mark.django_db, pytest.mark.any_database, pytest.mark.usefixtures("shared_sandbox")]


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=3, seniors=2)
    adopt_c3(team)
    return team


@pytest.fixture
def review(team: Team) -> Project:
    made = start_toolset_review(actor=team.administrator, project=team.project)
    # The tools of these tests have parameters without a description.
    made.check_settings = {one.id: "info" for one in all_checks() if one.family == "toolset"}
    made.save(update_fields=["check_settings"])
    return made


def settle(team: Team, item: Dialogue) -> None:
    """The senior reviewer settles every place of a dispute for the first reviewer."""
    slot = open_slot(item)
    rulings = {anchor: {"choice": "left", "reason_kind": "answer_wrong"} for anchor in disputed_anchors(slot)}
    claim_and_submit(team.senior, item, rulings=rulings)


def weather(team: Team) -> Toolset:
    make_toolset(team.project)
    return Toolset.objects.select_related("head").get(project=team.project, name="weather")


def waiting(team: Team) -> int:
    return waiting_for_tools(team.project).count()


def send(team: Team, toolset: Toolset) -> Any:
    return send_to_review(actor=team.administrator, project=team.project, toolsets=[toolset])


def state(team: Team, toolset: Toolset, person: Any = None) -> ReviewState:
    rows = standings_of(actor=person or team.administrator, project=team.project, toolsets=[toolset])
    return rows[toolset.pk].state


def sent_item(review: Project) -> Dialogue:
    return Dialogue.objects.get(project=review, external_id="weather")


def verify(team: Team, review: Project, document: dict[str, Any] | None = None) -> Dialogue:
    """Two annotators and a senior reviewer approve the toolset; with a document, the senior reviewer changes it."""
    item = sent_item(review)
    claim_and_submit(team.annotators[0], item, "approve")
    claim_and_submit(team.annotators[1], item, "approve")
    if document is None:
        claim_and_submit(team.senior, item, "approve")
    else:
        claim_and_submit(team.senior, item, "fix", document=document)
    item.refresh_from_db()
    assert item.status == DialogueStatus.VERIFIED
    return item


def described(document: dict[str, Any], text: str) -> dict[str, Any]:
    """The document with another description of its first function."""
    copy: dict[str, Any] = json.loads(json.dumps(document))
    tool = copy["tools"][0]["tool"]
    tool.get("function", tool)["description"] = text
    return copy


def test_a_document_holds_exactly_the_content_of_a_toolset(team: Team) -> None:
    toolset = weather(team)
    assert toolset.head is not None
    content = load_stored(toolset.head.content)
    assert content_of(document_of(content)) == content


def test_a_project_for_the_review_has_the_same_members_and_is_made_once(team: Team) -> None:
    review = start_toolset_review(actor=team.administrator, project=team.project)
    assert start_toolset_review(actor=team.administrator, project=team.project) == review
    assert review.name == f"{team.project.name}: toolsets"

    def members(project: Project) -> set[tuple[int, str]]:
        return set(Membership.objects.active().filter(project=project).values_list("user", "role"))

    assert members(review) == members(team.project)
    protocol = current_protocol(review)
    assert protocol is not None
    assert [(stage.reviewers, stage.blind) for stage in protocol.stages] == [(2, True), (1, False)]
    assert Event.objects.get(kind="toolset_review.chosen").after == {"project": review.slug}
    with pytest.raises(Denied):
        start_toolset_review(actor=team.annotator, project=team.project)
    with pytest.raises(Conflict, match="reviews toolsets itself"):
        start_toolset_review(actor=team.administrator, project=review)


def test_only_projects_for_toolsets_that_one_administers_can_be_chosen(team: Team, review: Project) -> None:
    other = make_team("other")
    adopt_c3(other)
    assert possible_reviews(actor=other.administrator, project=other.project) == []
    with pytest.raises(Hidden):
        choose_toolset_review(actor=other.administrator, project=other.project, slug=review.slug)
    assert possible_reviews(actor=team.administrator, project=team.project) == [review]
    choose_toolset_review(actor=team.administrator, project=team.project, slug="")
    team.project.refresh_from_db()
    assert team.project.toolset_review is None


def test_a_toolset_is_reviewed_and_a_change_is_reviewed_again(team: Team, review: Project) -> None:
    toolset = weather(team)
    assert state(team, toolset) is ReviewState.NONE
    assert unsent(actor=team.administrator, project=team.project) == [toolset]
    with pytest.raises(Denied):
        send_to_review(actor=team.annotator, project=team.project, toolsets=[toolset])
    assert send(team, toolset).new == ["weather"]
    assert send(team, toolset).there == ["weather"]
    assert state(team, toolset) is ReviewState.IN_REVIEW
    item = verify(team, review)
    assert state(team, toolset) is ReviewState.VERIFIED
    assert counts_of(actor=team.administrator, project=team.project) == {ReviewState.VERIFIED: 1}
    assert unsent(actor=team.administrator, project=team.project) == []
    # Somebody changes the tools here: they are not those that were verified.
    assert toolset.head is not None
    tools = described(document_of(load_stored(toolset.head.content)), "Say what the weather is like.")
    change_toolset(
        actor=team.administrator, toolset=toolset, tools=json.dumps(content_of(tools)["tools"]), implementation=None,
        seen=1, wake_worker=False,
    )  # fmt: skip
    toolset = Toolset.objects.select_related("head").get(pk=toolset.pk)
    assert state(team, toolset) is ReviewState.DIFFERS
    assert send(team, toolset).again == ["weather"]
    item.refresh_from_db()
    assert (item.status, Cycle.objects.filter(dialogue=item).count()) == (DialogueStatus.IN_REVIEW, 2)
    assert state(team, toolset) is ReviewState.IN_REVIEW
    # What is being worked on is not taken away from people.
    claim_and_submit(team.annotators[0], item, "approve")
    assert send(team, toolset).there == ["weather"]


def test_what_reviewers_change_is_taken_over_and_the_old_tools_are_not_sent_again(team: Team, review: Project) -> None:
    toolset = weather(team)
    send(team, toolset)
    item = verify(team, review, described(current(sent_item(review)), "Return the weather of a place."))
    assert state(team, toolset) is ReviewState.DIFFERS
    assert send(team, toolset).there == ["weather"]
    browser = Client()
    browser.force_login(team.administrator)
    address = reverse("toolset", args=[team.project.slug, toolset.public_id])
    page = browser.get(address)
    assert "Use the verified functions" in one_line(page)
    verified = page.context["standing"]["verified"]
    preview = browser.post(address, {**verified, "seen": "1", "preview": ""})
    assert "What this change affects" in one_line(preview)
    sha256 = preview.context["change"].sha256
    assert ToolsetVerification.objects.get(dialogue=item).content_hash == sha256
    browser.post(address, {**verified, "seen": "1", "previewed": sha256, "save": ""})
    toolset = Toolset.objects.select_related("head").get(pk=toolset.pk)
    assert state(team, toolset) is ReviewState.VERIFIED


def test_a_dialogue_waits_until_its_tools_are_verified(
    team: Team, review: Project, django_capture_on_commit_callbacks: Any
) -> None:
    item = make_item(team, "expert")
    settle(team, item)
    item.refresh_from_db()
    assert (item.status, item.stage) == (DialogueStatus.IN_REVIEW, "")
    assert Event.objects.get(dialogue=item, kind="cycle.waits_for_tools").after["toolset"] == "weather"
    assert (waiting(team), verify_waiting(team.project)) == (1, 0)
    assert list(record_problems([item.pk])) == []
    send(team, weather(team))
    with django_capture_on_commit_callbacks(execute=True):
        verify(team, review)
    item.refresh_from_db()
    assert (item.status, item.stage) == (DialogueStatus.VERIFIED, "")
    cycle = Cycle.objects.get(dialogue=item)
    assert (cycle.state, cycle.exit_revision) == ("verified", item.head)
    assert (waiting(team), verify_all_waiting()) == (0, 0)
    assert list(record_problems([item.pk])) == []
    assert {key: count for key, count in stored_counters(team.project).items() if count} == recount(team.project)


def test_dialogues_that_no_draw_selects_wait_too(team: Team, review: Project) -> None:
    items = [make_item(team, "cross_check") for _ in range(2)]
    for item in items:
        for person in team.annotators[1:3]:
            claim_and_submit(person, item, "approve")
    drawn = close_population_and_draw(actor=team.administrator, project=team.project)
    assert drawn is not None
    assert (drawn.population_size, drawn.sample_size) == (2, 1)
    assert waiting(team) == 1
    skipped = waiting_for_tools(team.project).get()
    assert list(record_problems([skipped.pk])) == []
    choose_toolset_review(actor=team.administrator, project=team.project, slug="")
    assert verify_all_waiting() == 1
    skipped.refresh_from_db()
    assert skipped.status == DialogueStatus.VERIFIED
    assert {key: count for key, count in stored_counters(team.project).items() if count} == recount(team.project)


def test_a_toolset_sent_back_is_not_verified_any_more(team: Team, review: Project) -> None:
    toolset = weather(team)
    send(team, toolset)
    item = verify(team, review)
    supersede_cycle(actor=team.administrator, dialogue=item, reason="A parameter is missing.")
    assert state(team, toolset) is ReviewState.IN_REVIEW
    dialogue = make_item(team, "expert")
    settle(team, dialogue)
    assert waiting(team) == 1


def test_equal_toolsets_of_two_projects_are_reviewed_once_and_others_apart(team: Team, review: Project) -> None:
    other = make_project()
    give_role(other, team.administrator, Role.ADMINISTRATOR)
    choose_toolset_review(actor=team.administrator, project=other, slug=review.slug)
    toolset = weather(team)
    send(team, toolset)
    verify(team, review)

    def sent(tools: list[dict[str, Any]] | None = None) -> tuple[Any, Toolset]:
        make_toolset(other, tools, name="weather" if tools is None else "weather 2")
        rows = Toolset.objects.select_related("head", "project").filter(project=other).order_by("-pk")
        return send_to_review(actor=team.administrator, project=other, toolsets=[rows[0]]), rows[0]

    outcome, same = sent()
    assert (outcome.there, ToolsetItem.objects.get(toolset=same).dialogue.external_id) == (["weather"], "weather")
    outcome, _ = sent([{"name": "forecast", "description": "Say how the weather will be."}])
    assert (outcome.new, state(team, toolset)) == (["weather 2"], ReviewState.VERIFIED)
    # A change here does not touch what the other project had reviewed.
    change_toolset(
        actor=team.administrator, toolset=same, tools=json.dumps([{"name": "w", "description": "Say the weather."}]),
        implementation=None, seen=1, wake_worker=False,
    )  # fmt: skip
    same = Toolset.objects.select_related("head", "project").get(pk=same.pk)
    assert send_to_review(actor=team.administrator, project=other, toolsets=[same]).new == ["weather"]
    assert ToolsetItem.objects.get(toolset=same).dialogue.external_id == f"weather ({other.name})"
    assert state(team, toolset) is ReviewState.VERIFIED


def test_a_rejected_toolset_is_sent_again_and_an_archived_project_takes_none(team: Team, review: Project) -> None:
    toolset = weather(team)
    send(team, toolset)
    item = sent_item(review)
    for person in team.annotators[:2]:
        claim_and_submit(person, item, "reject")
    assert state(team, toolset) is ReviewState.REJECTED
    assert send(team, toolset).again == ["weather"]
    assert state(team, toolset) is ReviewState.IN_REVIEW
    Project.objects.filter(pk=review.pk).update(archived_at=timezone.now())
    team.project.refresh_from_db()
    with pytest.raises(Conflict, match="is archived"):
        send(team, toolset)


def test_toolsets_are_no_gold_items_because_other_projects_show_their_state(team: Team, review: Project) -> None:
    send(team, weather(team))
    item = verify(team, review)
    with pytest.raises(Conflict, match="Toolsets can’t be gold items"):
        make_gold_item(actor=team.administrator, project=review, source=item, stage="review")


def test_the_protocol_can_switch_the_rule_off(team: Team, review: Project) -> None:
    protocol = current_protocol(team.project)
    assert protocol is not None
    assert protocol.verified_toolsets
    off = protocol.model_copy(update={"verified_toolsets": False})
    adopt_protocol(actor=team.administrator, project=team.project, protocol=off)
    item = make_item(team, "expert")
    settle(team, item)
    item.refresh_from_db()
    assert item.status == DialogueStatus.VERIFIED


def test_the_page_starts_the_review_and_sends_toolsets(team: Team) -> None:
    weather(team)
    browser = Client()
    browser.force_login(team.administrator)
    address = reverse("toolset-review", args=[team.project.slug])
    assert "Start the review of toolsets" in one_line(browser.get(address))
    refused = browser.post(address, {"action": "send"})
    assert refused.status_code == 409
    assert "Start the review of toolsets first" in one_line(refused)
    assert "are now reviewed in" in one_line(browser.post(address, {"action": "start"}, follow=True))
    assert "1 toolset sent to review." in one_line(browser.post(address, {"action": "send"}, follow=True))
    team.project.refresh_from_db()
    review = team.project.toolset_review
    assert review is not None
    assert sent_item(review).status == DialogueStatus.IN_REVIEW
    listed = one_line(browser.get(reverse("toolset-list", args=[team.project.slug])))
    assert "In review" in listed
    # In the project of the review, its own toolsets are sent to itself.
    address = reverse("toolset-review", args=[review.slug])
    assert "Toolsets are reviewed in this project" in one_line(browser.get(address))


def test_programs_send_toolsets_and_read_how_far_the_review_is(team: Team, review: Project) -> None:
    toolset = weather(team)
    api = Client()
    api.force_login(team.administrator)
    address = reverse("api-toolset-review", args=[team.project.slug])
    found = api.get(address).json()
    assert found == {"project": review.slug, "toolsets": {"none": 1}, "waiting": 0}
    sent = api.post(address, {"toolsets": [toolset.public_id]}, content_type="application/json")
    assert sent.json() == {"new": ["weather"], "again": [], "there": [], "refused": []}
    assert api.get(address).json()["toolsets"] == {"in_review": 1}
