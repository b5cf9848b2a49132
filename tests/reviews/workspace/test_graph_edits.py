"""Edits of a tool graph as they are posted: what makes no sense is refused with a sentence and changes nothing."""

import re
from typing import Any
from urllib.parse import quote

import pytest
from django.test import Client

from annotator.models import Draft
from annotator.services.dialogues.drafts import replace_draft
from reviews.services.queue.claims import claim_next
from tests.factories import Team, adopt_c3, begin, make_dialogue, make_document, make_team
from tests.journeys.graph_tasks import TASK, coast, edges_of
from tests.pages import one_line

pytestmark = [pytest.mark.django_db, pytest.mark.any_database]
S = {n: f"{TASK}/steps/s{n}" for n in range(5)}


@pytest.fixture
def team() -> Team:
    team = make_team()
    adopt_c3(team)
    begin(team.project, [make_dialogue(team.project, coast(), external_id="one")])
    return team


@pytest.fixture
def desk(team: Team) -> Client:
    """A browser in which the first annotator holds the item; ``desk.work`` is its address."""
    claim = claim_next(actor=team.annotator, project=team.project)
    assert claim is not None
    client = Client()
    client.force_login(team.annotator)
    client.work = f"/work/{claim.slot.public_id}/"  # type: ignore[attr-defined]
    client.get(client.work)  # type: ignore[attr-defined]
    return client


def post(desk: Any, *, seen: int = 0, htmx: bool = True, **fields: Any) -> Any:
    headers = {"HX-Request": "true"} if htmx else {}
    body = {"at": TASK, "panel": "graph", "seen": seen, **fields}
    return desk.post(f"{desk.work}edit/", body, headers=headers)


def test_an_edge_is_drawn_and_the_panel_comes_back(desk, team):
    response = post(desk, op="add_dependency", anchor=S[3], id="s0", kind="logical")
    assert response.status_code == 200
    assert response["X-Draft-Version"] == "1"
    page = one_line(response)
    assert 'id="edge-s3-s0"' in page
    assert 'hx-target="#inspector" hx-swap="outerMorph"' in page
    assert edges_of(team)["s3"] == "(s0)"


def test_a_dependency_on_no_step_can_be_dropped_and_is_in_no_other_edits_way(desk, team):
    document = coast()
    document["tasks"][0]["steps"][3]["depends_on"] = [
        {"id": "s9", "kind": "parameter"},
        {"id": "s3", "kind": "logical"},
    ]
    replace_draft(actor=team.annotator, draft=Draft.objects.get(), document=document, operation="reset")
    page = one_line(desk.get(f"{desk.work}?at={S[3]}"))
    for step, what in (("s9", "not a step of this task"), ("s3", "this step itself")):
        assert f'value="{step}" checked> <span class="id">{step}</span> <span class="missing">{what}</span>' in page
    form = {"op": "set_dependencies", "anchor": S[3], "annotated": "yes", "panel": "", "at": S[3]}
    assert post(desk, seen=1, dep=["s1", "s9"], **form).status_code == 200
    assert edges_of(team)["s3"] == "s9 s1"
    assert post(desk, seen=2, dep=["s1"], **form).status_code == 200
    assert edges_of(team)["s3"] == "s1"
    assert post(desk, seen=3, dep=["s1", "s9"], **form).status_code == 422


