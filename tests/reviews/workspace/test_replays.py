"""Replays: asked for, run by a worker in the real sandbox, looked at by who may see the content."""

import json
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from annotator.core.sandbox import Sandbox, SandboxUnavailable
from annotator.errors import Conflict, DomainError, Hidden, Invalid
from annotator.models import Dialogue, JobState, Replay, User
from annotator.services.dialogues import replay_runner, replays
from annotator.services.dialogues.drafts import edit_draft, open_draft
from annotator.services.dialogues.replay_runner import SandboxRunner
from annotator.services.dialogues.replays import last_replay, load_replay, start_replay
from annotator.services.dialogues.revisions import create_revision
from annotator.services.jobs import jobs
from annotator.services.toolsets.storing import ensure_toolset_revision
from reviews.services.protocols.versions import adopt_preset
from reviews.services.queue.claims import claim_slot
from reviews.services.submission.workbench import open_workbench
from tests.annotator.case_documents import TOOLS, case, with_constraint
from tests.api_client import ApiClient, refusal
from tests.factories import Team, begin, make_dialogue, make_team, open_slot
from tests.languages import add_german
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

TIMES = "def read_timetable(ferry):\n    return {'last': '21:40'}\n"


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=3, seniors=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="cctu")
    return team


@pytest.fixture(scope="module")
def sandbox() -> Any:
    with Sandbox() as one:
        yield one


