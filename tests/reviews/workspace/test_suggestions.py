"""Suggestions of models and scripts: posted, shown beside their fields, decided by each person alone, counted."""

import re
from typing import Any

import pytest
from django.test import Client

from annotator.models import Draft, StoredSuggestion, SuggestionDecision
from annotator.services.custom_fields import set_fields
from annotator.services.dialogues import drafts
from annotator.services.dialogues.suggestions import Posted, post_suggestions
from reviews.models import Review
from reviews.services.queue.claims import claim_slot
from reviews.services.statistics.suggestions import read_acceptance
from reviews.services.submission.submit import submit_review
from tests.annotator.core.test_custom_fields import FIELDS
from tests.api_client import ApiClient, refusal
from tests.factories import (
    Team,
    adopt_c3,
    begin,
    changed,
    current,
    depends,
    make_dialogue,
    make_document,
    make_item,
    make_team,
    open_slot,
)
from tests.journeys.graph_tasks import coast
from tests.pages import one_line
from tests.reviews.gold.gold_team import gold_team, make_gold, verified

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]
POLICY, ANSWER, EDGE = "/tasks/t1/policy", "/tasks/t1/steps/s1/text", "/tasks/t1/steps/s1/depends_on/s0"


def suggest(team: Team, *items: tuple[str, Any], dialogue: str = "one", source: str = "model-a") -> list[Posted]:
    return post_suggestions(
        actor=team.administrator,
        project=team.project,
        items=[
            {"dialogue": dialogue, "place": place, "value": value, "source": source, "score": 0.9}
            for place, value in items
        ],
    )


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_c3(team)
    document = make_document()
    document["tasks"][0]["steps"][1]["depends_on"] = None
    begin(team.project, [make_dialogue(team.project, document, external_id="one")])
    return team


def ghosts(page: str) -> list[str]:
    return re.findall(r'aria-label="((?:Suggested|Refused)[^"]*)" id="(ghost-\w+)', page)


class Desk(Client):
    """A browser in which somebody holds an item."""

    def __init__(self, team: Team, person: Any, dialogue: Any) -> None:
        super().__init__()
        self.person, self.slot = person, open_slot(dialogue, person)
        self.claim = claim_slot(actor=person, slot=self.slot)
        self.force_login(person)
        self.work = f"/work/{self.slot.public_id}/"

    def show(self, at: str = "/tasks/t1", panel: str = "edit") -> str:
        return one_line(self.get(self.work, {"at": at, "panel": panel}))

    def decide(self, place: str, action: str) -> Any:
        dialogue = self.slot.dialogue
        one = StoredSuggestion.objects.get(dialogue=dialogue, place=place)
        body = {"at": place.rpartition("/")[0], "seen": self.draft().version}
        path = f"{self.work}suggestions/{one.public_id}/{action}/"
        return self.post(path, body, headers={"HX-Request": "true"})

    def draft(self) -> Draft:
        self.get(self.work)
        return Draft.objects.get(author=self.person, dialogue=self.slot.dialogue, closed_at=None)

    def submit(self, verdict: str = "") -> Review:
        draft = self.draft()
        return submit_review(
            actor=self.person, slot=self.slot, token=self.claim.token, verdict=verdict, draft=draft,
        )  # fmt: skip


@pytest.fixture
def desk(team: Team) -> Desk:
    return Desk(team, team.annotator, team.project.dialogues.get())


def test_an_accepted_suggestion_is_the_persons_own_edit_and_a_refused_one_changes_nothing(team: Team, desk: Desk):
    suggest(team, (POLICY, "chat"), (ANSWER, "It snows."), (EDGE, "parameter"))
    before = desk.draft().content
    assert "Suggested by model-a, score 0.90: Chat" in desk.show()
    assert "It snows." in desk.show("/tasks/t1/steps/s1")
    assert 'checked id="policy-chat"' not in desk.show()
    assert desk.draft().content == before

    assert desk.decide(POLICY, "refuse").status_code == 200
    assert "Refused suggestion of model-a, score 0.90: Chat" in desk.show()
    assert desk.draft().content == before
    assert desk.decide(ANSWER, "accept").status_code == 200
    assert desk.draft().document()["tasks"][0]["steps"][1]["text"] == "It snows."
    assert "Suggested by" not in desk.show().replace("suggestion", "")

    drafts.undo(actor=team.annotator, draft=desk.draft())
    assert desk.draft().content == before
    assert "Suggested by model-a, score 0.90: It snows." in desk.show("/tasks/t1/steps/s1")


def test_a_suggested_dependency_is_drawn_and_accepted_in_the_graph(team: Team, desk: Desk):
    suggest(team, (EDGE, "logical"))
    page = desk.show(panel="graph")
    assert "Suggested: s1 depends on s0. Suggested by model-a, score 0.90." in page
    assert 'data-refuse="s1 s0"' in page
    desk.decide(EDGE, "accept")
    assert desk.draft().document()["tasks"][0]["steps"][1]["depends_on"] == [{"id": "s0", "kind": "logical"}]
    assert "data-refuse" not in desk.show(panel="graph")


