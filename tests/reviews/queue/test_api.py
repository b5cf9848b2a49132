"""Status, claim, submit, heartbeat, release and skip, as a program uses them."""

from copy import deepcopy
from typing import Any

import pytest
from django.test import Client

from annotator.models import Dialogue, Revision, Waiver
from reviews.models import Claim, ClaimState, Review, Slot, SlotState
from tests.api_client import ApiClient, refusal
from tests.factories import Team, begin, broken, changed, make_dialogue, make_document

pytestmark = pytest.mark.django_db
TEAM = {"annotators": 4}


@pytest.fixture
def dialogue(team: Team) -> Dialogue:
    return begin(team.project, [make_dialogue(team.project, make_document("one", tasks=2))])[0]


def claim(team: Team, person: Any, **body: Any) -> dict[str, Any]:
    """Return the person's next work."""
    response = ApiClient(person).send(f"/api/projects/{team.project.slug}/claims/", body)
    assert response.status_code == 201, response.content
    answer: dict[str, Any] = response.json()
    return answer


def submit(person: Any, work: dict[str, Any], **body: Any) -> Any:
    """Submit a review of it."""
    body = {"token": work["token"], "verdict": "approve"} | body
    return ApiClient(person).send(f"/api/work/{work['slot']}/submit/", body)


def reviews_of(person: Any, dialogue: Dialogue) -> list[dict[str, Any]]:
    """The dialogue's reviews that the person may see."""
    path = f"/api/projects/{dialogue.project.slug}/dialogues/{dialogue.public_id}/reviews/"
    found: list[dict[str, Any]] = ApiClient(person).get(path).json()["results"]
    return found


def to_cross_check(team: Team, dialogue: Dialogue) -> None:
    """Take the dialogue through both self-checks of its author, the first annotator."""
    for _ in range(2):
        assert submit(team.annotator, claim(team, team.annotator)).status_code == 201


def test_a_claim_brings_all_it_takes_to_review(team: Team, dialogue: Dialogue) -> None:
    work = claim(team, team.annotator)
    assert work["dialogue"] == {"public_id": dialogue.public_id, "external_id": dialogue.external_id}
    assert work["document"] == make_document("one", tasks=2)
    assert work["tools"][0]["function"]["name"] == "get_weather"
    assert work["revision"]["content_hash"] == dialogue.content_hash
    stage = work["stage"]
    assert stage["key"] == "self_check_single"
    assert stage["kind"] == "self_check"
    assert stage["blind"] is False
    assert stage["verdicts"] == ["approve", "fix", "reject", "escalate"]
    assert {"key", "text", "per_task", "applies", "required"} == set(stage["checklist"][0])
    held = Claim.objects.get(token=work["token"])
    assert held.person == team.annotator
    assert held.slot.public_id == work["slot"]
    assert work["expires_at"].endswith("Z")


def test_who_claims_again_gets_the_same_item(team: Team, dialogue: Dialogue) -> None:
    first, second = claim(team, team.annotator), claim(team, team.annotator)
    assert first["slot"] == second["slot"]
    assert first["token"] == second["token"]


def test_nothing_waits(team: Team) -> None:
    response = ApiClient(team.annotator).send(f"/api/projects/{team.project.slug}/claims/")
    assert response.status_code == 204
    assert response.content == b""


def test_claiming_a_certain_stage(team: Team, dialogue: Dialogue) -> None:
    client, path = ApiClient(team.annotator), f"/api/projects/{team.project.slug}/claims/"
    assert client.send(path, {"stage": "cross_check"}).status_code == 204
    assert refusal(client.send(path, {"stage": "nonsense"})) == (422, "invalid")
    assert refusal(client.send(path, {"stage": "expert"})) == (403, "denied")
    assert client.send(path, {"stage": "self_check_single"}).status_code == 201


def test_an_administrator_alone_has_no_work_and_an_outsider_no_project(team: Team, dialogue: Dialogue) -> None:
    path = f"/api/projects/{team.project.slug}/claims/"
    assert ApiClient(team.administrator).send(path).status_code == 204
    hidden, missing = ApiClient(team.outsider).send(path), ApiClient(team.outsider).send("/api/projects/none/claims/")
    assert refusal(hidden) == (404, "not_found")
    assert hidden.content == missing.content
    assert not Claim.objects.exists()


