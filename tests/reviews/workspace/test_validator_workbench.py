"""The workbench of a validator: run in a worker, shown to all who may see the draft, required for an approval."""

import itertools
from typing import Any, ClassVar

import pytest
from django.test import Client
from django.urls import reverse

from annotator.core.sandbox.results import Call, CallResult, SandboxUnavailable, Status
from annotator.core.validators import Outcome, Subject, subjects_of
from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Draft, Job, ValidatorTrial
from annotator.services.dialogues import trials
from annotator.services.jobs import jobs
from annotator.services.toolsets.storing import ensure_toolset_revision
from reviews.services.protocols.versions import adopt_preset
from reviews.services.queue.claims import claim_slot
from reviews.services.submission.submit import submit_review
from tests.annotator.case_documents import CODE, END, TOOLS, case, with_constraint
from tests.api_client import ApiClient, refusal
from tests.factories import Team, begin, make_dialogue, make_team, open_slot

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]

LENIENT = "def validate_punctuation(response):\n    return True, ''\n"
STRICT = "def validate_punctuation(response):\n    return response.endswith('!'), 'End with a bang.'\n"


@pytest.fixture
def team() -> Team:
    team = make_team(annotators=3, seniors=1)
    adopt_preset(actor=team.administrator, project=team.project, preset="c3")
    return team


def coded(code: str, text: str = END, **fields: Any) -> dict[str, Any]:
    validator = {"code": code, "function": "validate_punctuation", "good": [], "bad": []} | fields
    return with_constraint("c4", validator=validator, text=text)


def item_of(team: Team, document: dict[str, Any] | None = None) -> Dialogue:
    toolset = ensure_toolset_revision(actor=None, project=team.project, tools=TOOLS, name="ferries")
    dialogue = make_dialogue(team.project, document or case(), toolset=toolset)
    begin(team.project, [dialogue])
    return Dialogue.objects.get(pk=dialogue.pk)


def working(client: Client, team: Team, document: dict[str, Any] | None = None) -> str:
    slot = open_slot(item_of(team, document))
    claim_slot(actor=team.annotator, slot=slot)
    client.force_login(team.annotator)
    return reverse("workspace-validator", args=[slot.public_id, "c4"])


def run_jobs() -> None:
    """As the worker does."""
    for job in Job.objects.filter(state="queued", kind=trials.KIND):
        jobs.run(job.pk)


def text_of(response: Any) -> str:
    assert response.status_code == 200, response.content[:300]
    return str(response.content.decode())


def only(document: dict[str, Any]) -> Subject:
    (subject,) = subjects_of(document)
    return subject


def outcome_of(document: dict[str, Any]) -> Outcome:
    trials.ensure_tried(subjects_of(document))
    return trials.known_outcomes_of(document)[only(document).key]


# --- trials -----------------------------------------------------------------------------------------------------------


def test_an_equal_validator_is_tried_once_and_any_edit_asks_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    assert trials.ensure_tried(subjects_of(case())) == 1
    assert trials.ensure_tried(subjects_of(case())) == 0
    keys = {only(case()).key}
    for changed in (
        coded(CODE + "\n"),
        coded(CODE, good=["It leaves at ten."]),
        coded(CODE, bad=["No"]),
        with_constraint("c4", text="End with a full stop."),
        with_constraint("c4", category="format"),
        case(answer="At ten.", reference_trajectory=None),
    ):
        keys.add(only(changed).key)
    assert len(keys) == 7
    # The id of the constraint decides nothing.
    moved = case()
    moved["constraints"][4]["id"] = "c9"
    assert only(moved).key in keys


def test_a_good_validator_passes_and_its_rows_are_kept_apart() -> None:
    assert outcome_of(case()).passed
    trial = trials.read_trial(only(case()))
    assert trial is not None
    assert trial.row_count == len(trial.matrix.rows) > 5
    reference = trial.matrix.rows[0]
    assert (reference["kind"], reference["accepted"]) == ("reference", True)


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (LENIENT, "accepts every response that breaks"),
        (STRICT, "rejects the reference"),
        ("def validate_punctuation(r):\n    return 'yes'\n", "did not return True or False"),
        ("def validate_punctuation(r):\n    return open('/etc/passwd').read(), ''\n", "used a forbidden operation"),
        ("def validate_punctuation(r):\n    return r.no_such, ''\n", "raised an exception"),
        ("import nowhere\ndef validate_punctuation(r):\n    return True, ''\n", "imports a module"),
    ],
)
def test_each_failure_is_an_error_in_words(code: str, words: str) -> None:
    (first, *_) = outcome_of(coded(code)).errors
    assert words in first