def test_a_suggested_dependency_that_would_close_a_cycle_is_refused_with_the_cycle(team: Team):
    document = coast()
    document["tasks"][0]["steps"][1]["depends_on"] = depends("s0")
    [item] = begin(team.project, [make_dialogue(team.project, document, external_id="coast")])
    place = "/tasks/t1/steps/s0/depends_on/s1"
    assert [one.result for one in suggest(team, (place, "parameter"), dialogue="coast")] == ["stored"]
    desk = Desk(team, team.annotator, item)
    answer = desk.decide(place, "accept")
    assert answer.status_code == 422
    assert "would form a cycle" in one_line(answer)
    assert not SuggestionDecision.objects.exists()


def test_decisions_count_when_the_review_is_submitted_by_what_was_submitted(team: Team, desk: Desk):
    suggest(team, (POLICY, "chat"), (ANSWER, "It snows."), (EDGE, "parameter"), ("/language", "zh"))
    desk.decide(EDGE, "accept")
    desk.decide(POLICY, "refuse")
    desk.decide(ANSWER, "accept")
    draft = desk.draft()
    operation = {"op": "set", "anchor": ANSWER, "value": "It snows a little."}
    drafts.edit_draft(actor=team.annotator, draft=draft, operation=operation, seen=draft.version)
    desk.decide("/language", "accept")
    drafts.undo(actor=team.annotator, draft=desk.draft())
    assert read_acceptance(actor=team.administrator, project=team.project).decided == 0

    review = desk.submit()
    assert review.labels == {"t1": {"policy": "single_tool", "information": "explicit"}}
    found = read_acceptance(actor=team.administrator, project=team.project)
    # The acceptance that was undone is no decision.
    assert (found.suggestions, found.decided) == (4, 3)
    all_of_it, *kinds = found.rows
    assert (all_of_it.source, all_of_it.kind) == ("model-a", "")
    assert (all_of_it.accepted, all_of_it.refused, all_of_it.changed) == (1, 1, 1)
    # Wilson's bounds for 1 of 3, by hand: 0.0615 and 0.7923.
    assert all_of_it.rate.value == pytest.approx(1 / 3)
    assert (all_of_it.rate.low, all_of_it.rate.high) == (
        pytest.approx(0.0615, abs=1e-4),
        pytest.approx(0.7923, abs=1e-4),
    )
    assert [(one.kind, one.rate.value) for one in kinds] == [("dependency", 1), ("policy", 0), ("text", 0)]

    page = Client()
    page.force_login(team.administrator)
    shown = one_line(page.get(f"/p/{team.project.slug}/statistics/suggestions/"))
    assert "33.3" in shown
    rows = page.get(f"/p/{team.project.slug}/statistics/suggestions/?csv=acceptance").content.decode().splitlines()
    assert rows[1].startswith("model-a,All places,1,1,1,0.333")
    answer = ApiClient(team.administrator).get(f"/api/projects/{team.project.slug}/statistics/suggestions/").json()
    assert answer["acceptance"][0]["accepted"] == 1
    assert refusal(ApiClient(team.annotator).get(f"/api/projects/{team.project.slug}/statistics/suggestions/")) == (
        403, "denied",
    )  # fmt: skip


def test_posting_again_replaces_only_undecided_suggestions(team: Team, desk: Desk):
    assert [one.result for one in suggest(team, (POLICY, "chat"), (ANSWER, "A"))] == ["stored", "stored"]
    assert [one.result for one in suggest(team, (POLICY, "chat"), (ANSWER, "B"))] == ["unchanged", "replaced"]
    desk.decide(ANSWER, "refuse")
    assert [one.result for one in suggest(team, (ANSWER, "C"))] == ["decided"]
    assert [one.result for one in suggest(team, (ANSWER, "C"), source="model-b")] == ["stored"]
    values = StoredSuggestion.objects.filter(place=ANSWER).order_by("source").values_list("value", flat=True)
    assert list(values) == ["B", "C"]


def test_a_page_that_shows_a_replaced_suggestion_accepts_nothing(team: Team, desk: Desk):
    suggest(team, (ANSWER, "A"))
    shown = StoredSuggestion.objects.get().public_id
    suggest(team, (ANSWER, "B"))
    before = desk.draft()
    answer = desk.post(f"{desk.work}suggestions/{shown}/accept/", {"seen": before.version})
    assert answer.status_code == 404
    assert "was replaced" in one_line(answer)
    assert desk.draft().content == before.content
    assert not SuggestionDecision.objects.exists()


