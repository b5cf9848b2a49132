"""A custom field on its whole way: two blind reviews, a dispute, its settlement, agreement, and a gold item."""

from copy import deepcopy
from typing import Any

import pytest
from django.test import Client

from annotator.models import Dialogue, User
from annotator.services.custom_fields import set_fields
from reviews.models import GoldScore
from reviews.services.statistics.agreement import AGREEMENT, read_agreement
from reviews.services.submission.rulings import load_dispute
from tests.annotator.core.test_custom_fields import FIELDS
from tests.api_client import ApiClient
from tests.factories import Team, claim_and_submit, current, make_item, open_slot
from tests.pages import one_line
from tests.reviews.gold.gold_team import STAGE, answer_with, certain, gold_team, make_gold, take

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

PLACE = "/tasks/t1/labels/difficulty"


@pytest.fixture
def team() -> Team:
    team = gold_team()
    fields = [FIELDS[0] | {"required": False}, FIELDS[2]]
    team.project = set_fields(actor=team.administrator, project=team.project, fields=fields, seen=0)
    return team


def answered(document: dict[str, Any], difficulty: str, quality: int | None = None) -> dict[str, Any]:
    copy = deepcopy(document)
    copy["tasks"][0]["labels"] = {"difficulty": difficulty}
    if quality is not None:
        copy["labels"] = {"quality": quality}
    return copy


def listed(team: Team, person: User, answer: str) -> list[str]:
    found = ApiClient(person).get(f"/api/projects/{team.project.slug}/dialogues/?field={answer}").json()
    return [one["external_id"] for one in found["results"]]


def page(person: User, dialogue: Dialogue) -> str:
    """What a person reads about a dialogue who does not hold it."""
    client = Client()
    client.force_login(person)
    return one_line(client.get(f"/p/{dialogue.project.slug}/dialogues/{dialogue.public_id}/"))


def combinations(team: Team) -> str:
    client = Client()
    client.force_login(team.administrator)
    return one_line(client.get(f"/p/{team.project.slug}/statistics/agreement/?stage={STAGE}"))


def test_answers_are_hidden_while_blind_then_disputed_settled_counted_and_scored(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = team.annotators[1:3]
    item = make_item(team, STAGE, external_id="one")
    claim_and_submit(first, item, "fix", document=answered(current(item), "hard", 4))

    # The second reviewer sees nothing of it, neither do lists, filters and figures of anybody.
    for person in (second, team.senior, team.administrator):
        assert [listed(team, person, one) for one in ("difficulty=hard", "quality=4")] == [[], []]
        assert "How hard is it? Hard" not in page(person, item)
    claim_and_submit(second, item, "fix", document=answered(current(item), "easy", 4))

    item.refresh_from_db()
    assert item.stage == "expert"
    dispute = load_dispute(open_slot(item))
    assert dispute is not None
    # What both answered alike is not in dispute.
    places = {one.anchor: (one.left, one.right) for one in dispute.discrepancies}
    assert places == {PLACE: ("hard", "easy")}
    assert dispute.words(PLACE) == "task 1, “How hard is it?”"
    ruling = {"choice": "left", "reason_kind": "answer_wrong", "reason": "There are two cities."}
    claim_and_submit(team.senior, item, "fix", rulings={PLACE: ruling})
    item.refresh_from_db()
    assert (item.status, current(item)["tasks"][0]["labels"], current(item)["labels"]) == (
        "verified", {"difficulty": "hard"}, {"quality": 4},
    )  # fmt: skip
    assert "How hard is it? Hard" in page(second, item)
    assert listed(team, second, "difficulty=hard") == listed(team, second, "quality=4") == ["one"]

    while AGREEMENT.fold():
        pass
    patterns = {
        label: dict(read_agreement(project=team.project, stage=STAGE, label=label).checked())
        for label in ("field:difficulty", "field:quality")
    }
    assert patterns == {"field:difficulty": {("easy", "hard"): 1}, "field:quality": {(4, 4): 1}}
    assert "Easy + Hard" in combinations(team)

    # A gold item shows the wrong answer; only its list of places says what the right one is.
    gold = make_gold(team, item, document=answered(current(item), "easy", 4))
    certain(monkeypatch, team)
    right, wrong = team.annotators[3:5]
    claim = take(right, team)
    assert claim.slot.dialogue_id == gold.dialogue_id
    shown = claim.slot.revision.document()
    assert shown["tasks"][0]["labels"] == {"difficulty": "easy"}
    answer_with(right, claim, "fix", document=answered(shown, "hard", 4))
    answer_with(wrong, take(wrong, team), "fix", document=answered(shown, "easy", 2))
    scores = {one.person: one for one in GoldScore.objects.all()}
    assert (scores[right].verdict_right, scores[right].errors, scores[right].found, scores[right].false_changes) == (
        True, 1, 1, 0,
    )  # fmt: skip
    assert scores[right].places == [{"anchor": PLACE, "label": "custom", "result": "repaired"}]
    assert (scores[wrong].verdict_right, scores[wrong].found, scores[wrong].false_changes) == (False, 0, 1)
    # Those whom the item tests find neither the known answer nor the item by what the answer says.
    assert listed(team, wrong, "difficulty=hard") == []
    assert listed(team, team.administrator, "difficulty=hard") == ["one"]
