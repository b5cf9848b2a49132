"""Human baselines: who may answer, what is stored, and that the answers are scored like a model's."""

import json

import pytest
from django.test import Client
from django.urls import reverse

from annotator.errors import Conflict, Denied, Hidden, Invalid
from annotator.models import Job, JobState, Notice
from annotator.services.jobs import jobs
from benchmark.models import BaselineEntry, Inference, InferenceReply, Run
from benchmark.services.inference import baselines, requests
from benchmark.services.inference.options import Options
from tests.benchmark.conftest import make_verified, run_release
from tests.factories import make_user
from tests.racing import lost, race

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.any_database]


@pytest.fixture
def release(team):
    for name in ("weather-1", "weather-2"):
        make_verified(team, name)
    return run_release(team, native_format="wild")


@pytest.fixture
def person(team):
    return team.annotators[0]


@pytest.fixture
def baseline(team, release, person):
    """A baseline whose entries are prepared."""
    found = baselines.start_baseline(
        actor=team.administrator, release=release, person=person, family="wild", wake_worker=False
    )
    jobs.run(found.job_id)
    return fresh(found)


@pytest.fixture
def answer(person):
    """Send a reply to the current entry, and let a worker process it: ``answer(baseline, text, *calls)``."""

    def send(baseline, text="", *calls, run=True, **more):
        entry = baselines.next_entry(baseline)
        given = {"actor": person, "place": entry.place, "number": entry.number} | more
        baselines.send_reply(inference=baseline, text=text, calls=calls, wake_worker=False, **given)
        entry.refresh_from_db()
        if run:
            jobs.run(entry.job_id)
        return fresh(baseline)

    return send


def fresh(baseline):
    return Inference.objects.select_related("job", "predictions__job", "release__project").get(pk=baseline.pk)


def solve(baseline, answer):
    """Answer everything as the references do: their call, then a text."""
    tasks = [
        task for item in baseline.release.items.select_related("revision") for task in item.revision.document()["tasks"]
    ]
    steps = {task["user_message"]: task["steps"][0] for task in tasks}
    while (entry := baselines.next_entry(baseline)) is not None:
        last = entry.ask["messages"][-1]
        if last["role"] == "tool":
            baseline = answer(baseline, "It is sunny.")
        else:
            step = steps[last["content"]]
            baseline = answer(baseline, "", (step["name"], json.dumps(step["arguments"])))
    jobs.run(baseline.job_id)
    baseline = fresh(baseline)
    jobs.run(baseline.predictions.job_id)
    return fresh(baseline)


def test_a_person_s_answers_are_scored_like_a_model_s(team, release, baseline, answer, person):
    assert (baseline.total, baseline.done, baseline.waits) == (baseline.entries.count(), 0, True)
    assert Notice.objects.get(person=person).target == reverse(
        "baseline", args=[team.project.slug, baseline.public_id]
    )  # fmt: skip
    baseline = solve(baseline, answer)
    run = Run.objects.get()
    scores = run.score_sets.get()
    assert (run.model, run.provider, run.complete, run.tokens) == ("Human baseline", "", True, None)
    assert scores.entries == scores.right == baseline.total
    assert baseline.replies.count() == baseline.requests == 2 * baseline.total
    assert list(baselines.list_open(person=person, project=team.project)) == []
    # Jobs that only let a conversation go on are not announced.
    assert not Notice.objects.filter(person=person, kind="job").exists()


def test_only_a_member_can_be_asked_and_only_by_an_administrator(team, release, person):
    same = {"release": release, "family": "wild", "wake_worker": False}
    for actor in (person, team.senior):
        with pytest.raises(Denied):
            baselines.start_baseline(actor=actor, person=person, **same)
    with pytest.raises(Invalid, match="not a member"):
        baselines.start_baseline(actor=team.administrator, person=make_user("stranger"), **same)
    with pytest.raises(Invalid, match="scored as cctu"):
        baselines.start_baseline(actor=team.administrator, person=person, **same | {"family": "cctu"})
    assert not Inference.objects.exists()


def test_only_the_person_sees_and_answers_the_entries(team, baseline):
    for actor in (team.administrator, team.annotators[1]):
        with pytest.raises(Hidden):
            baselines.load_baseline(actor=actor, project=team.project, public_id=baseline.public_id)
        with pytest.raises(Hidden):
            baselines.send_reply(actor=actor, inference=baseline, place=1, number=0, text="Hi", calls=[])


@pytest.mark.parametrize(
    ("text", "calls", "sentence"),
    [
        ("  ", [], "Call a tool, or write"),
        ("a\0b", [], "no NUL"),
        ("x" * 100_001, [], "100,000 characters"),
        ("", [("find", "{city}")], "arguments of call 1 must be a JSON object"),
        ("", [("find", "{}"), ("find", "[]")], "arguments of call 2 must be a JSON object"),
        ("", [("find", "[" * 90_000)], "arguments of call 1"),
        ("", [("find", "{}")], "There is no tool find here."),
    ],
)
def test_a_reply_that_says_nothing_is_refused(baseline, person, text, calls, sentence):
    with pytest.raises(Invalid, match=sentence):
        baselines.send_reply(actor=person, inference=baseline, place=1, number=0, text=text, calls=calls)
    assert not InferenceReply.objects.exists()