def test_an_approval_goes_on_to_the_next_stage(team: Team, dialogue: Dialogue) -> None:
    work = claim(team, team.annotator)
    answers = {"t1": {"relevance": True, "facts": None}, "dialogue": {"variety": True}}
    response = submit(team.annotator, work, checklist=answers)
    assert response.status_code == 201, response.content
    assert response.json()["verdict"] == "approve"
    (review,) = reviews_of(team.annotator, dialogue)
    assert review["public_id"] == response.json()["public_id"]
    assert review["person"] == team.annotator.public_id
    assert review["stage"] == "self_check_single"
    assert review["made_revision"] is None
    assert review["checklist"] == answers
    assert review["labels"]["t1"] == {"policy": "single_tool", "information": "explicit"}
    dialogue.refresh_from_db()
    assert dialogue.stage == "self_check_multi"
    assert dialogue.owner == team.annotator


def test_a_whole_document_is_a_fix(team: Team, dialogue: Dialogue) -> None:
    work = claim(team, team.annotator)
    fixed = changed(work["document"], "Clear, 18 degrees.")
    response = submit(
        team.annotator, work, verdict="fix", document=fixed, reason="The answer was stiff.",
        named_errors=[{"kind": "answer_wrong", "anchor": "/tasks/t1/steps/s1/text", "note": "Too long"}],
    )  # fmt: skip
    assert response.status_code == 201, response.content
    review = response.json()
    made = Revision.objects.get(public_id=review["made_revision"])
    assert made.document() == fixed
    assert made.author == team.annotator
    (finding,) = reviews_of(team.senior, dialogue)[0]["named_errors"]
    assert (finding["kind"], finding["note"]) == ("answer_wrong", "Too long")
    dialogue.refresh_from_db()
    assert dialogue.head == made


def test_a_checklist_may_speak_of_a_task_that_the_review_takes_out_or_adds(team: Team, dialogue: Dialogue) -> None:
    work = claim(team, team.annotator)
    shorter = work["document"] | {"tasks": [work["document"]["tasks"][0]]}
    answers = {"t1": {"relevance": True}, "t2": {"relevance": True}}
    assert submit(team.annotator, work, verdict="fix", document=shorter, checklist=answers).status_code == 201
    assert Review.objects.get().checklist == {"t1": {"relevance": True}}
    work = claim(team, team.annotator)
    document = make_document("one", tasks=2)
    assert (
        submit(team.annotator, work, verdict="fix", document=document, checklist=answers | {"t3": {}}).status_code
        == 422
    )
    assert (
        submit(
            team.annotator, work, verdict="fix", document=document, checklist={"t2": {"completion": True}}
        ).status_code
        == 201
    )


def test_handing_in_twice_gives_the_same_review(team: Team, dialogue: Dialogue) -> None:
    work = claim(team, team.annotator)
    first, second = submit(team.annotator, work), submit(team.annotator, work)
    assert (first.status_code, second.status_code) == (201, 201)
    assert first.json() == second.json()
    assert Review.objects.count() == 1


@pytest.mark.parametrize(
    "other",
    [
        {"verdict": "reject", "reason": "The answer is wrong."},
        {"verdict": "fix"},
        {"reason": "Looks good."},
        {"checklist": {"dialogue": {"coherence": True}}},
        {"named_errors": [{"kind": "answer_wrong", "anchor": "", "note": ""}]},
    ],
)
def test_what_differs_from_the_review_that_is_stored_is_never_dropped_in_silence(
    client: Client, team: Team, dialogue: Dialogue, other: dict[str, Any]
) -> None:
    work = claim(team, team.annotator)
    first = submit(team.annotator, work).json()
    if other.get("verdict") == "fix":
        other = other | {"document": changed(work["document"], "Clear, 18 degrees.")}
    response = submit(team.annotator, work, **other)
    assert refusal(response) == (409, "conflict")
    assert "“Approve”" in response.json()["sentence"]
    stored = response.json()["details"]["review"]
    assert (stored["public_id"], stored["verdict"], stored["reason"]) == (first["public_id"], "approve", "")
    assert Review.objects.get().verdict == "approve"
    client.force_login(team.annotator)
    page = client.post(f"/work/{work['slot']}/submit/", {"verdict": "reject", "reason": "No."})
    assert (page.status_code, "with the verdict “Approve”" in page.content.decode()) == (409, True)


