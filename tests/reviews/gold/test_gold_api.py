"""A program creates gold items, lists and retires them, and sets their rate."""

import pytest

from annotator.models import Event
from reviews.models import GoldRate
from tests.api_client import ApiClient, refusal
from tests.factories import changed, current
from tests.reviews.gold.gold_team import STAGE, gold_team, verified

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def test_a_gold_item_is_made_listed_and_retired() -> None:
    team = gold_team()
    api, path = ApiClient(team.administrator), f"/api/projects/{team.project.slug}/gold/"
    source = verified(team)
    planted = changed(current(source), "It is raining.")
    made = api.send(path, {"dialogue": source.external_id, "stage": STAGE, "document": planted})
    assert made.status_code == 201, made.json()
    item = made.json()
    assert (item["source"], item["planted"], item["errors"], item["submitted"]) == (source.public_id, True, 1, 0)
    assert refusal(api.send(path, {"dialogue": source.public_id, "stage": STAGE})) == (409, "conflict")
    other = {"dialogue": verified(team).public_id, "stage": STAGE, "variants": {"misspelt": planted}}
    for more in ({}, {"document": planted}):
        answer = api.send(path, other | more)
        assert refusal(answer) == (422, "invalid")
        assert answer.json()["details"]["field"] == "variants"
    assert ApiClient(team.senior).get(path).json()["results"] == [item]
    assert api.get(f"{path}{item['public_id']}/").json() == item
    retired = api.send(f"{path}{item['public_id']}/retire/", {"reason": "Known"}).json()
    assert (retired["retired_by"], retired["retired_why"]) == (team.administrator.public_id, "Known")
    assert refusal(ApiClient(team.annotator).get(path)) == (403, "denied")
    assert refusal(ApiClient(team.senior).send(path, {"dialogue": "x", "stage": STAGE})) == (403, "denied")
    assert refusal(api.send(path, {"dialogue": "no such", "stage": STAGE})) == (404, "not_found")


def test_a_rate_is_set_and_what_is_left_out_stays() -> None:
    team = gold_team()
    api, path = ApiClient(team.administrator), f"/api/projects/{team.project.slug}/gold/rates/"
    api.send(path, {"stage": STAGE, "rate": 0.1, "reveal": True})
    answer = api.send(path, {"stage": STAGE, "rate": 0.05}).json()
    (stage,) = [one for one in answer["stages"] if one["stage"] == STAGE]
    assert stage == {"stage": STAGE, "rate": 0.05, "reveal": True, "barred": "", "items": 0}
    assert refusal(api.send(path, {"stage": STAGE, "rate": 0.6}))[0] == 400
    assert refusal(api.send(path, {"stage": "nowhere", "rate": 0.1})) == (422, "invalid")
    assert GoldRate.objects.get().secret not in str(api.get(path).json())
    events = Event.objects.filter(kind="gold.rate_set")
    assert events.count() == 2
    api.send(path, {"stage": STAGE, "rate": 0.05})
    assert events.count() == 2
