"""A program marks what a new guideline outdates, sends it back and removes marks; the page shows the same change."""

from typing import Any

import pytest
from django.test import Client

from annotator.models import Job, OutdatedDialogue
from annotator.services.jobs import jobs
from annotator.services.projects import publish_guideline
from reviews.models import Cycle
from reviews.services.cycles import outdated
from tests.api_client import ApiClient, refusal
from tests.factories import Team, make_item, make_team
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

REASON = "Dates are ISO 8601 now."


@pytest.fixture
def path(team: Team) -> str:
    """The address of the changes of a guideline with two versions, and one dialogue reviewed under the first."""
    for seen in (0, 1):
        publish_guideline(actor=team.administrator, project=team.project, text=f"# After {seen}", seen=seen)
        if not seen:
            make_item(team, "cross_check", external_id="before")
    return f"/api/projects/{team.project.slug}/guideline/outdated/"


def test_a_program_previews_marks_and_sends_back_what_the_page_shows(team: Team, path: str, client: Client) -> None:
    api = ApiClient(team.administrator)
    preview = api.send(f"{path}preview/", {"number": 2}).json()
    assert (preview["total"], preview["statuses"]) == (1, {"in_review": 1})
    assert [one["external_id"] for one in preview["first"]] == ["before"]
    assert api.send(f"{path}preview/", {"number": 2, "policies": ["clarify"]}).json()["total"] == 0
    assert not OutdatedDialogue.objects.exists()
    answer = api.send(path, {"number": 2, "reason": REASON})
    made = answer.json()
    assert answer.status_code == 201
    assert (made["number"], made["touched"], made["left"], made["moving"]) == (2, 1, 1, preview)
    # A repeated request changes nothing.
    assert api.send(path, {"number": 2, "reason": REASON}).json() == made
    assert api.get(f"{path}{made['public_id']}/").json() == made
    assert api.get(path).json()["results"] == [{key: made[key] for key in made if key != "moving"}]
    client.force_login(team.administrator)
    assert REASON in one_line(client.get(f"/p/{team.project.slug}/guideline/outdated/"))
    started = api.send(f"{path}{made['public_id']}/send-back/")
    assert (started.status_code, started.json()["kind"]) == (202, outdated.JOB)
    assert api.send(f"{path}{made['public_id']}/send-back/").json()["public_id"] == started.json()["public_id"]
    jobs.run(Job.objects.get(kind=outdated.JOB).pk)
    assert Cycle.objects.filter(dialogue__external_id="before").count() == 2
    job = f"/api/projects/{team.project.slug}/jobs/{started.json()['public_id']}/"
    assert api.get(job).json()["state"] == "done"
    assert api.get(f"{path}{made['public_id']}/").json()["left"] == 0
    assert refusal(api.send(f"{path}{made['public_id']}/withdraw/")) == (409, "conflict")


def test_marks_are_withdrawn_once(team: Team, path: str) -> None:
    api = ApiClient(team.administrator)
    made = api.send(path, {"number": 2, "reason": REASON}).json()["public_id"]
    for _ in range(2):
        assert api.send(f"{path}{made}/withdraw/").json() == {"withdrawn": 1}
    assert not OutdatedDialogue.objects.filter(cleared_at=None).exists()


@pytest.mark.parametrize(
    ("sent", "status", "words"),
    [
        ({"number": 2, "policies": ["none"]}, 400, "Use one of: “single_tool”"),
        ({"number": 2, "error_types": ["none"]}, 422, "The protocol has: "),
        ({"number": 9}, 404, "version of the guideline doesn’t exist"),
        ({"number": 1}, 409, "No dialogues reviewed under an earlier guideline match"),
    ],
)
def test_what_cannot_be_marked_gets_a_sentence(
    team: Team, path: str, sent: dict[str, Any], status: int, words: str
) -> None:
    answer = ApiClient(team.administrator).send(path, sent | {"reason": REASON})
    assert refusal(answer)[0] == status
    assert words in answer.json()["sentence"]


def test_only_administrators_of_the_project_mark_outdated_work(team: Team, path: str) -> None:
    made = ApiClient(team.administrator).send(path, {"number": 2, "reason": REASON}).json()["public_id"]
    addresses = [path, f"{path}preview/", *(f"{path}{made}/{part}/" for part in ("send-back", "withdraw"))]
    for address in addresses:
        assert refusal(ApiClient(team.senior).send(address, {})) == (403, "denied")
        assert refusal(ApiClient(team.outsider).send(address, {})) == (404, "not_found")
    assert refusal(ApiClient(team.senior).get(path)) == (403, "denied")
    other = make_team()
    elsewhere = f"/api/projects/{other.project.slug}/guideline/outdated/{made}/"
    assert refusal(ApiClient(other.administrator).get(elsewhere)) == (404, "not_found")
    assert refusal(ApiClient(other.administrator).send(f"{elsewhere}withdraw/")) == (404, "not_found")
    assert OutdatedDialogue.objects.filter(cleared_at=None).count() == 1