def test_a_repeated_fix_is_the_same_only_with_the_same_document(team: Team, dialogue: Dialogue) -> None:
    """The order of fields means nothing; the kind of a number and every character do."""
    work = claim(team, team.annotator)
    document = changed(work["document"], "Clear, 18 degrees.")
    document["extra"] = {"a": 1, "b": 0.1}
    first = submit(team.annotator, work, verdict="fix", document=document)
    assert first.status_code == 201, first.content
    turned = dict(reversed(document.items())) | {"extra": {"b": 0.1, "a": 1}}
    again = submit(team.annotator, work, verdict="fix", document=turned)
    assert (again.status_code, again.json()) == (201, first.json())
    for other in (
        document | {"extra": {"a": 1.0, "b": 0.1}},
        document | {"extra": {"a": True, "b": 0.1}},
        document | {"extra": {"a": 1, "b": 0.10000000000000002}},
        changed(document, "Clear, 19 degrees."),
        {"kind": "multi_turn"},
    ):
        assert refusal(submit(team.annotator, work, verdict="fix", document=other)) == (409, "conflict")
    assert refusal(submit(team.annotator, work, verdict="fix")) == (409, "conflict")
    assert Review.objects.count() == 1
    assert Revision.objects.filter(dialogue=dialogue).count() == 2


def test_errors_block_an_approval_and_are_listed(team: Team) -> None:
    begin(team.project, [make_dialogue(team.project, broken(make_document()))])
    work = claim(team, team.annotator)
    response = submit(team.annotator, work)
    assert refusal(response) == (422, "invalid")
    assert {"schema.unknown_argument", "schema.missing_argument"} <= {
        finding["check"] for finding in response.json()["details"]["findings"]
    }
    assert not Review.objects.exists()
    assert Slot.objects.get(public_id=work["slot"]).state == SlotState.CLAIMED


@pytest.mark.any_database
@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"verdict": "reject"}, 422),
        ({"verdict": "fix"}, 422),
        ({"verdict": "escalate", "reason": "  "}, 422),
        ({"verdict": "perhaps"}, 400),
        ({"verdict": None}, 400),
        ({"verdict": ["approve"]}, 400),
        ({"verdict": {"a": 1}}, 400),
        ({"verdict": True}, 400),
        ({"token": 5}, 400),
        ({"token": ""}, 400),
        ({"token": None}, 400),
        ({"token": "x" * 41}, 400),
        ({"surprise": 1}, 400),
        ({"checklist": []}, 400),
        ({"checklist": {"t1": []}}, 400),
        ({"checklist": {"t1": {"relevance": "yes"}}}, 400),
        ({"checklist": {"t1": {"relevance": 1}}}, 400),
        ({"checklist": {"t1": {"nonsense": True}}}, 422),
        ({"checklist": {"t1": {"relevance": False}}}, 422),
        ({"checklist": {"T1": {"relevance": True}}}, 422),
        ({"checklist_notes": {"t9": {"relevance": "It is about trains."}}}, 422),
        ({"checklist": {str(n): {} for n in range(501)}}, 400),
        ({"checklist": None}, 400),
        ({"named_errors": {}}, 400),
        ({"named_errors": [1]}, 400),
        ({"named_errors": [{}]}, 400),
        ({"named_errors": [{"kind": "nonsense"}]}, 422),
        ({"named_errors": [{"kind": "other", "anchor": "/tasks/t9"}]}, 422),
        ({"named_errors": [{"kind": "other", "anchor": "no anchor"}]}, 422),
        ({"named_errors": [{"kind": "other", "anchor": ["x"]}]}, 400),
        ({"named_errors": [{"kind": "other", "note": "x" * 1001}]}, 400),
        ({"named_errors": [{"kind": "other"}] * 501}, 400),
        ({"named_errors": [{"kind": "other"}] * 201}, 422),
        ({"reason": "x" * 4001}, 400),
        ({"reason": 5}, 400),
        ({"rulings": []}, 400),
        ({"rulings": {"/tasks/t1": 1}}, 400),
        ({"rulings": {"/tasks/t1": {"choice": "middle", "reason_kind": "other"}}}, 400),
        ({"rulings": {"/tasks/t1": {"choice": "left", "reason_kind": "other"}}}, 422),
        ({"document": []}, 400),
        ({"document": "text"}, 400),
        ({"document": None}, 400),
        ({"document": {}}, 422),
        ({"document": {"kind": "multi_turn"}}, 422),
        ({"document": {"kind": ["multi_turn"]}}, 422),
        ({"document": {"kind": {}}}, 422),
        ({"document": {"kind": "multi_turn", "tasks": {}}}, 422),
        ({"document": {"kind": "multi_turn", "tasks": []}}, 422),
        ({"document": {"kind": "multi_turn", "tasks": [None]}}, 422),
        ({"document": {"kind": "multi_turn", "tasks": [{"id": "t1", "user_message": 5}]}}, 422),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    team: Team, dialogue: Dialogue, body: dict[str, Any], status: int
) -> None:
    work = claim(team, team.annotator)
    response = submit(team.annotator, work, **body)
    assert refusal(response)[0] == status, response.content
    assert not Review.objects.exists()
    assert Claim.objects.get(token=work["token"]).state == ClaimState.LIVE


