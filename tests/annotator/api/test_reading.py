"""Projects, dialogues, revisions and differences, as a program reads them."""

import pytest
from django.utils import timezone

from annotator.core.schema import canonical, content_hash
from annotator.models import Dialogue, Revision
from tests.api_client import ApiClient, refusal
from tests.factories import adopt_c3, broken, changed, make_dialogue, make_dialogues, make_document, make_team

pytestmark = pytest.mark.django_db


def add_revision(dialogue: Dialogue, document: dict[str, object], **fields: object) -> Revision:
    """A revision on top of the head, which stays where it is."""
    head = dialogue.head
    assert head is not None
    text = canonical(document)
    return Revision.objects.create(
        **{"dialogue": dialogue, "parent": head, "number": 2, "toolset_revision": head.toolset_revision,
           "content": text, "content_hash": content_hash(text)} | fields
    )  # fmt: skip


def test_one_sees_ones_own_projects() -> None:
    mine, other = make_team(), make_team()
    client = ApiClient(mine.senior)
    assert [project["slug"] for project in client.get("/api/projects/").json()["results"]] == [mine.project.slug]
    project = client.get(f"/api/projects/{mine.project.slug}/").json()
    assert project["public_id"] == mine.project.public_id
    assert project["name"] == mine.project.name
    missing = client.get("/api/projects/no-such-project/")
    hidden = client.get(f"/api/projects/{other.project.slug}/")
    assert refusal(hidden) == (404, "not_found")
    assert hidden.content == missing.content


def test_a_role_that_has_ended_opens_nothing() -> None:
    team = make_team()
    client = ApiClient(team.annotator)
    assert client.get(f"/api/projects/{team.project.slug}/").status_code == 200
    team.annotator.memberships.update(ended_at=timezone.now())
    assert client.get(f"/api/projects/{team.project.slug}/").status_code == 404
    assert client.get("/api/projects/").json()["results"] == []


def test_the_list_tells_what_the_row_knows() -> None:
    team = make_team()
    dialogue = make_dialogue(team.project, make_document(tasks=2), owner=team.annotator)
    answer = ApiClient(team.annotator).get(f"/api/projects/{team.project.slug}/dialogues/").json()
    assert answer["next"] is None
    (row,) = answer["results"]
    assert row["public_id"] == dialogue.public_id
    assert row["policies"] == ["single_tool", "chat"]
    assert row["information"] == ["explicit", "coreferential_reference"]
    assert row["owner"] == team.annotator.public_id
    assert row["task_count"] == 2
    assert row["switches"] == 1
    assert "document" not in row
    assert "search_text" not in row


def test_unlabelled_tasks_are_null_in_the_list() -> None:
    team = make_team()
    document = make_document(tasks=2)
    document["tasks"][0]["policy"] = None
    make_dialogue(team.project, document)
    (row,) = ApiClient(team.annotator).get(f"/api/projects/{team.project.slug}/dialogues/").json()["results"]
    assert row["policies"] == [None, "chat"]


def test_pages_follow_one_another_without_gap_or_double() -> None:
    team = make_team()
    rows = make_dialogues(team.project, 23)
    client, path, seen = ApiClient(team.annotator), f"/api/projects/{team.project.slug}/dialogues/?size=5", []
    sizes = []
    while path:
        answer = client.get(path).json()
        sizes.append(len(answer["results"]))
        seen += [row["public_id"] for row in answer["results"]]
        path = answer["next"]
    assert sizes == [5, 5, 5, 5, 3]
    assert seen == [row.public_id for row in rows]


def test_a_full_last_page_has_no_next_one() -> None:
    team = make_team()
    make_dialogues(team.project, 4)
    answer = ApiClient(team.annotator).get(f"/api/projects/{team.project.slug}/dialogues/?size=4").json()
    assert len(answer["results"]) == 4
    assert answer["next"] is None


def test_the_next_page_keeps_the_filters() -> None:
    team = make_team()
    adopt_c3(team)
    make_dialogues(team.project, 3, stage="cross_check")
    make_dialogues(team.project, 3, stage="expert")
    answer = ApiClient(team.annotator).get(f"/api/projects/{team.project.slug}/dialogues/?stage=expert&size=2").json()
    following = ApiClient(team.annotator).get(answer["next"]).json()
    assert [row["stage"] for row in answer["results"] + following["results"]] == ["expert"] * 3


