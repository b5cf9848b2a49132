"""The tool graph in a real browser: drawn, undone, refused and accepted, by mouse, by keyboard and without scripts."""

import pytest
from playwright.sync_api import expect

from tests.factories import make_document
from tests.journeys.graph_tasks import at_graph, coast, edges_of
from tests.journeys.workspaces import draft_of, start_self_check, steps_of

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ANSWER = "s0 s1 s2 s3"


def test_by_mouse(window_of, team):
    graph = at_graph(window_of, team)
    with graph.window.saving():
        graph.drag("s0", "s3")
    assert edges_of(team)["s3"] == "s0"
    expect(graph.edge("s3", "s0")).to_be_visible()
    graph.expect_focus("s3")
    expect(graph.page.locator("#graph-preview")).to_contain_text("Blankenberge")
    box = graph.edge("s3", "s0").locator(".line").bounding_box()
    graph.page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    expect(graph.edge("s3", "s0")).to_be_focused()
    expect(graph.page.locator("#graph-status")).to_contain_text("s3 depends on s0")
    with graph.window.saving():
        graph.press("Delete")
    assert edges_of(team)["s3"] == ""
    with graph.window.saving():
        graph.page.locator("#toolbar").get_by_role("button", name="Undo").click()
    assert edges_of(team)["s3"] == "s0"
    expect(graph.edge("s3", "s0")).to_be_visible()
    with graph.window.saving():
        graph.page.locator("#toolbar").get_by_role("button", name="Redo").click()
    assert edges_of(team)["s3"] == ""


def test_by_keyboard(window_of, team):
    graph = at_graph(window_of, team)
    graph.window.tab_to("#node-s0")
    graph.press("j", "j", "j")
    graph.expect_focus("s3")
    graph.press("d")
    expect(graph.page.locator("#graph-status")).to_contain_text("s3 depends on …")
    graph.press("ArrowUp", "k")
    graph.expect_focus("s1")
    expect(graph.page.locator("#graph-status")).to_contain_text("Press Enter to add the dependency")
    graph.press("Escape")
    graph.expect_focus("s3")
    assert edges_of(team)["s3"] == ""
    graph.press("d", "ArrowUp")
    graph.expect_focus("s2")
    with graph.window.saving():
        graph.press("Enter")
    assert edges_of(team)["s3"] == "s2"
    graph.expect_focus("s3")
    graph.press("e")
    expect(graph.edge("s3", "s2")).to_be_focused()
    with graph.window.saving():
        graph.press("l")
    assert edges_of(team)["s3"] == "(s2)"
    expect(graph.edge("s3", "s2")).to_be_focused()
    with graph.window.saving():
        graph.press("Delete")
    assert edges_of(team)["s3"] == ""
    graph.expect_focus("s3")
    with graph.window.saving():
        graph.press("u")
    assert edges_of(team)["s3"] == "(s2)"
    graph.page.locator("#node-s0").focus()
    graph.press("ArrowRight")
    graph.expect_focus("s3")
    graph.press("Enter")
    expect(graph.page.locator("#i-head")).to_contain_text("s3")
    graph.press("g")
    expect(graph.page.locator("#i-head")).to_contain_text("Tool graph")
    graph.press("?")
    expect(graph.page.locator("#shortcuts")).to_contain_text("Tool graph of the task")
    expect(graph.page.locator("#shortcuts")).to_contain_text("Add a dependency: go to the other step")


@pytest.mark.parametrize("by", ["mouse", "keyboard"])
def test_a_circle_is_refused_and_shown(window_of, team, page_problems, by):
    page_problems.allow("status of 422")
    document = coast()
    document["tasks"][0]["steps"][2]["depends_on"] = [{"id": "s0", "kind": "parameter"}]
    graph = at_graph(window_of, team, document)
    with graph.window.saving(status=422):
        if by == "mouse":
            graph.drag("s2", "s0")
        else:
            graph.node("s0").focus()
            graph.press("d", "ArrowRight", "Enter")
    expect(graph.page.locator("#edit-note")).to_contain_text("s0 → s2 → s0")
    expect(graph.page.locator("#graph-canvas .node.in-circle")).to_have_count(2)
    expect(graph.edge("s0", "s2")).to_have_accessible_name("s0 depends on s2, passes a value, refused")
    assert edges_of(team)["s0"] == ""
    graph.window.expect_state("saved")
    with graph.window.saving():
        graph.drag("s1", "s3")
    expect(graph.page.locator("#graph-canvas .node.in-circle")).to_have_count(0)
    expect(graph.page.locator("#edit-note")).to_have_text("")