def test_the_list_of_findings_says_which_task_each_is_about(desk, team):
    document = make_document(tasks=3)
    document["tasks"][0]["steps"][0]["arguments"] = {"town": "Ghent"}
    document["tasks"][2]["policy"] = "clarify"
    replace_draft(actor=team.annotator, draft=Draft.objects.get(), document=document, operation="reset")
    page = one_line(desk.get(f"{desk.work}?panel=findings"))
    assert "<span>At task 1, call s0 get_weather, argument town</span>" in page
    assert "<span>At task 3, policy</span>" in page
    assert "<span>At task 3, policy</span>" in one_line(desk.get(f"{desk.work}submit/?verdict=approve"))


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"op": "add_dependency", "anchor": S[3], "id": "s9"}, "There is no step s9 in this task to depend on."),
        (
            {"op": "add_dependency", "anchor": f"{TASK}/steps/s9", "id": "s0"},
            "step s9 (missing):</strong> This place no longer exists",
        ),
        ({"op": "add_dependency", "anchor": S[3], "id": "s3"}, "cannot depend on itself"),
        ({"op": "add_dependency", "anchor": S[3], "id": "s4"}, "s4 is the answer"),
        ({"op": "add_dependency", "anchor": S[4], "id": "s0", "kind": "parameter"}, "already depends on s0"),
        ({"op": "add_dependency", "anchor": S[3], "id": "s0", "kind": "hearsay"}, "Must be one of"),
        ({"op": "add_dependency", "anchor": S[3]}, "“id” must be text"),
        ({"op": "remove_dependency", "anchor": S[3], "id": "s0"}, "does not depend on s0"),
        ({"op": "set_shape", "anchor": TASK, "shape": "star"}, "The shape must be one of"),
        ({"op": "copy_shape", "anchor": TASK, "from": "t9"}, "There is no task t9"),
        ({"op": "copy_shape", "anchor": TASK}, "“from” must be text"),
        ({"op": "set_argument_form", "anchor": TASK}, "that this form edits"),
        ({"op": "set_argument_form", "anchor": ""}, "that this form edits"),
        ({"op": "set_parameters", "anchor": S[3]}, "that this form edits"),
        ({"op": "set_expected", "anchor": S[3]}, "that this form edits"),
        ({"op": "accept_dependencies", "anchor": TASK}, "which dependencies to accept"),
        ({"op": "accept_dependencies", "anchor": TASK, "edge": "s3"}, "isn’t a dependency"),
        ({"op": "accept_dependencies", "anchor": TASK, "edge": ["s3 s1 parameter", "s3 s9 parameter"]}, "no step s9"),
        ({"op": "accept_dependencies", "anchor": TASK, "edge": ["s3 s1 parameter"] * 2}, "already depends on s1"),
        ({"op": "accept_dependencies", "anchor": TASK, "edge": ["s3 s1 logical"] * 4000}, "already depends on s1"),
        ({"op": "accept_dependencies", "anchor": TASK, "edge": ["s3 s1 logical"] * 10_000}, "more than 5,000 fields"),
        ({"op": "set_dependencies", "anchor": S[3], "annotated": "yes", "dep": ["s1"] * 10_000}, "Nothing was changed"),
        ({"op": "set_dependencies", "anchor": S[3], "annotated": "yes", "dep": ["s1", "s1"]}, "listed twice"),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(desk, team, fields, sentence):
    before = Draft.objects.get().content
    for htmx in (True, False):
        response = post(desk, htmx=htmx, **fields)
        assert response.status_code == 422
        assert sentence in one_line(response)
    draft = Draft.objects.get()
    assert (draft.content, draft.version) == (before, 0)


def test_a_place_with_an_endless_name_is_forgotten_after_the_edit(desk, team):
    response = post(desk, htmx=False, op="set", anchor=f"{TASK}/user_message", value="Ahoy", panel="p" * 20_000)
    assert response.status_code == 302
    assert len(response["Location"]) < 200


def test_a_circle_is_refused_with_its_steps_marked(desk, team):
    assert post(desk, op="add_dependency", anchor=S[2], id="s0").status_code == 200
    response = post(desk, op="add_dependency", anchor=S[0], id="s2", seen=1)
    page = one_line(response)
    assert response.status_code == 422
    assert "s0 → s2 → s0" in page
    assert page.count("in-circle") == 2
    assert 'hx-target="#graph-canvas"' in page
    assert edges_of(team)["s0"] == ""
    # In another panel there is no drawing to mark.
    assert b"graph-canvas" not in post(desk, op="add_dependency", anchor=S[0], id="s2", seen=1, panel="edit").content


def test_an_edit_of_a_page_long_past_is_a_conflict(desk, team):
    assert post(desk, op="add_dependency", anchor=S[3], id="s0").status_code == 200
    response = post(desk, op="add_dependency", anchor=S[3], id="s1", seen=0)
    assert response.status_code == 409
    assert edges_of(team)["s3"] == "s0"
    # Elsewhere in the graph the same page may still be edited.
    assert post(desk, op="add_dependency", anchor=S[2], id="s0", seen=0).status_code == 200
    assert post(desk, op="set_shape", anchor=TASK, shape="chain", seen=0).status_code == 409