@pytest.mark.parametrize(
    "query", ["size=0", "size=201", "size=x", "size=-1", "cursor=-1", "cursor=1e3", "cursor=" + "9" * 30]
)
def test_a_bad_page_is_refused(query: str) -> None:
    team = make_team()
    response = ApiClient(team.annotator).get(f"/api/projects/{team.project.slug}/dialogues/?{query}")
    assert refusal(response) == (422, "invalid")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", {"plain", "broken", "chinese", "owned"}),
        ("status=verified", {"owned"}),
        ("status=", {"plain", "broken", "chinese", "owned"}),
        ("language=zh", {"chinese"}),
        ("problems=errors", {"broken"}),
        ("problems=warnings", {"chinese"}),
        ("problems=clean", {"plain", "owned"}),
        ("policy=chat", {"owned"}),
        ("check=schema.unknown_argument", {"broken"}),
        ("q=umbrella", set()),
        ("q=sunshine", {"plain"}),
        ("q=sunsh weather", {"plain"}),
        ("q=天", {"chinese"}),
        ("q=天气", {"chinese"}),
        ("q=气天", set()),
        ("q=%27%22%26!()", {"plain", "broken", "chinese", "owned"}),
    ],
)
def test_filters_narrow_the_list(query: str, expected: set[str]) -> None:
    team = make_team()
    plain = make_document("with sunshine")
    chinese = make_document()
    chinese["language"] = "zh"
    chinese["tasks"][0]["user_message"] = "根特今天天气怎么样？"
    make_dialogue(team.project, plain, external_id="plain")
    make_dialogue(team.project, broken(make_document()), external_id="broken")
    make_dialogue(team.project, chinese, external_id="chinese")
    make_dialogue(team.project, make_document(tasks=2), external_id="owned", owner=team.annotator, status="verified")
    answer = ApiClient(team.annotator).get(f"/api/projects/{team.project.slug}/dialogues/?{query}").json()
    assert {row["external_id"] for row in answer["results"]} == expected
    mine = ApiClient(team.annotator).get(
        f"/api/projects/{team.project.slug}/dialogues/?owner={team.annotator.public_id}"
    )
    assert [row["external_id"] for row in mine.json()["results"]] == ["owned"]


def test_what_is_not_published_or_archived_is_not_there() -> None:
    team = make_team()
    unpublished = make_dialogue(team.project, published=False)
    archived = make_dialogue(team.project, archived_at=timezone.now())
    client = ApiClient(team.administrator)
    assert client.get(f"/api/projects/{team.project.slug}/dialogues/").json()["results"] == []
    assert client.get(f"/api/projects/{team.project.slug}/dialogues/{unpublished.public_id}/").status_code == 404
    assert client.get(f"/api/projects/{team.project.slug}/dialogues/{archived.public_id}/").status_code == 200


def test_the_list_asks_the_same_number_of_questions_at_any_length(django_assert_num_queries: object) -> None:
    team = make_team()
    make_dialogues(team.project, 40, owner=team.annotator)
    client = ApiClient(team.annotator)
    client.get("/api/projects/")
    with django_assert_num_queries(5):  # type: ignore[operator]
        assert len(client.get(f"/api/projects/{team.project.slug}/dialogues/").json()["results"]) == 40


