"""The page of a task's decision tree: what it says, what it refuses, and who may see which revision."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.test import Client

from annotator.models import Dialogue, Revision, User
from reviews.services.queue.claims import claim_next
from tests.factories import (
    Team,
    begin,
    changed,
    claim_and_submit,
    current,
    depends,
    make_dialogue,
    make_document,
    make_item,
    make_toolset,
)
from tests.paper_example import TOOLS, call, slides_document, trajectory

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]


def slides(team: Team, **needs: str | None) -> Dialogue:
    document = slides_document(**needs)
    return make_dialogue(team.project, document, external_id="slides", toolset=make_toolset(team.project, TOOLS))


def address(dialogue: Dialogue, task: str = "t1") -> str:
    return f"/p/{dialogue.project.slug}/dialogues/{dialogue.public_id}/tasks/{task}/paths/"


def client_of(person: User) -> Client:
    client = Client()
    client.force_login(person)
    return client


def visit(person: User, url: str, target: str = "", **data: Any) -> Any:
    """The answer with the words one reads on it; ``target`` is the part that htmx asks for."""
    headers = {"HX-Request": "true", "HX-Target": target} if target else {}
    client = client_of(person)
    posted = data.pop("posted", None)
    response = client.get(url, data, headers=headers) if posted is None else client.post(url, posted, headers=headers)
    body = response.content.decode().partition("<main")[2] or response.content.decode()
    text = re.sub(r"<svg.*?</svg>|<textarea.*?</textarea>", "", body, flags=re.S)
    response.words = " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())
    return response


# --- exploring --------------------------------------------------------------------------------------------------------


def test_the_slides_of_the_paper(team: Team) -> None:
    page = visit(team.annotator, address(slides(team)))
    assert page.status_code == 200
    assert "Calls 4 Legal paths 5 Fewest batches 3 Optimal paths 2" in page.words
    assert "3 legal next batches 5 paths , 2 optimal" in page.words
    assert "s1 → s0, s2 → s3 s0, s1 → s2 → s3" in page.words
    assert "accept every legal path" in page.words
    assert page.words.count("Can be optimal") == 2


def test_which_published_evaluator_rejects_which_paths(team: Team) -> None:
    document = slides_document(s0="", s1="", s2="", s3="s0 s1 s2")
    for step in document["tasks"][0]["steps"][:3]:
        step |= {"name": "get_details", "arguments": {"film": step["id"]}}
    dialogue = make_dialogue(team.project, document, external_id="alike", toolset=make_toolset(team.project, TOOLS))
    words = visit(team.annotator, address(dialogue)).words
    assert "The evaluator of C3-Bench rejects 6 of 13 legal paths." in words
    assert "The evaluator of WildToolBench rejects 11 of 13 legal paths." in words
    assert "Legal paths that both reject s0 → s1, s2 → s3 s1 → s0, s2 → s3" in words
    assert "Legal paths that only WildToolBench rejects s0 → s2 → s1 → s3" in words
    for step in document["tasks"][0]["steps"][:3]:
        step["arguments"] = {"film": "Oldboy"}
    dialogue = make_dialogue(team.project, document, external_id="equal", toolset=dialogue.head.toolset_revision)
    words = visit(team.annotator, address(dialogue)).words
    assert "The evaluators of C3-Bench and WildToolBench reject the same 6 of 13 legal paths." in words
    assert "only WildToolBench" not in words.partition("Legal paths that both reject")[2].partition("The task is")[0]


def test_one_step_prunes_two_of_the_five_paths(team: Team) -> None:
    url = address(slides(team))
    page = visit(team.annotator, url, path="s1")
    assert "s1 get_ranking 3 paths left" in page.words
    assert "Pruned: 2 branches with 2 paths s0 s0, s1" in page.words
    page = visit(team.annotator, url, path="s1;s0")
    assert "1 path left No longer optimal" in page.words
    page = visit(team.annotator, url, path="s1;s0,s2;s3")
    assert "All calls have run Optimal This path takes 3 batches" in page.words


def test_htmx_gets_the_part_it_asks_for(team: Team) -> None:
    url = address(slides(team))
    for target, start in (("section#tree", '<section class="pane" id="tree"'), ("section#optimal", 'id="optimal"')):
        part = visit(team.annotator, url, target, path="s1").content.decode()
        assert start in part
        assert "<main" not in part
    assert "data-autofocus" in visit(team.annotator, url, "section#tree", path="s1").content.decode()
    part = visit(team.annotator, url, "section#try", example="optimal").content.decode()
    assert json.loads(unescape(re.search(r"<textarea.*?>(.*)</textarea>", part, re.S)[1])) == trajectory("s1;s0,s2;s3")
    part = visit(team.annotator, url, "section#try", example="path", path="s1;s0").content.decode()
    assert json.loads(unescape(re.search(r"<textarea.*?>(.*)</textarea>", part, re.S)[1])) == trajectory("s1;s0")


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"path": "s9"}, "Batch 1: there is no call s9."),
        ({"path": "s3"}, "Batch 1: s3 needs s0, s2 to run first."),
        ({"path": "s1;s1"}, "Batch 2: s1 has already run."),
        ({"path": ";".join(["s1"] * 5000)}, "Batch 2: s1 has already run."),
    ],
)
def test_an_illegal_path_is_said_to_be_one(team: Team, query: dict[str, str], words: str) -> None:
    page = visit(team.annotator, address(slides(team)), **query)
    assert page.status_code == 422
    assert words in page.words
    assert "shows the valid part of the path" in page.words


@pytest.mark.parametrize(
    "query",
    [{"from": "-1"}, {"from": "x"}, {"from": "9" * 400}, {"optimal": "9" * 20}, {"only": "x"}, {"example": "x"}],
)
def test_odd_parameters_do_no_harm(team: Team, query: dict[str, str]) -> None:
    assert "3 legal next batches" in visit(team.annotator, address(slides(team)), **query).words


def test_branches_come_in_pages(team: Team) -> None:
    document = slides_document()
    one = document["tasks"][0]["steps"][0]
    document["tasks"][0]["steps"] = [{**one, "id": f"c{n:02}", "arguments": {"title": str(n)}} for n in range(24)]
    url = address(make_dialogue(team.project, document, toolset=make_toolset(team.project, TOOLS)))
    page = visit(team.annotator, url)
    assert "Branches 1–20 / 16,777,215" in page.words
    last = visit(team.annotator, url, **{"from": "16777214"})
    assert "Branches 16,777,215–16,777,215 / 16,777,215" in last.words
    assert "End Optimal" in last.words
    optimal = visit(team.annotator, url, only="optimal")
    assert optimal.content.decode().count('class="branch optimal"') == 1


# --- what has no tree -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("needs", "words", "place"),
    [
        (
            {"s1": None},
            "graph isn’t annotated Annotate the dependencies of s1",
            "#at-tasks-t1-steps-s1",
        ),
        ({"s1": "s3"}, "in a cycle: s1 → s3 → s2 → s1.", "#at-tasks-t1-steps-s1"),
    ],
)
def test_why_there_is_no_tree_and_where_to_mend_it(team: Team, needs: dict[str, Any], words: str, place: str) -> None:
    dialogue = slides(team, **needs)
    page = visit(team.annotator, address(dialogue))
    assert page.status_code == 200
    assert words in page.words
    own = f"/p/{team.project.slug}/dialogues/{dialogue.public_id}/"
    assert f'href="{own}{place}"' in page.content.decode()
    assert f'id="{place[1:]}"' in client_of(team.annotator).get(own).content.decode()
    assert visit(team.annotator, address(dialogue), posted={"calls": "[]"}).status_code == 200


def test_a_task_without_calls(team: Team) -> None:
    dialogue = make_dialogue(team.project, make_document("x", tasks=2))
    assert "This task has no calls" in visit(team.annotator, address(dialogue, "t2")).words
    own = client_of(team.annotator).get(f"/p/{team.project.slug}/dialogues/{dialogue.public_id}/").content.decode()
    assert own.count("/paths/") == 1


# --- a trajectory -----------------------------------------------------------------------------------------------------


def tried(team: Team, value: Any, target: str = "div#try-result") -> Any:
    text = value if isinstance(value, str) else json.dumps(value)
    return visit(team.annotator, address(slides(team)), target, posted={"calls": text})


def test_a_trajectory_is_followed_step_by_step(team: Team) -> None:
    page = tried(team, trajectory("s1;s0;s2;s3"))
    assert page.status_code == 200
    assert "Matched, not optimal 4 of 4 calls matched in 4 batches" in page.words
    assert "1 Matched s1 get_ranking 3 paths left 2 paths pruned" in page.words
    assert "No: 4 batches instead of 3" in page.words


def test_a_deviation_names_what_would_have_been_legal(team: Team) -> None:
    page = tried(team, trajectory("s1;s3"))
    assert "Deviates 1 of 4 calls matched in 1 batch Progress (AP) 25 %" in page.words
    assert "s3 waits" not in page.words
    assert "Calls that could have run s0 create_presentation" in page.words
    assert "Calls that couldn’t run yet s3 add_slide waits for s0, s2" in page.words


def test_wrong_arguments_are_shown_beside_the_right_ones(team: Team) -> None:
    page = tried(team, [{"name": "get_ranking", "arguments": {"kind": "<b>series</b>"}}])
    assert "Expected by s1" in page.words
    assert "<b>series" not in page.content.decode()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('[{"name": "get_ranking"', "line 1, column 24"),
        (json.dumps([{"name": "x"}] * 10_000), "10,000 calls. At most 256"),
        (json.dumps([call("s0")] * 10_000), "characters. The limit for JSON is 200,000"),
        ("", "Enter a trajectory."),
    ],
)
def test_what_is_no_trajectory_is_refused_in_a_sentence(team: Team, text: str, words: str) -> None:
    for target in ("div#try-result", ""):
        dialogue = Dialogue.objects.filter(external_id="slides").first() or slides(team)
        page = visit(team.annotator, address(dialogue), target, posted={"calls": text})
        assert page.status_code == 422
        assert words in page.words


def test_trying_changes_nothing(team: Team) -> None:
    dialogue = slides(team)
    before = (Revision.objects.count(), dialogue.head_id)
    visit(team.annotator, address(dialogue), posted={"calls": json.dumps(trajectory("s1"))})
    dialogue.refresh_from_db()
    assert (Revision.objects.count(), dialogue.head_id) == before


# --- who may see what -------------------------------------------------------------------------------------------------


def test_whoever_is_no_member_finds_nothing(team: Team) -> None:
    dialogue = slides(team)
    assert visit(team.outsider, address(dialogue)).status_code == 404
    assert visit(team.annotator, address(dialogue, "t9")).status_code == 404
    assert Client().get(address(dialogue)).status_code == 302


def test_a_blind_colleagues_revision_has_no_tree_for_others(team: Team) -> None:
    """A second reviewer sees the tree of the revision under review, and never that of the first one's fix."""
    item = make_item(team, "cross_check", make_document() | {"env_info": "The user is called Zebra."})
    document = changed(current(item))
    document["tasks"][0]["steps"][0]["arguments"]["city"] = "Zebra"
    claim_and_submit(team.annotators[1], item, "fix", document=document)
    sealed = Revision.objects.get(dialogue=item, sealed=True)
    own = visit(team.annotators[1], address(item), revision=sealed.public_id)
    assert own.status_code == 200
    assert "Zebra" in own.words
    assert "your revision, not visible to others yet" in own.words
    for person in (team.annotator, team.annotators[2], team.senior, team.administrator):
        assert visit(person, address(item), revision=sealed.public_id).status_code == 404
        assert "Zebra" not in visit(person, address(item)).words
        posted = client_of(person).post(f"{address(item)}?revision={sealed.public_id}", {"calls": "[]"})
        assert posted.status_code == 404