ODD: list[Any] = [
    None, True, 0, -1, 2**63, 2**64 - 1, 1.5, -0.0, "", " ", "\u202e", "x" * 1_000_000, "天" * 300_000,
    [], [[]], [None], {}, {"": ""}, {"a": {"b": {"c": [1, 2, {"d": None}]}}},
    [{"kind": "other", "anchor": "", "note": ""}],
]  # fmt: skip


@pytest.mark.parametrize("field", ["token", "verdict", "document", "checklist", "named_errors", "reason", "rulings"])
def test_odd_values_anywhere_never_break_the_server(team: Team, dialogue: Dialogue, field: str) -> None:
    work = claim(team, team.annotator)
    for value in ODD:
        response = submit(team.annotator, work, **{field: value})
        assert response.status_code in (201, 400, 404, 422), (field, value)
        if response.status_code == 201:
            break


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_odd_values_inside_a_document_never_break_the_server(team: Team, dialogue: Dialogue, depth: int) -> None:
    work = claim(team, team.annotator)

    def spoil(node: Any, at: int, value: Any) -> list[Any]:
        """Copies of the node, in each of which one place at this depth is the odd value."""
        items = (
            list(node.items()) if isinstance(node, dict) else list(enumerate(node)) if isinstance(node, list) else []
        )
        out = []
        for key, part in items:
            for changed_part in [value] if at == 1 else spoil(part, at - 1, value):
                copy = node.copy()
                copy[key] = changed_part
                out.append(copy)
        return out

    client, path = ApiClient(team.annotator), f"/api/work/{work['slot']}/submit/"
    for value in (None, 2**63, "", "x" * 5000, [], [[]], {}, {"id": []}, -1.5, True):
        for document in spoil(work["document"], depth, value):
            body = {"token": work["token"], "verdict": "reject", "document": document}
            assert client.send(path, body).status_code == 422, document
            body["verdict"] = "fix"
            response = client.send(path, body)
            if response.status_code == 201:
                # A harmless change: what may be anything (such as the environment) was something else.
                return
            assert response.status_code == 422, document


@pytest.mark.parametrize("action", ["submit", "heartbeat", "release", "skip"])
def test_bodies_that_are_no_object_are_refused(team: Team, dialogue: Dialogue, action: str) -> None:
    work = claim(team, team.annotator)
    client, path = ApiClient(team.annotator), f"/api/work/{work['slot']}/{action}/"
    for body in (b"[]", b"1", b"{", b"", b"\xff", b'{"token": "\\u0000"}', b"[" * 50_000):
        response = client.post(path, body, content_type="application/json")
        assert refusal(response)[0] == 400, body[:20]
    assert refusal(client.post(path, {"token": work["token"]}))[0] == 415
    assert Claim.objects.get(token=work["token"]).state == ClaimState.LIVE


@pytest.mark.parametrize("action", ["submit", "heartbeat", "release", "skip"])
def test_a_claim_is_its_holders_alone(team: Team, dialogue: Dialogue, action: str) -> None:
    work = claim(team, team.annotator)
    body = {"token": work["token"]} | ({"verdict": "approve"} if action == "submit" else {})
    wrong = ApiClient(team.annotator).send(f"/api/work/{'2' * 12}/{action}/", body)
    assert refusal(wrong) == (404, "not_found")
    for person in (team.annotators[1], team.senior, team.administrator, team.outsider):
        response = ApiClient(person).send(f"/api/work/{work['slot']}/{action}/", body)
        assert refusal(response) == (404, "not_found")
        assert response.content == wrong.content
    mistaken = ApiClient(team.annotator).send(f"/api/work/{work['slot']}/{action}/", body | {"token": "222222222222"})
    assert mistaken.content == wrong.content
    assert Claim.objects.get(token=work["token"]).state == ClaimState.LIVE