def test_a_dialogue_comes_with_head_tools_and_findings() -> None:
    team = make_team()
    document = broken(make_document())
    dialogue = make_dialogue(team.project, document)
    answer = ApiClient(team.annotator).get(f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/").json()
    head = answer["head"]
    assert head["document"] == document
    assert head["is_head"] is True
    assert head["number"] == 1
    assert head["author"] is None
    assert head["tools"][0]["function"]["name"] == "get_weather"
    assert any(finding["severity"] == "error" for finding in answer["findings"])
    assert answer["error_count"] >= 1


def test_revisions_are_listed_without_content_and_read_with_it() -> None:
    team = make_team()
    dialogue = make_dialogue(team.project)
    first = dialogue.head
    assert first is not None
    second = add_revision(dialogue, changed(first.document()), author=team.annotator, message="A better answer")
    client = ApiClient(team.senior)
    base = f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/revisions/"
    answer = client.get(base).json()
    assert [row["number"] for row in answer["results"]] == [1, 2]
    assert [row["is_head"] for row in answer["results"]] == [True, False]
    assert answer["results"][1]["parent"] == first.public_id
    assert answer["results"][1]["author"] == team.annotator.public_id
    assert "document" not in answer["results"][0]
    read = client.get(f"{base}{second.public_id}/").json()
    assert read["document"] == changed(first.document())
    assert read["message"] == "A better answer"
    assert read["content_hash"] == second.content_hash


def test_the_difference_of_two_revisions() -> None:
    team = make_team()
    dialogue = make_dialogue(team.project)
    first = dialogue.head
    assert first is not None
    second = add_revision(dialogue, changed(first.document(), "Sunny."))
    base = f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/revisions/"
    client = ApiClient(team.annotator)
    (change,) = client.get(f"{base}{first.public_id}/diff/{second.public_id}/").json()
    assert change["anchor"] == "/tasks/t1/steps/s1/text"
    assert change["kind"] == "changed"
    assert change["after"] == "Sunny."
    (back,) = client.get(f"{base}{second.public_id}/diff/{first.public_id}/").json()
    assert (back["before"], back["after"]) == (change["after"], change["before"])
    assert client.get(f"{base}{first.public_id}/diff/{first.public_id}/").json() == []


def test_an_outsider_meets_the_same_wall_everywhere() -> None:
    team, stranger = make_team(), make_team()
    dialogue = make_dialogue(team.project)
    head = dialogue.head
    assert head is not None
    for client in (ApiClient(team.outsider), ApiClient(stranger.administrator)):
        for slug, dialogue_id, revision_id in (
            (team.project.slug, dialogue.public_id, head.public_id),
            ("nowhere", "222222222222", "333333333333"),
        ):
            base = f"/api/projects/{slug}/"
            of_dialogue = f"{base}dialogues/{dialogue_id}/"
            of_revision = f"{of_dialogue}revisions/{revision_id}/"
            for path in (
                base, f"{base}dialogues/", of_dialogue, f"{of_dialogue}revisions/", of_revision,
                f"{of_revision}diff/{revision_id}/",
            ):  # fmt: skip
                response = client.get(path)
                assert refusal(response) == (404, "not_found"), path
                assert response.content == client.get("/api/projects/nowhere/").content, path


def test_ids_of_another_project_are_wrong_ids_in_ones_own() -> None:
    mine, other = make_team(), make_team()
    own, foreign = make_dialogue(mine.project), make_dialogue(other.project)
    own_head, foreign_head = own.head, foreign.head
    assert own_head is not None
    assert foreign_head is not None
    client, base = ApiClient(mine.administrator), f"/api/projects/{mine.project.slug}/dialogues/"
    for hidden, missing in (
        (f"{foreign.public_id}/", "222222222222/"),
        (f"{foreign.public_id}/revisions/", "222222222222/revisions/"),
        (f"{own.public_id}/revisions/{foreign_head.public_id}/", f"{own.public_id}/revisions/222222222222/"),
        (
            f"{own.public_id}/revisions/{own_head.public_id}/diff/{foreign_head.public_id}/",
            f"{own.public_id}/revisions/{own_head.public_id}/diff/222222222222/",
        ),
    ):
        found, lacking = client.get(base + hidden), client.get(base + missing)
        assert refusal(found) == (404, "not_found")
        assert found.content == lacking.content


def test_a_sealed_revision_is_its_authors_alone() -> None:
    team = make_team()
    dialogue = make_dialogue(team.project)
    first = dialogue.head
    assert first is not None
    author, colleague = team.annotators[:2]
    sealed = add_revision(dialogue, changed(first.document()), author=author, number=None, sealed=True, branch="slot-x")
    base = f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/revisions/"
    own = ApiClient(author)
    assert [row["public_id"] for row in own.get(base).json()["results"]] == [first.public_id, sealed.public_id]
    assert own.get(f"{base}{sealed.public_id}/").status_code == 200
    for person in (colleague, team.senior, team.administrator):
        client = ApiClient(person)
        assert [row["public_id"] for row in client.get(base).json()["results"]] == [first.public_id]
        for path in ("{}/", "{}/diff/" + first.public_id + "/", first.public_id + "/diff/{}/"):
            hidden, missing = client.get(base + path.format(sealed.public_id)), client.get(base + path.format("2" * 12))
            assert refusal(hidden) == (404, "not_found")
            assert hidden.content == missing.content
        assert (
            sealed.public_id
            not in client.get(f"/api/projects/{team.project.slug}/dialogues/{dialogue.public_id}/").content.decode()
        )
    Revision.objects.filter(pk=sealed.pk).update(sealed=False, number=2)
    assert ApiClient(colleague).get(f"{base}{sealed.public_id}/").status_code == 200


def test_methods_that_are_not_there_are_refused_in_the_usual_shape() -> None:
    team = make_team()
    for method in ("post", "put", "patch", "delete"):
        for query in ("", "?size=1"):
            response = getattr(ApiClient(team.administrator), method)(
                f"/api/projects/{team.project.slug}/dialogues/{query}"
            )
            assert refusal(response) == (405, "method_not_allowed")


@pytest.mark.parametrize("hidden", ["%00", "..", "%2e%2e", "%ff", "a" * 500, "%E2%80%AE", "'--"])
def test_odd_ids_are_wrong_ids(hidden: str) -> None:
    team = make_team()
    response = ApiClient(team.annotator).get(f"/api/projects/{team.project.slug}/dialogues/{hidden}/")
    assert refusal(response) == (404, "not_found")


def test_addresses_that_are_none_are_refused_in_the_usual_shape() -> None:
    team = make_team()
    client = ApiClient(team.annotator)
    assert refusal(client.get("/api/nothing/")) == (404, "not_found")
    assert refusal(client.get(f"/api/projects/{team.project.slug}/dialogues/?q=%00")) == (400, "bad_request")