def test_suggestions_by_mouse(window_of, team):
    graph = at_graph(window_of, team)
    expect(graph.page.locator("#graph-canvas .edge.suggested")).to_have_count(2)
    with graph.window.saving():
        graph.page.get_by_role("button", name="Accept that s2 depends on s0").click()
    assert edges_of(team)["s2"] == "s0"
    with graph.window.saving():
        graph.page.get_by_role("button", name="Accept all").click()
    assert edges_of(team) == {"s0": "", "s1": "", "s2": "s0", "s3": "s1", "s4": ANSWER}
    expect(graph.page.locator("#graph-suggestions")).to_have_count(0)


def test_suggestions_by_keyboard_are_one_step_to_undo(window_of, team):
    graph = at_graph(window_of, team)
    graph.node("s3").focus()
    graph.press("e")
    expect(graph.edge("s3", "s1")).to_be_focused()
    with graph.window.saving():
        graph.press("Enter")
    assert edges_of(team)["s3"] == "s1"
    with graph.window.saving():
        graph.press("u")
    expect(graph.page.locator("#accept-all")).to_be_visible()
    with graph.window.saving():
        graph.press("y")
    assert edges_of(team) == {"s0": "", "s1": "", "s2": "s0", "s3": "s1", "s4": ANSWER}
    with graph.window.saving():
        graph.press("u")
    assert edges_of(team) == {"s0": "", "s1": "", "s2": "", "s3": "", "s4": ANSWER}


def test_what_is_not_annotated_says_so_and_takes_a_shape(window_of, team):
    document = coast(annotated=False)
    second = coast()["tasks"][0] | {"id": "t2", "information": "coreferential_reference"}
    document["tasks"].append(second)
    graph = at_graph(window_of, team, document)
    inspector = graph.window.inspector
    expect(inspector).to_contain_text("Not annotated: s0, s1, s2, s3, s4")
    expect(inspector.locator(".graph-facts")).to_have_count(0)
    with graph.window.saving():
        inspector.get_by_role("button", name="Mark as independent").click()
    assert edges_of(team) == {"s0": "", "s1": "", "s2": "", "s3": "", "s4": ANSWER}
    # Four independent calls: the ordered Bell number 75.
    expect(inspector.locator(".graph-facts")).to_contain_text("75")
    expect(inspector.locator(".tag", has_text="Parallel")).to_be_visible()
    with graph.window.saving():
        inspector.get_by_role("button", name="Chain all calls").click()
    assert edges_of(team) == {"s0": "", "s1": "(s0)", "s2": "(s1)", "s3": "(s2)", "s4": "s3"}
    expect(inspector.locator(".tag", has_text="Sequential")).to_be_visible()
    with graph.window.saving():
        inspector.get_by_role("button", name="Copy").click()
    assert edges_of(team) == {"s0": "", "s1": "", "s2": "", "s3": "", "s4": ANSWER}
    with graph.window.saving():
        graph.press("u")
    assert edges_of(team)["s4"] == "s3"


def test_a_policy_that_contradicts_the_steps_is_put_right_by_one_key(window_of, team):
    document = coast()
    document["tasks"][0]["policy"] = "single_tool"
    graph = at_graph(window_of, team, document)
    graph.page.locator("#i-head").focus()
    with graph.window.saving():
        graph.press("p")
    assert draft_of(team)["tasks"][0]["policy"] == "multi_tool"
    expect(graph.page.get_by_role("button", name="Set the policy")).to_have_count(0)