def test_an_older_revision_keeps_to_itself(team: Team) -> None:
    document = make_document() | {"env_info": "The user lives in Bruges."}
    (step, answer) = document["tasks"][0]["steps"]
    answer["depends_on"] = depends("s0", "s2")
    train = {"origin": "Ghent", "destination": "Bruges"}
    document["tasks"][0]["steps"] = [step, {**step, "id": "s2", "name": "find_trains", "arguments": train}, answer]
    document["tasks"][0]["policy"] = "multi_tool"
    item = make_item(team, "self_check_single", document)
    first = item.head
    assert first is not None
    document = changed(current(item))
    document["tasks"][0]["steps"][1]["depends_on"] = [{"id": "s0", "kind": "logical"}]
    claim_and_submit(team.annotator, item, "fix", document=document)
    assert "Legal paths 1" in visit(team.annotator, address(item)).words
    page = visit(team.annotator, address(item), revision=first.public_id)
    assert "Legal paths 3" in page.words
    assert "This is revision 1. Show the newest revision" in page.words
    assert f"?revision={first.public_id}&amp;path=s0" in page.content.decode()
    own = client_of(team.annotator).get(
        f"/p/{team.project.slug}/dialogues/{item.public_id}/", {"revision": first.public_id}
    )
    assert f"/tasks/t1/paths/?revision={first.public_id}" in own.content.decode()


def test_the_draft_one_works_on(team: Team) -> None:
    begin(team.project, [slides(team)])
    claim = claim_next(actor=team.annotator, project=team.project)
    assert claim is not None
    work = f"/work/{claim.slot.public_id}/"
    url = f"{work}tasks/t1/paths/"
    assert "Legal paths 5" in visit(team.annotator, url).words
    client_of(team.annotator).post(
        f"{work}edit/", {"op": "set_dependencies", "anchor": "/tasks/t1/steps/s0", "annotated": "no", "seen": "0"}
    )
    page = visit(team.annotator, url)
    assert "isn’t annotated" in page.words
    assert f"{work}?at=%2Ftasks%2Ft1%2Fsteps%2Fs0" in page.content.decode()
    assert "no-store" in page["Cache-Control"]
    for person in (team.annotators[1], team.senior, team.administrator):
        assert visit(person, url).status_code == 404
    assert visit(team.annotator, f"{work}tasks/t9/paths/").status_code == 404