def test_whoever_has_left_the_project_holds_nothing_any_more(team: Team, dialogue: Dialogue) -> None:
    work = claim(team, team.annotator)
    team.annotator.memberships.all().delete()
    for action in ("submit", "heartbeat", "release", "skip"):
        response = ApiClient(team.annotator).send(
            f"/api/work/{work['slot']}/{action}/",
            {"token": work["token"]} | ({"verdict": "approve"} if action == "submit" else {}),
        )
        assert refusal(response) == (404, "not_found")


def test_a_heartbeat_lengthens_the_lease(team: Team, dialogue: Dialogue) -> None:
    work = claim(team, team.annotator)
    path = f"/api/work/{work['slot']}/heartbeat/"
    client = ApiClient(team.annotator)
    answer = client.send(path, {"token": work["token"], "active_seconds": 30})
    assert answer.status_code == 200
    assert answer.json()["expires_at"] >= work["expires_at"]
    for odd in (-1, 86_401, "many", 1.5, None, [], 2**63):
        assert refusal(client.send(path, {"token": work["token"], "active_seconds": odd}))[0] == 400
    client.send(f"/api/work/{work['slot']}/release/", {"token": work["token"]})
    assert refusal(client.send(path, {"token": work["token"]})) == (409, "conflict")


@pytest.mark.parametrize("action", ["release", "skip"])
def test_what_is_given_back_waits_for_others(team: Team, dialogue: Dialogue, action: str) -> None:
    work = claim(team, team.annotator)
    for _ in range(2):
        response = ApiClient(team.annotator).send(f"/api/work/{work['slot']}/{action}/", {"token": work["token"]})
        assert response.status_code == 204
    assert claim(team, team.annotators[1])["slot"] == work["slot"]


def test_a_submission_that_comes_too_late_is_kept_and_said_so(team: Team, dialogue: Dialogue) -> None:
    work = claim(team, team.annotator)
    ApiClient(team.annotator).send(f"/api/work/{work['slot']}/release/", {"token": work["token"]})
    claim(team, team.annotators[1])
    fixed = changed(work["document"])
    response = submit(team.annotator, work, verdict="fix", document=fixed)
    assert refusal(response) == (409, "conflict")
    assert dialogue.drafts.get(author=team.annotator).document() == fixed


def test_blind_means_blind(team: Team, dialogue: Dialogue) -> None:
    to_cross_check(team, dialogue)
    author, first, second, third = team.annotators
    path = f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/"
    work = claim(team, first, stage="cross_check")
    assert work["stage"]["blind"] is True
    review = submit(first, work, verdict="fix", document=changed(work["document"], "Mine.")).json()
    for person in (author, second, third, team.senior, team.administrator):
        client = ApiClient(person)
        for address in (path, path + "reviews/", path + "revisions/"):
            text = client.get(address).content.decode()
            for secret in (review["public_id"], review["made_revision"], first.public_id, "Mine."):
                assert secret not in text, address
        assert client.get(f"{path}revisions/{review['made_revision']}/").status_code == 404
    own = ApiClient(first).get(path + "reviews/").json()["results"]
    assert [one["stage"] for one in own] == ["cross_check"]
    other = claim(team, second, stage="cross_check")
    assert other["slot"] != work["slot"]
    assert "Mine." not in str(other)
    assert submit(second, other).status_code == 201
    settled = ApiClient(author).get(path + "reviews/").json()["results"]
    assert [one["verdict"] for one in settled] == ["approve", "approve", "fix", "approve"]
    assert ApiClient(author).get(f"{path}revisions/{review['made_revision']}/").status_code == 200


def test_an_expert_rules_place_by_place(team: Team, dialogue: Dialogue) -> None:
    to_cross_check(team, dialogue)
    for person, text in zip(team.annotators[1:3], ("Left.", "Right."), strict=True):
        work = claim(team, person, stage="cross_check")
        assert submit(person, work, verdict="fix", document=changed(work["document"], text)).status_code == 201
    work = claim(team, team.senior, stage="expert")
    rulings = {"/tasks/t1/steps/s1/text": {"choice": "third", "value": "Third.", "reason_kind": "answer_wrong"}}
    response = submit(team.senior, work, verdict="fix", rulings=rulings)
    assert response.status_code == 201, response.content
    assert reviews_of(team.senior, dialogue)[-1]["rulings"][0]["choice"] == "third"
    dialogue.refresh_from_db()
    assert dialogue.status == "verified"
    head = dialogue.head
    assert head is not None
    assert head.document()["tasks"][0]["steps"][-1]["text"] == "Third."