def test_an_answer_to_a_custom_field_is_suggested_while_the_field_asks_for_it(team: Team, desk: Desk):
    why = FIELDS[1] | {"scope": "task", "required": False}
    team.project = set_fields(actor=team.administrator, project=team.project, fields=[FIELDS[0], why], seen=0)
    place, dependent = "/tasks/t1/labels/difficulty", "/tasks/t1/labels/why"
    given = suggest(team, (place, "hard"), (dependent, ["vague", "long"]), ("/tasks/t1/labels/gone", "hard"))
    assert [one.result for one in given] == ["stored", "stored", "refused"]
    # The second field is not asked yet.
    assert [words for words, _ in ghosts(desk.show())] == ["Suggested by model-a, score 0.90: Hard"]
    assert desk.decide(place, "accept").status_code == 200
    assert [words for words, _ in ghosts(desk.show())] == ["Suggested by model-a, score 0.90: Long, Vague"]
    assert desk.decide(dependent, "accept").status_code == 200
    assert ghosts(desk.show()) == []
    assert desk.draft().document()["tasks"][0]["labels"] == {"difficulty": "hard", "why": ["long", "vague"]}


def test_the_api_says_for_each_suggestion_what_happened(team: Team):
    path = f"/api/projects/{team.project.slug}/suggestions/"
    good = {"dialogue": "one", "place": POLICY, "value": "chat", "source": "model-a"}
    bad = [good | {"place": "/tasks/t7/policy"}, good | {"value": "sing"}, good | {"dialogue": "none"}, "text"]
    answer = ApiClient(team.administrator).send(path, {"suggestions": [good, *bad]})
    assert answer.status_code == 200
    assert answer.json()["counts"] == {"stored": 1, "refused": 4}
    assert [one["field"] for one in answer.json()["results"]] == ["", "place", "value", "dialogue", "dialogue"]
    assert "Known: t1" in answer.json()["results"][1]["message"]
    assert refusal(ApiClient(team.annotator).send(path, {"suggestions": [good]})) == (403, "denied")
    assert refusal(ApiClient(team.outsider).send(path, {"suggestions": [good]})) == (404, "not_found")
    assert ApiClient(team.administrator).send(path, {"suggestions": []}).status_code == 422
    assert ApiClient(team.administrator).send(path, {"suggestions": [good] * 1001}).status_code == 400


def test_a_claim_over_http_has_the_suggestions_that_its_page_shows(team: Team):
    path = f"/api/projects/{team.project.slug}/claims/"
    suggest(team, (POLICY, "chat"), ("/language", "en"), (EDGE, "parameter"))
    given = ApiClient(team.annotator).send(path).json()["suggestions"]
    # The language is that already.
    assert given == [
        {"place": POLICY, "value": "chat", "source": "model-a", "score": 0.9},
        {"place": EDGE, "value": "parameter", "source": "model-a", "score": 0.9},
    ]


def test_in_a_blind_stage_a_reviewer_learns_nothing_of_a_colleagues_decisions(team: Team):
    item = make_item(team, "cross_check", external_id="two")
    suggest(team, (POLICY, "chat"), (ANSWER, "It snows."), dialogue="two")
    first, second = (Desk(team, person, item) for person in team.annotators[1:3])
    second.get(second.work)
    before = [second.show(at) for at in ("/tasks/t1", "/tasks/t1/steps/s1", "/")]
    first.decide(ANSWER, "accept")
    first.decide(POLICY, "refuse")
    first.submit("fix")
    after = [second.show(at) for at in ("/tasks/t1", "/tasks/t1/steps/s1", "/")]
    assert [ghosts(page) for page in after] == [ghosts(page) for page in before]
    assert len(ghosts(after[0]) + ghosts(after[1])) == 2
    assert SuggestionDecision.objects.filter(sealed=True).count() == 2
    # Also not from the figures, before the stage has ended.
    assert read_acceptance(actor=team.seniors[0], project=team.project).decided == 0
    second.decide(ANSWER, "accept")
    second.submit("fix")
    assert read_acceptance(actor=team.seniors[0], project=team.project).decided == 3
    assert not SuggestionDecision.objects.filter(sealed=True).exists()


def test_a_gold_item_has_the_suggestions_of_its_source_and_its_decisions_count_nowhere():
    team = gold_team()
    source = verified(team, external_id="source")
    suggest(team, (POLICY, "chat"), dialogue="source")
    planted = changed(current(source), "It is foggy, 18 degrees.")
    item = make_gold(team, source, document=planted)
    suggest(team, (POLICY, "multi_tool"), (ANSWER, "It snows."), dialogue="source")
    shown = {
        key: set(StoredSuggestion.objects.filter(dialogue=key).values_list("place", "value", "source", "score"))
        for key in (source.pk, item.dialogue_id)
    }
    assert shown[source.pk] == shown[item.dialogue_id] != set()
    assert read_acceptance(actor=team.administrator, project=team.project).suggestions == 2
