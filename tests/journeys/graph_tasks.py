"""A task whose calls use what others gave back, and somebody at its tool graph."""

from copy import deepcopy
from typing import Any

from playwright.sync_api import Locator, expect

from tests.factories import Team, make_document
from tests.journeys.browser_window import BrowserWindow
from tests.journeys.workspaces import Open, draft_of, start_self_check

TASK = "/tasks/t1"


def call(step: str, name: str, arguments: dict[str, Any], observation: Any) -> dict[str, Any]:
    return {"id": step, "type": "call", "name": name, "arguments": arguments, "observation": observation}


def coast(*, annotated: bool = True) -> dict[str, Any]:
    """Four calls with no dependencies, of which s2 uses a value of s0, and s3 one of s1; ``s4`` is the answer."""
    document = make_document()
    task = document["tasks"][0]
    task["user_message"] = (
        "I am in Ghent. What is the weather here, at the end of the line to Bruges, and at the coast?"
    )
    task["policy"] = "multi_tool"
    task["steps"] = [
        call("s0", "find_trains", {"origin": "Ghent", "destination": "Bruges"}, {"trains": [{"ends_at": "Oostende"}]}),
        call("s1", "get_weather", {"city": "Ghent"}, {"sky": "clear", "nearest_coast": "Blankenberge"}),
        call("s2", "get_weather", {"city": "Oostende"}, {"sky": "grey"}),
        call("s3", "get_weather", {"city": "Blankenberge"}, {"sky": "blue"}),
        {"id": "s4", "type": "answer", "text": "Clear, grey and blue.", "answer_type": "tool"},
    ]
    for step in task["steps"]:
        step["depends_on"] = [] if annotated else None
    if annotated:
        task["steps"][4]["depends_on"] = [{"id": f"s{n}", "kind": "parameter"} for n in range(4)]
    return deepcopy(document)


def edges_of(team: Team, task: int = 0) -> dict[str, str | None]:
    """{step: the ids it depends on} of the stored draft; order alone in brackets, None where not annotated."""
    return {
        step["id"]: None
        if step["depends_on"] is None
        else " ".join(f"({d['id']})" if d["kind"] == "logical" else d["id"] for d in step["depends_on"])
        for step in draft_of(team)["tasks"][task]["steps"]
    }


class GraphDesk:
    """Somebody's window with the tool graph open."""

    def __init__(self, window: BrowserWindow) -> None:
        self.window, self.page = window, window.page

    def node(self, step: str) -> Locator:
        return self.page.locator(f"#node-{step}")

    def edge(self, step: str, needs: str) -> Locator:
        return self.page.locator(f"#edge-{step}-{needs}")

    def drag(self, needs: str, step: str) -> None:
        """From the port of one step to another: the later depends on the earlier."""
        port = self.node(needs).locator(".port").bounding_box()
        box = self.node(step).locator("rect").bounding_box()
        assert port is not None
        assert box is not None
        mouse = self.page.mouse
        mouse.move(port["x"] + port["width"] / 2, port["y"] + port["height"] / 2)
        mouse.down()
        mouse.move(box["x"] + 60, box["y"] + 10, steps=4)
        expect(self.page.locator("#graph-canvas svg.connecting")).to_have_count(1)
        mouse.move(box["x"] + 50, box["y"] + box["height"] / 2, steps=4)
        mouse.up()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def expect_focus(self, step: str) -> None:
        expect(self.node(step)).to_be_focused()


def at_graph(window_of: Open, team: Team, document: dict[str, Any] | None = None, **options: Any) -> GraphDesk:
    """The first annotator, with the graph of the first task open."""
    window = start_self_check(window_of, team, document or coast(), **options)
    window.page.goto(f"{window.page.url.split('?')[0]}?at={TASK}&panel=graph")
    expect(window.page.locator("#graph-canvas svg")).to_be_visible()
    return GraphDesk(window)