def test_status_counts_what_stands_where(team: Team, dialogue: Dialogue) -> None:
    path = f"/api/projects/{team.project.slug}/status/"
    client = ApiClient(team.administrator)
    before = client.get(path).json()
    assert before["dialogues"]["in_review"] == 1
    assert [stage["key"] for stage in before["stages"]] == [
        "self_check_single", "self_check_multi", "cross_check", "expert",
    ]  # fmt: skip
    assert before["stages"][0]["open"] == 1
    assert before["stages"][2]["discrepancy_rate"] is None
    to_cross_check(team, dialogue)
    for person, text in zip(team.annotators[1:3], ("Left.", "Right."), strict=True):
        work = claim(team, person, stage="cross_check")
        assert client.get(path).json()["stages"][2]["claimed"] == 1
        submit(person, work, verdict="fix", document=changed(work["document"], text))
    after = client.get(path).json()
    cross_check = after["stages"][2]
    assert (cross_check["open"], cross_check["done"], cross_check["settled"]) == (0, 2, 1)
    assert cross_check["outcomes"] == {"escalate": 1}
    assert cross_check["discrepancy_rate"] == 1.0
    # One of one: too few to say so.
    assert cross_check["alarm"] is False
    assert after["dialogues"]["escalated"] == 1
    hidden, missing = ApiClient(team.outsider).get(path), ApiClient(team.outsider).get("/api/projects/none/status/")
    assert refusal(hidden) == (404, "not_found")
    assert hidden.content == missing.content


def test_reviews_of_a_hidden_dialogue_are_hidden(team: Team, dialogue: Dialogue) -> None:
    path = f"/api/projects/{team.project.slug}/dialogues/"
    client = ApiClient(team.outsider)
    hidden, missing = client.get(f"{path}{dialogue.public_id}/reviews/"), client.get(f"{path}{'2' * 12}/reviews/")
    assert refusal(hidden) == (404, "not_found")
    assert hidden.content == missing.content


def test_a_program_waives_a_warning_as_the_browser_does(team: Team, dialogue: Dialogue) -> None:
    work = claim(team, team.annotator)
    document = changed(work["document"], "It is sunny. TODO: the degrees.")
    refused = submit(team.annotator, work, verdict="fix", document=document)
    assert refusal(refused) == (422, "invalid")
    (finding,) = refused.json()["details"]["findings"]
    body = {key: finding[key] for key in ("check", "anchor", "value_hash")} | {"token": work["token"]}
    path = f"/api/work/{work['slot']}/waive/"
    api = ApiClient(team.annotator)
    assert refusal(api.send(path, body | {"reason": " ", "document": document})) == (400, "invalid")
    # It is no warning about what the slot holds without the document.
    assert refusal(api.send(path, body | {"reason": "Wanted."})) == (409, "conflict")
    other = {"check": "schema.arguments", "reason": "Wanted.", "document": document}
    assert refusal(api.send(path, body | other)) == (409, "conflict")
    for stranger in (team.annotators[1], team.administrator, team.outsider):
        theirs = ApiClient(stranger).send(path, body | {"reason": "Mine.", "document": document})
        assert refusal(theirs) == (404, "not_found")
    for _ in range(2):
        assert api.send(path, body | {"reason": "Wanted.", "document": document}).status_code == 204
    waiver = Waiver.objects.get(dialogue=dialogue)
    assert (waiver.author, waiver.reason, waiver.sealed) == (team.annotator, "Wanted.", False)
    assert submit(team.annotator, work, verdict="fix", document=document).status_code == 201
    assert refusal(api.send(path, body | {"reason": "Late.", "document": document})) == (409, "conflict")


def test_a_document_of_the_wrong_form_is_refused_in_plain_words_with_its_place(team: Team, dialogue: Dialogue) -> None:
    work = claim(team, team.annotator)
    for place, value, words in (
        ("depends_on", ["s0"], "/tasks/0/steps/1/depends_on/0: Must be an object."),
        ("depends_on", {}, "/tasks/0/steps/1/depends_on: Must be a list."),
        ("type", "guess", "/tasks/0/steps/1: Must be one of 'call', 'clarification', 'answer'."),
        ("text", 7, "/tasks/0/steps/1/text: Must be text."),
    ):
        document = deepcopy(work["document"])
        document["tasks"][0]["steps"][1][place] = value
        refused = submit(team.annotator, work, verdict="fix", document=document)
        assert (refused.status_code, words in refused.json()["sentence"]) == (422, True), refused.json()
