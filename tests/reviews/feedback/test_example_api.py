"""A program marks examples, lists, reads and withdraws them; the page shows the same."""

import pytest
from django.test import Client

from annotator.models import Dialogue
from reviews.models import Example
from reviews.services.sampling.draws import close_population_and_draw
from tests.api_client import ApiClient, refusal
from tests.factories import Team, adopt_c3, claim_and_submit, current, make_document, make_item, make_team

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_c3(team, audit_fraction=0.0)
    return team


@pytest.fixture
def verified(team: Team) -> Dialogue:
    item = make_item(team, "cross_check", make_document("x", tasks=2))
    for person in team.annotators[1:]:
        claim_and_submit(person, item, "approve")
    close_population_and_draw(actor=team.administrator, project=team.project)
    item.refresh_from_db()
    return item


def test_a_program_marks_and_withdraws_what_the_page_lists(team: Team, verified: Dialogue, client: Client) -> None:
    api, path = ApiClient(team.senior), f"/api/projects/{team.project.slug}/examples/"
    sent = {"dialogue": verified.public_id, "comment": "Every value has its source.", "stages": ["cross_check"]}
    whole = api.send(path, sent)
    assert (whole.status_code, whole.json()["document"]) == (201, current(verified))
    assert api.send(path, sent).json() == whole.json()
    assert refusal(api.send(path, sent | {"comment": "Another"})) == (409, "conflict")
    task = api.send(path, sent | {"task": "t2", "stages": [], "policies": ["chat"]}).json()
    assert [one["id"] for one in task["document"]["tasks"]] == ["t2"]
    reader = ApiClient(team.annotator)
    rows = reader.get(path).json()["results"]
    assert [one["task"] for one in rows] == ["", "t2"]
    assert rows[1] == {key: task[key] for key in task if key != "document"}
    assert reader.get(f"{path}{task['public_id']}/").json() == task
    for query, tasks in (("stage=cross_check", ["", "t2"]), ("stage=expert", ["t2"]), ("policy=single_tool", [""])):
        assert [one["task"] for one in reader.get(f"{path}?{query}").json()["results"]] == tasks
    client.force_login(team.annotator)
    assert "Every value has its source." in client.get(f"/p/{team.project.slug}/examples/").content.decode()
    for _ in range(2):
        gone = ApiClient(team.administrator).send(f"{path}{task['public_id']}/withdraw/").json()
        assert gone["withdrawn_by"] == team.administrator.public_id
    assert [one["task"] for one in reader.get(path).json()["results"]] == [""]
    # A program that follows the list hears of it.
    assert len(reader.get(f"{path}?updated_since=2020-01-01T00:00:00Z").json()["results"]) == 2


def test_what_cannot_be_an_example_is_refused_with_what_there_is(team: Team, verified: Dialogue) -> None:
    api, path = ApiClient(team.senior), f"/api/projects/{team.project.slug}/examples/"
    sent = {"dialogue": verified.public_id, "comment": "Good."}
    for field, value, status, words in (
        ("policies", ["none"], 400, "Use one of: “single_tool”"),
        ("stages", ["none"], 422, "Its stages are: self_check"),
        ("task", "t9", 422, "no such task"),
        ("dialogue", "none", 404, "doesn’t exist"),
        ("comment", " ", 400, "comment"),
    ):
        answer = api.send(path, sent | {field: value})
        assert refusal(answer)[0] == status, field
        assert words in answer.json()["sentence"]
    unverified = make_item(team, "cross_check")
    assert refusal(api.send(path, sent | {"dialogue": unverified.public_id})) == (409, "conflict")
    wrong = api.get(f"{path}?stage=none")
    assert refusal(wrong) == (400, "unknown_filter")
    assert "“cross_check”" in wrong.json()["sentence"]
    assert not Example.objects.exists()


def test_annotators_read_examples_and_outsiders_do_not(team: Team, verified: Dialogue) -> None:
    path = f"/api/projects/{team.project.slug}/examples/"
    sent = {"dialogue": verified.public_id, "comment": "Good."}
    made = ApiClient(team.senior).send(path, sent).json()["public_id"]
    assert refusal(ApiClient(team.annotator).send(path, sent)) == (403, "denied")
    assert refusal(ApiClient(team.annotator).send(f"{path}{made}/withdraw/")) == (403, "denied")
    for address in (path, f"{path}{made}/"):
        assert refusal(ApiClient(team.outsider).get(address)) == (404, "not_found")
    other = make_team()
    elsewhere = f"/api/projects/{other.project.slug}/examples/{made}/"
    assert refusal(ApiClient(other.administrator).get(elsewhere)) == (404, "not_found")
    assert refusal(ApiClient(other.administrator).send(f"{elsewhere}withdraw/")) == (404, "not_found")
    assert Example.objects.get().withdrawn_at is None