@pytest.fixture(autouse=True)
def shared(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    """One sandbox for all these tests."""
    monkeypatch.setattr(replay_runner, "shared_sandbox", lambda: sandbox)


def item_of(team: Team, document: dict[str, Any] | None = None) -> Dialogue:
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    codes = case()["tool_codes"] | {"read_timetable": TIMES}
    dialogue = make_dialogue(team.project, document or case(tool_codes=codes), toolset=toolset)
    begin(team.project, [dialogue])
    return Dialogue.objects.get(pk=dialogue.pk)


def ran(actor: User, dialogue: Dialogue, **fields: Any) -> Replay:
    """A replay, asked for and run to its end."""
    if "draft" not in fields:
        fields = {"revision": dialogue.head} | fields
    replay = start_replay(actor=actor, dialogue=dialogue, **fields)
    jobs.run(replay.job_id)
    return Replay.objects.select_related("job").get(pk=replay.pk)


def record_of(replay: Replay) -> Any:
    assert replay.job.state == JobState.DONE, replay.job.error
    return replay.record


# --- the job ----------------------------------------------------------------------------------------------------------


def test_the_reference_trajectory_runs_in_the_sandbox(team: Team) -> None:
    replay = ran(team.annotator, item_of(team))
    record = record_of(replay)
    assert [call["received"] for each in record["rounds"] for call in each["calls"]] == [
        '{"ferry": "Gull"}',
        '{"last": "21:40"}',
    ]
    assert record["solved"] == "perfectly"
    # The validator of “End the answer with a full stop” has been asked.
    assert record["constraints"][4]["status"] == "satisfied"
    assert replay.job.result == {"replay": replay.public_id, "solved": "perfectly"}
    assert replay.job.progress_done == 2


def test_failures_have_names_and_tools_keep_nothing_between_calls(team: Team) -> None:
    codes = {
        "find_ferry": "seen = []\ndef find_ferry(harbour):\n    seen.append(harbour)\n    return len(seen)\n",
        "read_timetable": "def read_timetable(ferry):\n    return open('/etc/passwd').read()\n",
    }
    rounds = [
        {"calls": [{"name": "find_ferry", "arguments": {"harbour": "N"}}]},
        {"calls": [{"name": "find_ferry", "arguments": {"harbour": "N"}}]},
        {"calls": [{"name": "read_timetable", "arguments": {"ferry": "Gull"}}]},
    ]
    record = record_of(ran(team.annotator, item_of(team, case(tool_codes=codes)), trajectory=json.dumps(rounds)))
    assert [each["calls"][0]["received"] for each in record["rounds"][:2]] == ["1", "1"]
    assert record["rounds"][2]["calls"][0]["status"] == "forbidden"
    assert record["solved"] == "no"


def test_numbers_keep_their_kind_from_the_custom_trajectory_to_the_record(team: Team) -> None:
    numbers = [1e20, -0.0, 40.0, 12345678901234567890123]
    call = {"name": "find_ferry", "arguments": {"harbour": numbers}}
    replay = ran(team.annotator, item_of(team), trajectory=json.dumps([{"calls": [call]}]))
    assert replay.trajectory is not None
    assert repr(replay.trajectory[0]["calls"][0]["arguments"]["harbour"]) == repr(numbers)
    assert repr(record_of(replay)["rounds"][0]["calls"][0]["arguments"]["harbour"]) == repr(numbers)


def test_a_built_in_form_judges_like_code(team: Team) -> None:
    validator = {"form": "ends_with", "parameters": {"texts": ["!"]}}
    record = record_of(ran(team.annotator, item_of(team, with_constraint("c4", validator=validator))))
    assert record["constraints"][4]["status"] == "unsatisfied"
    assert record["constraints"][4]["why_unjudged"] == ""


def test_a_tool_that_has_to_be_stopped_is_not_tried_for_ever(sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = {"find_ferry": "def find_ferry(harbour):\n    import os\n    os.abort()\n"}
    runner = SandboxRunner(case(tool_codes=codes), None, total=4, sandbox=sandbox)
    assert [runner.call_tool("find_ferry", {"harbour": "N"}).status for _ in range(3)] == [
        "crashed",
        "crashed",
        "not_tried",
    ]
    assert runner.call_tool("read_timetable", {}).status == "no_code"
    monkeypatch.setattr(replay_runner, "MAX_SECONDS", -1.0)
    late = SandboxRunner(case(), None, total=1, sandbox=sandbox)
    assert late.call_tool("find_ferry", {"harbour": "N"}).status == "not_tried"
    assert late.judge(4, ["A."])[0].status == "not_tried"


def test_where_nothing_can_be_shut_in_the_job_fails_with_the_reason_in_each_readers_language(
    team: Team, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path, client: Client
) -> None:
    class Nothing:
        def run(self, *args: Any, **kwargs: Any) -> Any:
            raise SandboxUnavailable("There is no sandbox here.")

    monkeypatch.setattr(replay_runner, "shared_sandbox", Nothing)
    dialogue = item_of(team)
    replay = ran(team.annotator, dialogue)
    assert replay.job.state == JobState.FAILED
    assert replay.job.error == "The code couldn’t be run. There is no sandbox here."
    assert replay.record is None
    add_german(settings, tmp_path, {"The code couldn’t be run. %(reason)s": "Der Code lief nicht. %(reason)s"})
    german = "Der Code lief nicht. There is no sandbox here."
    client.force_login(team.annotator)
    page = reverse("replay", args=[team.project.slug, dialogue.public_id, replay.public_id])
    assert german in text_of(client.get(page, headers={"Accept-Language": "de"}))
    path = f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/replays/{replay.public_id}/"
    read = ApiClient(team.annotator).get(path, headers={"Accept-Language": "de"})
    # The API is English.
    assert read.json()["job"]["error"] == replay.job.error


# --- asking -----------------------------------------------------------------------------------------------------------


def test_what_cannot_be_run_is_refused_in_words(team: Team) -> None:
    bare = item_of(team, case(reference_trajectory=None))
    with pytest.raises(Invalid, match="no reference trajectory yet"):
        start_replay(actor=team.annotator, dialogue=bare, revision=bare.head)
    with pytest.raises(Invalid, match="line 1, column 2") as caught:
        start_replay(actor=team.annotator, dialogue=bare, revision=bare.head, trajectory="[")
    assert caught.value.details["problems"][0]["pointer"] == ""
    other = make_dialogue(team.project)
    with pytest.raises(Invalid, match="Only constrained cases"):
        start_replay(actor=team.annotator, dialogue=other, revision=other.head)
    with pytest.raises(Hidden):
        start_replay(actor=team.outsider, dialogue=bare, revision=bare.head, trajectory="[]")


def test_asking_twice_is_one_replay_and_few_are_under_way_at_once(team: Team) -> None:
    dialogue = item_of(team)
    first = start_replay(actor=team.annotator, dialogue=dialogue, revision=dialogue.head)
    assert start_replay(actor=team.annotator, dialogue=dialogue, revision=dialogue.head) == first
    for number in range(2):
        start_replay(
            actor=team.annotator, dialogue=dialogue, revision=dialogue.head, trajectory=f'[{{"final": "{number}"}}]'
        )
    with pytest.raises(Conflict, match="3 replays in progress"):
        start_replay(actor=team.annotator, dialogue=dialogue, revision=dialogue.head, trajectory='[{"final": "x"}]')
    jobs.run(first.job_id)
    assert start_replay(actor=team.annotator, dialogue=dialogue, revision=dialogue.head) != first


def test_only_the_newest_are_kept(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replays, "MAX_STORED", 3)
    dialogue = item_of(team)
    for _ in range(5):
        replay = start_replay(actor=team.annotator, dialogue=dialogue, revision=dialogue.head)
        jobs.cancel_job(actor=team.annotator, job=replay.job)
    assert Replay.objects.filter(requester=team.annotator).count() == 3


# --- who sees what ----------------------------------------------------------------------------------------------------


def seen(actor: User, replay: Replay) -> bool:
    try:
        load_replay(actor=actor, dialogue=replay.dialogue, public_id=replay.public_id)
    except DomainError:
        return False
    return True


def test_the_replay_of_a_version_is_for_all_and_a_custom_or_drafted_one_for_oneself(team: Team) -> None:
    dialogue = item_of(team)
    one, other = team.annotators[:2]
    shared = ran(one, dialogue)
    pasted = ran(one, dialogue, trajectory='[{"final": "Boo."}]')
    assert dialogue.head is not None
    draft = open_draft(actor=one, dialogue=dialogue, base=dialogue.head, branch="slot-x")
    own = ran(one, dialogue, draft=draft)
    assert [seen(one, each) for each in (shared, pasted, own)] == [True, True, True]
    assert [seen(other, each) for each in (shared, pasted, own)] == [True, False, False]
    assert not seen(team.outsider, shared)
    # Shown again to everybody who looks at the same content.
    assert last_replay(actor=other, dialogue=dialogue, revision=dialogue.head) == shared
    assert last_replay(actor=one, dialogue=dialogue, draft=draft) == own
    with pytest.raises(DomainError, match="somebody else"):
        start_replay(actor=other, dialogue=dialogue, draft=draft)
    # A sealed revision, and whatever was run of it, is its author's alone.
    sealed = create_revision(
        actor=one,
        dialogue=dialogue,
        document=case(answer="At 21:40."),
        parent=dialogue.head,
        branch="slot-x",
        sealed=True,
    )
    hidden = ran(one, dialogue, revision=sealed)
    assert (seen(one, hidden), seen(other, hidden)) == (True, False)
    with pytest.raises(Hidden):
        start_replay(actor=other, dialogue=dialogue, revision=sealed)


def test_a_draft_is_run_as_it_is_by_then(team: Team) -> None:
    dialogue = item_of(team)
    assert dialogue.head is not None
    draft = open_draft(actor=team.annotator, dialogue=dialogue, base=dialogue.head, branch="slot-x")
    replay = start_replay(actor=team.annotator, dialogue=dialogue, draft=draft)
    operation = {"op": "set", "anchor": "/answer", "value": "Nobody knows."}
    draft = edit_draft(actor=team.annotator, draft=draft, operation=operation, seen=0).draft
    jobs.run(replay.job_id)
    assert record_of(Replay.objects.select_related("job").get(pk=replay.pk))["answer_held"] is False
    assert last_replay(actor=team.annotator, dialogue=dialogue, draft=draft) == replay


# --- pages ------------------------------------------------------------------------------------------------------------


def text_of(response: Any, status: int = 200) -> str:
    assert response.status_code == status, response.content[:500]
    return str(one_line(response))


def test_a_replay_from_the_dialogues_page_to_its_verdict(client: Client, team: Team) -> None:
    dialogue = item_of(team)
    client.force_login(team.annotator)
    page = reverse("dialogue", args=[team.project.slug, dialogue.public_id])
    start = reverse("dialogue-replay", args=[team.project.slug, dialogue.public_id])
    assert start in text_of(client.get(page))
    assert "No replays yet" in text_of(client.get(start))
    begun: Any = client.post(start)
    assert begun.status_code == 302
    # Watched: the part that htmx asks for every second, then the whole page.
    waiting = text_of(client.get(begun.url))
    assert 'hx-trigger="every 1s"' in waiting
    assert ">Stop" in waiting
    part = text_of(client.get(begun.url, headers={"HX-Request": "true", "HX-Target": "replay-state"}))
    assert part.lstrip().startswith('<section id="replay-state"')
    jobs.run(Replay.objects.get().job_id)
    last = client.get(begun.url, headers={"HX-Request": "true", "HX-Target": "replay-state"})
    assert last.headers["HX-Refresh"] == "true"
    shown = text_of(client.get(begun.url))
    for words in (
        "Solved, all constraints met",
        "2 of 2 expected texts were found.",
        "The accepted response contains the reference answer.",
        "3 calls left.",
        "4. Length: pending",
        "(from the tools)",
        "Accepted",
    ):
        assert words in shown
    # The same content again: what came of it is shown at once, to colleagues as well.
    client.force_login(team.annotators[1])
    assert "Last run of this content" in text_of(client.get(start))


def test_a_replay_that_waits_can_be_stopped_by_whoever_asked_for_it(client: Client, team: Team) -> None:
    dialogue = item_of(team)
    replay = start_replay(actor=team.annotator, dialogue=dialogue, revision=dialogue.head)
    own = reverse("replay", args=[team.project.slug, dialogue.public_id, replay.public_id])
    client.force_login(team.annotators[1])
    assert ">Stop" not in text_of(client.get(own))
    assert client.post(own).status_code == 404
    client.force_login(team.annotator)
    assert client.post(own).status_code == 302
    # A second click of the same wish finds it done.
    assert client.post(own).status_code == 302
    assert "Cancelled before it started." in text_of(client.get(own))


def test_a_pasted_trajectory_with_faults_is_refused_at_the_place(client: Client, team: Team) -> None:
    dialogue = item_of(team)
    client.force_login(team.annotator)
    start = reverse("dialogue-replay", args=[team.project.slug, dialogue.public_id])
    wrong = '[{"calls": [{"arguments": {}}]}]'
    page = text_of(client.post(start, {"paste": "1", "trajectory": wrong}), 422)
    assert "Call 1 of round 1 has no tool name." in page
    assert "/0/calls/0/name" in page
    assert "&quot;arguments&quot;" in page
    refused = [{"calls": [{"name": "read_timetable", "arguments": {"ferry": "<b>Gull</b>"}}]}, {"final": "No stop"}]
    begun: Any = client.post(start, {"paste": "1", "trajectory": json.dumps(refused)})
    jobs.run(Replay.objects.get().job_id)
    page = text_of(client.get(begun.url))
    for words in ("Not solved", "Rejected, doesn’t run", "Returned", "&lt;b&gt;Gull&lt;/b&gt;", "0 of 2"):
        assert words in page
    assert "The trajectory ends before a final response is accepted." in page
    assert Dialogue.objects.get(pk=dialogue.pk).head == dialogue.head


def test_the_work_page_replays_the_draft_for_oneself(client: Client, team: Team) -> None:
    dialogue = item_of(team)
    slot = open_slot(dialogue)
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    start = reverse("workspace-replay", args=[slot.public_id])
    assert start in text_of(client.get(reverse("workspace", args=[slot.public_id])))
    assert "your draft" in text_of(client.get(start))
    begun: Any = client.post(start)
    replay = Replay.objects.get()
    assert replay.draft == open_workbench(actor=team.annotator, slot_id=slot.public_id).draft
    jobs.run(replay.job_id)
    shown = text_of(client.get(begun.url))
    assert start in shown
    assert f'href="{reverse("workspace", args=[slot.public_id])}"' in shown
    assert "Back to the draft" in shown
    client.force_login(team.annotators[1])
    assert client.get(begun.url).status_code == 404
    assert client.get(start).status_code == 404
    client.force_login(team.administrator)
    assert client.get(begun.url).status_code == 404


def test_the_page_asks_the_database_as_often_however_many_replays_there_are(client: Client, team: Team) -> None:
    dialogue = item_of(team)
    client.force_login(team.annotator)
    start = reverse("dialogue-replay", args=[team.project.slug, dialogue.public_id])
    counts = []
    for number in (1, 2):
        replay = start_replay(
            actor=team.annotator, dialogue=dialogue, revision=dialogue.head, trajectory=f'[{{"final": "{number}"}}]'
        )
        jobs.cancel_job(actor=team.annotator, job=replay.job)
        with CaptureQueriesContext(connection) as asked:
            text_of(client.get(start))
        counts.append(len(asked))
    assert counts[0] == counts[1]
    assert counts[0] < 25


def test_a_dialogue_without_code_has_no_replay(client: Client, team: Team) -> None:
    other = make_dialogue(team.project)
    client.force_login(team.annotator)
    start = reverse("dialogue-replay", args=[team.project.slug, other.public_id])
    assert client.get(start).status_code == 404
    assert start not in text_of(client.get(reverse("dialogue", args=[team.project.slug, other.public_id])))


def test_a_program_starts_a_replay_and_reads_its_result(team: Team) -> None:
    dialogue = item_of(team)
    client = ApiClient(team.annotator)
    path = f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/replays/"
    begun = client.send(path)
    assert (begun.status_code, begun.json()["record"], begun.json()["job"]["state"]) == (202, None, "queued")
    jobs.run(Replay.objects.get().job_id)
    read = client.get(f"{path}{begun.json()['public_id']}/").json()
    assert (read["job"]["state"], read["record"]["solved"], read["is_custom"]) == ("done", "perfectly", False)
    refused = client.send(path, {"trajectory": [{"final": 3}]})
    assert refusal(refused) == (422, "invalid")
    assert refused.json()["details"]["problems"][0]["pointer"] == "/0/final"
    pasted = client.send(path, {"trajectory": {"messages": [{"role": "assistant", "content": "At 21:40."}]}})
    assert pasted.json()["is_custom"]
    other = ApiClient(team.annotators[1])
    assert other.get(f"{path}{begun.json()['public_id']}/").status_code == 200
    assert other.get(f"{path}{pasted.json()['public_id']}/").status_code == 404
