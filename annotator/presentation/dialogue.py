"""A dialogue of tasks as pages show it: tasks and steps with their findings beside them. Pure."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, ClassVar

from annotator.core.comparison.anchors import covers
from annotator.core.graph import derive_topology
from annotator.core.schema.indenting import indented

POLICY_LABELS = {
    "single_tool": "Single tool",
    "multi_tool": "Multi tool",
    "clarify": "Clarify",
    "chat": "Chat",
}
INFORMATION_LABELS = {
    "explicit": "Explicit",
    "partial_information": "Partial information",
    "coreferential_reference": "Coreferential reference",
    "long_range_dependency": "Long-range dependency",
}
TOPOLOGY_LABELS = {
    "single": "single",
    "sequential": "sequential",
    "parallel": "parallel",
    "mixed": "sequential and parallel",
}


@dataclass(frozen=True)
class FindingView:
    """One finding at its place. ``waiver`` is the reason somebody gave; a waived warning blocks nothing."""

    check: str
    severity: str
    anchor: str
    message: str
    value_hash: str
    waiver: str = ""
    #: The value at the anchor with which the finding is gone, where there is no doubt which that is.
    fix: str = ""
    #: The anchor in words: which task, which step.
    place: str = ""

    @property
    def validator(self) -> str:
        """The constraint whose validator it is about; blank for other findings."""
        parts = self.anchor.split("/")
        return parts[2] if parts[1:2] == ["constraints"] and parts[3:4] == ["validator"] else ""

    @property
    def fix_label(self) -> str:
        return POLICY_LABELS.get(self.fix, self.fix)

    @property
    def blocks(self) -> bool:
        return self.severity == "error" or (self.severity == "warning" and not self.waiver)


@dataclass
class StepView:
    """A step as a card."""

    anchor: str
    id: str
    type: str
    number: int
    data: dict[str, Any]
    depends_on: list[dict[str, str]] | None
    findings: list[FindingView] = field(default_factory=list)
    #: Whether it is the part being edited.
    is_current: bool = False

    @property
    def arguments_text(self) -> str:
        return pretty(self.data.get("arguments"))

    @property
    def observation_text(self) -> str:
        value = self.data.get("observation")
        return "" if value is None else pretty(value)

    @property
    def observation_kind(self) -> str:
        """Whether the observation is a text or JSON; what is not there yet is expected to be JSON."""
        return "text" if isinstance(self.data.get("observation"), str) else "json"

    @property
    def failed(self) -> bool:
        """Whether the observation reports an error of the tool."""
        return any(f.check == "trajectory.tool_error" for f in self.findings)

    @property
    def worst(self) -> str:
        return worst(self.findings)


@dataclass
class TaskView:
    """A task as a part of the chat."""

    anchor: str
    id: str
    number: int
    data: dict[str, Any]
    topology: str
    steps: list[StepView] = field(default_factory=list)
    #: Findings of the task itself, not of its steps.
    findings: list[FindingView] = field(default_factory=list)
    #: Whether it is the part being edited.
    is_current: bool = False

    @property
    def has_calls(self) -> bool:
        return any(step.type == "call" for step in self.steps)

    @property
    def worst(self) -> str:
        return worst([*self.findings, *(f for step in self.steps for f in step.findings)])


@dataclass
class DialogueView:
    """A whole document, ready for a template."""

    #: What lays it out.
    template: ClassVar[str] = "components/dialogue.html"

    data: dict[str, Any]
    tasks: list[TaskView]
    findings: list[FindingView]
    #: Findings of the dialogue as a whole.
    general: list[FindingView]

    @property
    def errors(self) -> list[FindingView]:
        return [f for f in self.findings if f.severity == "error"]

    @property
    def warnings(self) -> list[FindingView]:
        return [f for f in self.findings if f.severity == "warning"]

    @property
    def infos(self) -> list[FindingView]:
        return [f for f in self.findings if f.severity == "info"]

    @property
    def parts(self) -> Iterator[Any]:
        """Everything that can be selected, in the order of the page: tasks and their steps."""
        for task in self.tasks:
            yield task
            yield from task.steps

    def select(self, at: str | None) -> tuple[Any, str]:
        """The step, task or (None) whole dialogue that an anchor lies in, marked as the part being edited; its anchor.

        Without an anchor it is the first task.
        """
        for task in self.tasks:
            for step in task.steps:
                if at and covers(step.anchor, at):
                    step.is_current = True
                    return step, step.anchor
            if at and covers(task.anchor, at):
                task.is_current = True
                return task, task.anchor
        if at == "/" or not self.tasks:
            return None, "/"
        first = self.tasks[0]
        first.is_current = True
        return first, first.anchor

    @property
    def open_warnings(self) -> list[FindingView]:
        return [f for f in self.warnings if not f.waiver]


#: Parts of an anchor that a place of its own may have: “/tasks/t1/steps/s1”, with the one before the first stroke.
_DEEPEST = 5


class Placing:
    """Findings by where they stand: each at the first place that asks, of those that are or hold what it means."""

    def __init__(self, views: list[FindingView]) -> None:
        self.views = views
        self._placed: set[int] = set()
        self._below: dict[str, list[FindingView]] = {}
        for view in views:
            parts = view.anchor.split("/", _DEEPEST)[:_DEEPEST]
            for count in range(2, len(parts) + 1):
                self._below.setdefault("/".join(parts[:count]), []).append(view)

    def take(self, anchor: str) -> list[FindingView]:
        """The findings of a place that no other has taken."""
        own = [one for one in self._below.get(anchor, ()) if id(one) not in self._placed]
        self._placed.update(map(id, own))
        return own

    def rest(self) -> list[FindingView]:
        """Those that no place has taken."""
        return [one for one in self.views if id(one) not in self._placed]


def present_tasks(document: dict[str, Any], views: list[FindingView]) -> DialogueView:
    """A dialogue of tasks, its findings at their places."""
    tasks: list[TaskView] = []
    placing = Placing(views)
    for n, task in enumerate(document["tasks"], 1):
        anchor = f"/tasks/{task['id']}"
        steps = []
        for k, step in enumerate(task["steps"], 1):
            step_anchor = f"{anchor}/steps/{step['id']}"
            steps.append(
                StepView(
                    anchor=step_anchor,
                    id=step["id"],
                    type=step["type"],
                    number=k,
                    data=step,
                    depends_on=step["depends_on"],
                    findings=placing.take(step_anchor),
                )
            )
        topology = derive_topology(task["steps"])
        tasks.append(
            TaskView(
                anchor=anchor,
                id=task["id"],
                number=n,
                data=task,
                topology=str(topology or ""),
                steps=steps,
                findings=placing.take(anchor),
            )
        )
    return DialogueView(data=document, tasks=tasks, findings=views, general=placing.rest())


def pretty(value: Any) -> str:
    """JSON as people read it; a text as itself."""
    if isinstance(value, str):
        return value
    return indented(value)


def worst(findings: Iterable[FindingView]) -> str:
    """The gravest severity that still asks for something; blank when nothing does."""
    severities = {f.severity for f in findings if f.severity == "error" or (f.severity == "warning" and not f.waiver)}
    return "error" if "error" in severities else "warning" if "warning" in severities else ""