def test_a_form_is_tried_as_code_is() -> None:
    form = {"form": "ends_with", "parameters": {"texts": ["."]}, "good": [], "bad": []}
    assert outcome_of(with_constraint("c4", validator=form)).passed
    wrong = form | {"parameters": {"texts": ["!"]}}
    assert "It rejects the reference." in outcome_of(with_constraint("c4", validator=wrong)).errors


def test_without_a_sandbox_nothing_is_kept_and_nobody_is_blamed(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    class Gone:
        def run(self, *arguments: Any, **options: Any) -> Any:
            raise SandboxUnavailable("It is away.")

    monkeypatch.setattr(trials, "shared_sandbox", Gone)
    job = trials.start_trials(actor=team.annotator, project=team.project, document=case())
    assert job is not None
    done = jobs.run(job.pk)
    assert done.state == "failed"
    assert "This isn’t a problem with the validator" in done.error
    assert not ValidatorTrial.objects.exists()


def test_a_person_has_few_trials_under_way_and_none_twice(team: Team) -> None:
    def start(code: str) -> Job | None:
        return trials.start_trials(actor=team.annotator, project=team.project, document=coded(code))

    first = start(CODE)
    assert start(CODE) == first
    for n in range(trials.MAX_RUNNING - 1):
        start(f"{CODE}# {n}\n")
    with pytest.raises(Conflict, match="trials in progress"):
        start(f"{CODE}# more\n")
    assert trials.start_trials(actor=team.administrator, project=team.project, document=case()) is not None


def test_one_that_always_hangs_is_told_so_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hanging:
        ends: ClassVar = [Status.TIMEOUT_CPU]

        def run(self, source: str, function: str, calls: list[Call]) -> list[CallResult]:
            return [CallResult(status) for _, status in zip(calls, itertools.cycle(self.ends), strict=False)]

    monkeypatch.setattr(trials, "shared_sandbox", Hanging)
    once = "It returns no verdict on any response. The code exceeded the CPU time limit."
    assert outcome_of(case()).errors == (once,)
    # On a busy machine the one endless loop ends by either limit.
    Hanging.ends.append(Status.TIMEOUT_WALL)
    assert outcome_of(coded(f"{CODE}# busy\n")).errors == (f"{once} The code exceeded the time limit.",)


def test_what_hangs_later_is_left_when_the_job_has_had_its_time(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trials, "BUDGET", -1.0)
    job = trials.start_trials(actor=team.annotator, project=team.project, document=case())
    assert job is not None
    assert jobs.run(job.pk).result["left"] == 1
    assert not ValidatorTrial.objects.exists()


# --- checks and submission --------------------------------------------------------------------------------------------


def submit(team: Team, dialogue: Dialogue, document: dict[str, Any] | None = None) -> Any:
    slot = open_slot(dialogue)
    claim = claim_slot(actor=team.annotator, slot=slot)
    return submit_review(actor=team.annotator, slot=slot, token=claim.token, document=document)


def test_what_was_not_tried_is_tried_at_submission_and_then_passes(team: Team) -> None:
    dialogue = item_of(team)
    with pytest.raises(Invalid, match="being tried") as refused:
        submit(team, dialogue)
    assert refused.value.details["findings"][0]["check"] == "validator.untried"
    untried = dialogue.findings.filter(check_id="validator.untried")
    assert untried.exists()
    run_jobs()
    assert submit(team, dialogue).verdict == "approve"
    # The page of the dialogue says so no more.
    assert not untried.exists()


def test_what_fails_its_matrix_cannot_be_approved(team: Team) -> None:
    dialogue = item_of(team)
    document = coded(LENIENT)
    trials.ensure_tried(subjects_of(document))
    with pytest.raises(Invalid, match="accepts every response that breaks") as refused:
        submit(team, dialogue, document)
    assert {one["check"] for one in refused.value.details["findings"]} == {"validator.matrix"}
    trials.ensure_tried(subjects_of(case()))
    assert submit(team, dialogue).verdict == "approve"


# --- the page ---------------------------------------------------------------------------------------------------------


def test_a_faulty_validator_is_tried_mended_and_passes(client: Client, team: Team) -> None:
    url = working(client, team, coded(LENIENT, "End with a full stop."))
    page = text_of(client.get(url))
    assert "Not tried" in page
    started = client.post(url, {"do": "try"})
    assert started.status_code == 302
    assert "?job=" in started.url
    assert "Queued" in text_of(client.get(started.url))
    run_jobs()
    page = text_of(client.get(started.url))
    for words in ("Trial failed", "accepts every response that breaks", "Too lenient", "With another ending"):
        assert words in page
    started = client.post(url, {"do": "code", "text": CODE, "function": "validate_punctuation", "then": "try"})
    run_jobs()
    page = text_of(client.get(started.url))
    assert "Trial passed" in page
    assert "Trial failed" not in page
    assert "gives the same result as" in page
    client.post(url, {"do": "use", "form": "ends_with", "then": "try"})
    validator = Draft.objects.get().document()["constraints"][4]["validator"]
    assert (validator["form"], validator["parameters"], validator["code"]) == ("ends_with", {"texts": ["."]}, None)
    assert "Convert to code" in text_of(client.get(url))
    client.post(url, {"do": "to_code"})
    assert "def ends_with" in Draft.objects.get().document()["constraints"][4]["validator"]["code"]


def test_the_polled_part_is_the_job_until_it_has_ended(client: Client, team: Team) -> None:
    url = working(client, team)
    started = client.post(url, {"do": "try"})
    job = Job.objects.get(kind=trials.KIND)
    headers = {"HX-Request": "true", "HX-Target": f"job-{job.public_id}"}
    part = text_of(client.get(started.url.partition("#")[0], headers=headers))
    assert "<html" not in part
    assert f'id="job-{job.public_id}"' in part
    run_jobs()
    assert client.get(started.url.partition("#")[0], headers=headers).headers["HX-Refresh"] == "true"


def test_a_typed_text_is_judged_and_kept_as_an_example(client: Client, team: Team) -> None:
    url = working(client, team)
    started = client.post(url, {"do": "text", "text": "No stop\r\nat all"})
    run_jobs()
    page = text_of(client.get(started.url))
    assert "No stop at all" in page
    assert "Rejects" in page.partition('id="typed"')[2]
    assert client.post(url, {"do": "keep", "as": "bad", "text": "No stop\r\nat all"}).status_code == 302
    validator = Draft.objects.get().document()["constraints"][4]["validator"]
    assert validator["bad"] == ["No stop\nat all"]
    assert client.post(url, {"do": "keep", "as": "good", "text": "No stop\nat all"}).status_code == 422
    assert client.post(url, {"do": "keep", "as": "good", "row": "lengthen"}).status_code == 302
    assert len(Draft.objects.get().document()["constraints"][4]["validator"]["good"]) == 1
    assert client.post(url, {"do": "drop", "as": "bad", "index": "0"}).status_code == 302
    assert client.post(url, {"do": "drop", "as": "bad", "index": "0"}).status_code == 409


@pytest.mark.parametrize("form", ["json_object", "contains", "table", "markdown", "language", "words", "date", "case"])
def test_every_kind_of_form_has_typed_fields(client: Client, team: Team, form: str) -> None:
    url = working(client, team)
    page = text_of(client.get(url, {"form": form}))
    assert "Use and try" in page
    posted = {
        "do": "form",
        "form": form,
        "p:/texts": "a\r\nb",
        "p:/elements": "",
        "p:/elements/1": "list",
        "p:/keys": "x",
        "p:/at_least": "2",
    }
    posted |= {
        "p:/language": "en",
        "p:/case": "upper",
        "p:/columns": "",
        "p:/rows_at_least": "1",
        "p:/form": "March 2026",
    }
    response = client.post(url, posted)
    assert response.status_code == 302, response.content.decode()[:2000]
    assert Draft.objects.get().document()["constraints"][4]["validator"]["form"] == form


def test_a_form_that_is_refused_keeps_what_was_typed_and_says_at_its_field_what_is_wrong(
    client: Client, team: Team
) -> None:
    url = working(client, team)
    posted = {"do": "form", "form": "table", "p:/columns": f"tide\n{'x' * 501}", "p:/rows_at_least": "-7"}
    response = client.post(url, posted)
    fields = {field.path: field for field in response.context["fields"]}
    assert response.status_code == 422
    assert fields["/columns"].value == posted["p:/columns"]
    assert fields["/rows_at_least"].value == "-7"
    assert "500" in fields["/columns"].error
    assert fields["/rows_at_least"].error
    assert fields["/columns"].error in response.content.decode()


@pytest.mark.parametrize(
    ("code", "function", "words"),
    [
        ("def broken(:\n", "f", "cannot be read as Python"),
        ("def check(response):\n    return True, ''\n", "validate", "validate"),
        ("x = 1\n", "", "Choose the function"),
    ],
)
def test_code_that_cannot_be_tried_is_saved_and_goes_on_from_there(
    client: Client, team: Team, code: str, function: str, words: str
) -> None:
    url = working(client, team)
    sent = {"do": "code", "then": "try", "function": function}
    saved = client.post(url, sent | {"text": code, "seen": "0"}, follow=True)
    page = text_of(saved)
    assert "Saved, but not tried:" in page
    assert words in page
    draft = Draft.objects.get()
    assert draft.document()["constraints"][4]["validator"]["code"] == code
    # The fix is made on the current page: nobody else has changed anything.
    assert f'name="seen" value="{draft.version}"' in page
    mended = client.post(url, sent | {"text": CODE, "function": "validate_punctuation", "seen": str(draft.version)})
    assert "?job=" in mended.headers["Location"]


def test_an_edit_whose_trial_is_refused_is_not_a_conflict_with_itself(
    client: Client, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    def too_many(**_: Any) -> None:
        raise Conflict("You have too many trials under way.")

    url = working(client, team)
    monkeypatch.setattr(trials, "start_trials", too_many)
    sent = {"do": "code", "text": CODE, "function": "validate_punctuation"}
    refused = client.post(url, sent | {"then": "try", "seen": "0"})
    assert refused.status_code == 409
    version = str(Draft.objects.get().version)
    assert f'name="seen" value="{version}"' in refused.content.decode()
    assert client.post(url, sent | {"text": LENIENT, "seen": version}).status_code == 302


def test_what_cannot_be_done_is_said_beside_what_was_typed(client: Client, team: Team) -> None:
    url = working(client, team)
    assert client.post(url, {"do": "words", "form": "words"}).status_code == 422
    assert client.post(url, {"do": "form", "form": "words", "p:/at_least": "many"}).status_code == 422
    assert client.post(url, {"do": "code", "text": CODE, "function": "f", "seen": "77"}).status_code in (302, 409)
    assert client.get(url.replace("/c4/", "/c99/")).status_code == 404


@pytest.mark.parametrize(
    ("posted", "words"),
    [
        ({"do": "drop", "as": "good", "index": "1" * 5000}, "already been removed"),
        ({"do": "keep", "as": "bad", "text": "x" * 20_001}, "20,001 characters; at most 20,000"),
        ({"do": "form", "form": "words", "p:/at_least": "9", "p:/at_most": "3"}, "contradict each other"),
    ],
)
def test_what_makes_no_sense_is_refused(client: Client, team: Team, posted: dict[str, str], words: str) -> None:
    response = client.post(working(client, team, coded(CODE)), {**posted, "seen": "0"})
    assert response.status_code in (409, 422)
    assert words in response.content.decode()


@pytest.mark.parametrize(("do", "field"), [("text", "typed-text"), ("keep", "example-text")])
def test_a_response_that_is_refused_stays_in_its_field(client: Client, team: Team, do: str, field: str) -> None:
    sent = {"do": do, "as": "bad", "text": "Mine. " * 5_000, "seen": "0"}
    refused = client.post(working(client, team, coded(CODE)), sent)
    assert refused.status_code == 422
    holders = [part for part in refused.content.decode().split("</textarea>") if "Mine. Mine. " in part]
    assert [f'id="{field}"' in part.rpartition("<textarea")[2] for part in holders] == [True]


def test_nothing_is_run_in_a_web_process(client: Client, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*arguments: Any) -> Any:
        raise AssertionError("a page ran code")

    monkeypatch.setattr(trials, "shared_sandbox", never)
    url = working(client, team)
    for posted in ({"do": "try"}, {"do": "text", "text": "x"}, {"do": "keep", "as": "bad", "row": "empty"}):
        assert client.post(url, posted).status_code == 302
        text_of(client.get(url))


def test_nobody_sees_anothers_draft_or_trial(client: Client, team: Team) -> None:
    url = working(client, team, coded(LENIENT))
    started = client.post(url, {"do": "text", "text": "A secret text"})
    run_jobs()
    assert "A secret text" in text_of(client.get(started.url))
    job = started.url.partition("job=")[2].partition("#")[0]
    dialogue = Dialogue.objects.get()
    for person in (team.annotators[1], team.senior, team.administrator):
        client.force_login(person)
        assert client.get(url).status_code in (404, 409)
        read = reverse("validator", args=[team.project.slug, dialogue.public_id, "c4"])
        page = text_of(client.get(read, {"job": job}))
        assert "A secret text" not in page
        assert "Save and try" not in page
        assert client.post(read, {"do": "try"}).status_code == 405


def test_the_read_only_page_shows_a_revisions_trial(client: Client, team: Team) -> None:
    dialogue = item_of(team)
    trials.ensure_tried(subjects_of(case()))
    client.force_login(team.annotators[1])
    read = reverse("validator", args=[team.project.slug, dialogue.public_id, "c4"])
    page = text_of(client.get(read, {"revision": dialogue.head.public_id}))
    assert "Trial passed" in page
    assert END in page
    home = text_of(client.get(reverse("dialogue", args=[team.project.slug, dialogue.public_id])))
    assert 'href="validators/c4/"' in home


def test_links_lead_there_from_the_work_page_and_from_findings(client: Client, team: Team) -> None:
    url = working(client, team)
    work = url.partition("validators/")[0]
    page = text_of(client.get(work, {"panel": "findings"}))
    assert page.count(f'href="{url}"') == 2
    assert f'href="{url}"' in text_of(client.get(f"{work}submit/", {"verdict": "approve"}))


# --- over HTTP --------------------------------------------------------------------------------------------------------


def test_a_program_starts_a_trial_reads_it_and_its_matrix(team: Team) -> None:
    dialogue = item_of(team, coded(LENIENT))
    path = f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/"
    client = ApiClient(team.annotator)
    matrix = f"{path}validators/c4/"
    assert client.get(matrix).json()["outcome"]["tried"] is False
    begun = client.send(f"{path}trials/", {"constraint": "c4", "responses": ["No stop "]})
    assert (begun.status_code, begun.json()["job"]["state"]) == (202, "queued")
    assert begun.json()["validators"][0]["tried"] is False
    run_jobs()
    read = client.get(f"{path}trials/{begun.json()['public_id']}/").json()
    assert (read["job"]["state"], read["left"]) == ("done", 0)
    (outcome,) = read["validators"]
    assert (outcome["constraint"], outcome["validator"], outcome["tried"]) == ("c4", "code", True)
    assert "accepts every response that breaks" in outcome["errors"][0]
    assert [(one["text"], one["accepted"]) for one in read["responses"]] == [("No stop ", True)]
    seen = client.get(matrix, {"revision": dialogue.head.public_id}).json()
    assert seen["outcome"] == outcome
    assert {"reference", "own"} <= {row["kind"] for row in seen["rows"]}
    # A known validator is not tried again.
    again = client.send(f"{path}trials/")
    assert (again.status_code, again.json()["public_id"], again.json()["validators"]) == (200, None, [outcome])
    colleague = ApiClient(team.annotators[1])
    assert colleague.get(matrix).json() == seen
    assert colleague.get(f"{path}trials/{begun.json()['public_id']}/").status_code == 404
    other = item_of(team)
    elsewhere = f"/api/projects/{team.project.slug}/dialogues/{other.public_id}/trials/{begun.json()['public_id']}/"
    assert client.get(elsewhere).status_code == 404


def test_a_program_is_told_why_nothing_is_tried(team: Team) -> None:
    dialogue = item_of(team, coded("def broken(:\n"))
    path = f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/"
    client = ApiClient(team.annotator)
    for body, words in (
        ({}, "no validator that can be tried"),
        ({"constraint": "c4"}, "cannot be read as Python"),
        ({"constraint": "c0"}, "no validator yet"),
        ({"constraint": "c99"}, "has no constraint “c99”"),
        ({"responses": ["x"]}, "Choose the constraint"),
    ):
        refused = client.send(f"{path}trials/", body)
        assert refusal(refused) == (422, "invalid")
        assert words in refused.json()["sentence"]
    assert refusal(client.send(f"{path}trials/", {"responses": "x"}))[0] == 400
    assert "cannot be read as Python" in client.get(f"{path}validators/c4/").json()["why_not"]
    assert client.get(f"{path}validators/c99/").status_code == 404
    assert client.send(f"{path}trials/", {"revision": "none"}).status_code == 404
    assert not Job.objects.filter(kind=trials.KIND).exists()