@pytest.mark.parametrize("arguments", [r'{"city": "\u0000"}', "{}", ""])
def test_strange_arguments_are_kept_as_they_are(baseline, answer, arguments):
    name = baselines.next_entry(baseline).ask["tools"][0]["function"]["name"]
    answer(baseline, "", (name, arguments))
    said = InferenceReply.objects.get().message["tool_calls"][0]["function"]["arguments"]
    assert said == (arguments or "{}")


def test_a_reply_is_sent_once(baseline, answer, person):
    answer(baseline, "No.", run=False)
    with pytest.raises(Conflict, match="sent already"):
        answer(baseline, "Yes.", run=False)
    assert [one.message["content"] for one in InferenceReply.objects.all()] == ["No."]


@pytest.mark.postgres
def test_of_two_windows_one_sends_the_reply(baseline, person):
    def send():
        baselines.send_reply(
            actor=person, inference=fresh(baseline), place=1, number=0, text="No.", calls=[], wake_worker=False
        )

    assert [str(one) for one in lost(race(send, send))] == ["This reply was sent already, perhaps from another window."]
    assert InferenceReply.objects.count() == 1


def test_a_reply_that_could_not_be_processed_is_processed_again(baseline, answer, person, monkeypatch):
    answer(baseline, "No.", run=False)
    entry = baselines.next_entry(baseline)
    with monkeypatch.context() as patched:
        patched.setattr(baselines, "planned_units", lambda *_: (_ for _ in ()).throw(Conflict("The disk is full.")))
        jobs.run(entry.job_id)
    entry.refresh_from_db()
    assert (entry.state, entry.job.state) == ("sent", JobState.FAILED)
    baselines.process_again(actor=person, inference=baseline, place=entry.place)
    entry.refresh_from_db()
    jobs.run(entry.job_id)
    assert fresh(baseline).done == 1
    # What has ended stays so.
    count = Job.objects.count()
    baselines.process_again(actor=person, inference=baseline, place=entry.place)
    assert Job.objects.count() == count


def test_scoring_that_failed_can_be_continued_by_an_administrator(team, baseline, answer, monkeypatch):
    while baselines.next_entry(baseline) is not None:
        baseline = answer(baseline, "No.")
    with monkeypatch.context() as patched:
        patched.setattr(baselines, "score_answers", lambda *_: (_ for _ in ()).throw(Conflict("The disk is full.")))
        jobs.run(baseline.job_id)
    baseline = requests.continue_inference(actor=team.administrator, inference=baseline, wake_worker=False)
    jobs.run(baseline.job_id)
    assert fresh(baseline).predictions is not None


def test_a_release_with_too_many_entries_says_so(team, release, person, monkeypatch):
    monkeypatch.setattr(baselines, "MAX_ENTRIES", 1)
    start = {"actor": team.administrator, "release": release, "person": person, "family": "wild", "wake_worker": False}
    found = baselines.start_baseline(**start)
    jobs.run(found.job_id)
    assert "choose fewer" in str(fresh(found).job.error)
    # The page stops asking whether the entries are ready.
    browser = Client(headers={"HX-Request": "true", "HX-Target": "baseline-wait"})
    browser.force_login(person)
    poll = browser.get(reverse("baseline", args=[team.project.slug, found.public_id]))
    assert poll.headers["HX-Refresh"] == "true"
    found = baselines.start_baseline(**start, options=Options(limit=1))
    jobs.run(found.job_id)
    assert fresh(found).total == BaselineEntry.objects.count() == 1


def test_the_pages(team, release, person):
    admin, browser = Client(), Client()
    admin.force_login(team.administrator)
    browser.force_login(person)
    start = reverse("baseline-start", args=[team.project.slug, release.public_id])
    assert browser.get(start).status_code == 403
    assert admin.post(start, {"person": "nobody", "family": "wild", "history": "calls"}).status_code == 422
    begun = admin.post(start, {"person": person.public_id, "family": "wild", "history": "calls", "limit": "1"})
    assert begun.status_code == 302
    found = Inference.objects.get()
    page = reverse("baseline", args=[team.project.slug, found.public_id])
    assert "being prepared" in browser.get(page).content.decode()
    jobs.run(found.job_id)
    assert (
        "being answered"
        in admin.get(reverse("score-board", args=[team.project.slug, release.public_id])).content.decode()
    )
    assert admin.get(page).status_code == 404
    assert page in browser.get(reverse("release-list", args=[team.project.slug])).content.decode()
    html = browser.get(page).content.decode()
    assert "Entry 1" in html
    assert 'name="arguments" id="arguments-0"' in html
    more = browser.post(page, {"add": "1", "tool": ["get_weather"], "arguments": ["{oops"], "text": "I <b>look</b>."})
    assert 'id="arguments-1"' in more.content.decode()
    assert "{oops" in more.content.decode()
    bad = {"send": "1", "place": "1", "number": "0", "tool": ["x"], "arguments": ["{oops"], "text": "I <b>look</b>."}
    refused = browser.post(page, bad)
    assert refused.status_code == 422
    assert "must be a JSON object" in refused.content.decode()
    assert "I &lt;b&gt;look&lt;/b&gt;." in refused.content.decode()
    assert browser.post(page, bad | {"place": "x"}).status_code == 404
    assert browser.post(page, bad | {"tool": [""], "arguments": [""]}).status_code == 302
    assert "being processed" in browser.get(page).content.decode()
    for job in Job.objects.filter(state=JobState.QUEUED):
        jobs.run(job.pk)
    inference = admin.get(reverse("inference", args=[team.project.slug, found.public_id])).content.decode()
    assert "1 / " in inference