def test_a_value_is_shown_where_it_stands(window_of, team):
    graph = at_graph(window_of, team)
    page, window = graph.page, graph.window
    window.open_place("s2 of task t1")
    field = page.locator("#f-arguments").get_by_label("city")
    field.focus()
    expect(window.chat.locator("mark.source")).to_have_text(["Oostende"])
    expect(window.chat.locator("#text-at-tasks-t1-steps-s0-observation mark")).to_have_count(1)
    expect(page.locator("#sources")).to_contain_text("observation of s0")
    link = page.locator("#sources a").first
    expect(window.chat.locator(link.get_attribute("href"))).to_have_count(1)
    page.locator("#tool-name").focus()
    expect(window.chat.locator("mark.source")).to_have_count(0)
    page.locator("#sources li").first.hover()
    expect(window.chat.locator("mark.source")).to_have_count(1)
    page.locator("#i-head").hover()
    expect(window.chat.locator("mark.source")).to_have_count(0)
    with window.saving():
        field.fill("Atlantis")
    expect(page.locator("#sources")).to_contain_text("no source")
    page.get_by_text("Mark city as inferable…").click()
    page.get_by_label("What is it inferred from?").fill("a legend")
    with window.saving():
        page.get_by_role("button", name="Mark as inferable", exact=True).click()
    assert steps_of(team)[2]["inferable"] == {"/city": "a legend"}
    expect(page.locator("#sources")).to_contain_text("Inferable: a legend")
    with window.saving():
        page.get_by_role("button", name="Remove mark").click()
    assert steps_of(team)[2]["inferable"] == {}


@pytest.mark.parametrize("width", [1440, 320])
def test_everybody_can_read_it(window_of, team, check_accessibility, width):
    document = coast()
    steps = document["tasks"][0]["steps"]
    steps[1]["depends_on"] = [{"id": "s0", "kind": "logical"}]
    steps[2]["depends_on"] = [{"id": "s0", "kind": "parameter"}, {"id": "s1", "kind": "parameter"}]
    graph = at_graph(window_of, team, document, width=width)
    graph.node("s1").focus()
    expect(graph.page.locator("#graph-preview .call-name")).to_have_text("get_weather")
    check_accessibility(graph.page)
    assert graph.page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    graph.window.open_place("s2 of task t1")
    graph.page.locator("#f-arguments").get_by_label("city").focus()
    expect(graph.window.chat.locator("mark.source")).to_have_count(1)
    check_accessibility(graph.page)


def test_without_scripts(window_of, team):
    graph = at_graph(window_of, team, javascript=False)
    page = graph.page
    page.locator("#graph-draw [name=anchor]").select_option("s3 get_weather")
    page.locator("#graph-draw [name=id]").select_option("s2 get_weather")
    page.locator("#graph-draw [name=kind]").select_option("order only")
    page.get_by_role("button", name="Add dependency").click()
    assert edges_of(team)["s3"] == "(s2)"
    expect(graph.edge("s3", "s2")).to_be_visible()
    page.get_by_role("button", name="Remove the dependency of s3 on s2").click()
    assert edges_of(team)["s3"] == ""
    page.get_by_role("button", name="Accept all").click()
    assert edges_of(team)["s3"] == "s1"
    page.get_by_role("button", name="Undo").click()
    assert edges_of(team)["s3"] == ""
    graph.node("s2").click()
    expect(page.locator("#i-head")).to_contain_text("s2")
    expect(page.locator("#sources")).to_contain_text("Oostende")


def test_without_scripts_a_circle_is_refused_and_shown(window_of, team, page_problems):
    page_problems.allow("status of 422")
    document = coast()
    document["tasks"][0]["steps"][2]["depends_on"] = [{"id": "s0", "kind": "parameter"}]
    graph = at_graph(window_of, team, document, javascript=False)
    page = graph.page
    page.locator("#graph-draw [name=anchor]").select_option("s0 find_trains")
    page.locator("#graph-draw [name=id]").select_option("s2 get_weather")
    page.get_by_role("button", name="Add dependency").click()
    expect(page.get_by_role("alert")).to_contain_text("s0 → s2 → s0")
    expect(page.locator("#graph-canvas .node.in-circle")).to_have_count(2)
    assert edges_of(team)["s0"] == ""


def test_a_task_without_steps_has_no_graph(window_of, team):
    document = make_document()
    document["tasks"][0] |= {"steps": [], "policy": None}
    window = start_self_check(window_of, team, document)
    window.page.goto(f"{window.page.url}?at=/tasks/t1&panel=graph")
    expect(window.inspector).to_contain_text("This task has no steps yet.")