@pytest.mark.parametrize(
    "fields",
    [
        {"op": "set", "anchor": f"{S[3]}/text", "value": "Typed with care."},
        {"op": "set_observation", "anchor": S[3], "text": "Typed with care.", "as": "text"},
        {"op": "set_argument_form", "anchor": S[3], "arg:/city": "Typed with care.", "arg:/date": "2026"},
    ],
)
def test_words_for_what_was_deleted_meanwhile_are_shown_with_the_refusal(desk, team, fields):
    assert post(desk, op="delete_step", anchor=S[3], seen=0).status_code == 200
    for headers in ({"HX-Request": "true"}, {}):
        response = desk.post(f"{desk.work}edit/", {"seen": "0", "at": S[3], **fields}, headers=headers)
        text = one_line(response)
        assert response.status_code == 409
        assert "couldn’t be saved" in text
        assert re.search(r'<textarea id="gone-text" readonly[^>]*>[^<]*Typed with care\.', text)
        assert "Do it anyway" not in text


def test_suggestions_accepted_together_are_one_step(desk, team):
    both = ["s2 s0 parameter", "s3 s1 parameter"]
    assert post(desk, op="accept_dependencies", anchor=TASK, edge=both).status_code == 200
    assert (edges_of(team)["s2"], edges_of(team)["s3"]) == ("s0", "s1")
    desk.post(f"{desk.work}undo/", {"panel": "graph", "at": TASK})
    assert (edges_of(team)["s2"], edges_of(team)["s3"]) == ("", "")


def test_looking_at_a_step_and_at_a_value(desk, team):
    def look(at):
        return desk.get(f"{desk.work}look/?at={at}", headers={"HX-Request": "true"})

    page = one_line(look(S[2]))
    assert "Oostende" in page
    assert "observation of s0" in page
    page = one_line(look(f"{S[2]}/arguments/city"))
    assert page.count("<hx-partial") == 1
    assert 'hx-target="#text-at-tasks-t1-steps-s0-observation"' in page
    assert '<mark class="source">Oostende</mark>' in page
    for nowhere in ("", "/", TASK, f"{TASK}/steps/s9", f"{S[2]}/observation"):
        assert look(nowhere).status_code == 404
    # An argument that is not stored yet, and those of a case's calls: nothing to mark, and no failure in the console.
    for blank in (
        f"{S[2]}/arguments/new",
        f"{TASK}/steps/s9/arguments/a",
        "/reference_trajectory/r1/calls/s1/arguments/a",
    ):
        assert look(blank).status_code == 200


def test_who_was_signed_out_at_a_place_comes_back_to_the_page_of_that_place(desk):
    """Signing in led to the bare part of the page that had been asked for."""
    page = desk.get(f"{desk.work}look/?at={S[2]}/arguments/city", follow=True)
    assert page.redirect_chain == [(f"{desk.work}?at={quote(f'{S[2]}/arguments/city', safe='')}", 302)]
    assert page.context["at"] == S[2]


def test_who_chooses_text_for_an_observation_may_type_it(desk):
    """While the text was empty, the field sprang back to JSON."""

    def choose(kind, was):
        fields = {"op": "set_observation", "at": S[3], "anchor": S[3], "panel": "", "as": kind, "was": was, "text": ""}
        return one_line(desk.post(f"{desk.work}edit/", fields, headers={"HX-Request": "true"}))

    choose("json", "json")
    for chosen, was in (("text", "json"), ("json", "text")):
        page = choose(chosen, was)
        assert re.search(r'<select[^>]*name="as".*?<option value="([a-z]+)" selected', page, re.DOTALL)[1] == chosen
        assert f'name="was" value="{chosen}"' in page


def test_a_stored_circle_is_drawn(desk, team):
    draft = Draft.objects.get()
    document = draft.document()
    for step, needs in ((0, "s1"), (1, "s0")):
        document["tasks"][0]["steps"][step]["depends_on"] = [{"id": needs, "kind": "parameter"}]
    replace_draft(actor=team.annotator, draft=draft, document=document, operation="merge")
    page = one_line(desk.get(f"{desk.work}?at={TASK}&panel=graph"))
    assert page.count("in-circle") == 2
    assert "These steps depend on each other in a cycle: s0 → s1" in page


def test_the_panel_of_the_dialogue_as_a_whole_asks_for_a_task(desk, team):
    assert b"Select a task" in desk.get(f"{desk.work}?at=/&panel=graph").content


def test_an_edit_asks_the_database_as_often_however_large_the_graph(desk, team, django_assert_max_num_queries):
    with django_assert_max_num_queries(40):
        post(desk, op="set_shape", anchor=TASK, shape="chain")
