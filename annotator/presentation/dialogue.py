"""A dialogue of tasks for pages: tasks and steps with their findings."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from annotator.core.comparison.anchors import covers
from annotator.core.fields import CustomField, value_words
from annotator.core.graph import derive_topology
from annotator.core.schema.canonical import value_hash
from annotator.core.schema.indenting import indented
from annotator.core.schema.native_notes import is_failed, is_refusal
from annotator.presentation.components.labels import texts_of

POLICY_LABELS = texts_of("policy")
INFORMATION_LABELS = texts_of("information")
TOPOLOGY_LABELS = {
    "single": gettext_noop("single"),
    "sequential": gettext_noop("sequential"),
    "parallel": gettext_noop("parallel"),
    "mixed": gettext_noop("sequential and parallel"),
}


@dataclass(frozen=True)
class FindingView:
    """One finding at its place. ``waiver``: the reason given in a waiver; a waived warning blocks nothing."""

    check: str
    severity: str
    anchor: str
    message: str
    value_hash: str
    waiver: str = ""
    #: The value at the anchor that resolves the finding, if there is only one.
    fix: str = ""
    #: The anchor in words.
    place: str = ""

    @property
    def validator(self) -> str:
        """The constraint whose validator it is about, or blank."""
        parts = self.anchor.split("/")
        return parts[2] if parts[1:2] == ["constraints"] and parts[3:4] == ["validator"] else ""

    @property
    def row(self) -> str:
        """The DOM id of its row in the editor."""
        return f"finding-{value_hash([self.check, self.anchor, self.value_hash, self.message])}"

    @property
    def fix_label(self) -> str:
        return _(POLICY_LABELS.get(self.fix, self.fix))

    @property
    def blocks(self) -> bool:
        return self.severity == "error" or (self.severity == "warning" and not self.waiver)


def label_words(part: dict[str, Any], fields: Sequence[CustomField] = ()) -> list[str]:
    """Return the labels of a part, the values of custom fields, as “title: value”; of unknown fields with their key."""
    known = {field.key: field for field in fields}
    return [
        f"{known[key].lead if key in known else f'{key}:'} {value_words(value, known.get(key))}"
        for key, value in part.get("labels", {}).items()
    ]


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
    #: What the model reads of a single task's call, when it was run; None if it was not.
    response: str | None = None
    #: The project's custom fields, whose titles its labels have.
    custom_fields: Sequence[CustomField] = ()

    @property
    def labels(self) -> list[str]:
        return label_words(self.data, self.custom_fields)

    @property
    def arguments_text(self) -> str:
        return pretty(self.data.get("arguments"))

    @property
    def observation_text(self) -> str:
        value = self.data.get("observation")
        return "" if value is None else pretty(value)

    @property
    def observation_kind(self) -> str:
        """``text`` or ``json``; a missing observation is expected to be JSON."""
        return "text" if isinstance(self.data.get("observation"), str) else "json"

    @property
    def failed(self) -> bool:
        """Whether the observation reports an error of the tool."""
        return is_failed(self.data) or any(f.check == "trajectory.tool_error" for f in self.findings)

    @property
    def refused(self) -> bool:
        """Whether an answer refuses what the user asked for."""
        return self.type == "answer" and is_refusal(self.data)

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
    #: The project's custom fields, whose titles its labels have.
    custom_fields: Sequence[CustomField] = ()

    @property
    def labels(self) -> list[str]:
        return label_words(self.data, self.custom_fields)

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
    #: The project's custom fields, whose titles its labels have.
    custom_fields: Sequence[CustomField] = ()

    @property
    def labels(self) -> list[str]:
        return label_words(self.data, self.custom_fields)

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

    @property
    def blocks(self) -> Sequence[Any]:
        """The parts that can be shown again one by one, because each has an id and is independent of the others."""
        return self.tasks

    def select(self, at: str | None) -> tuple[Any, str]:
        """Mark the step, task or whole dialogue (None) at an anchor as the current part; return it and its anchor.

        The default is the first task. What is in no task, such as a label of the dialogue, belongs to the whole.
        """
        for task in self.tasks:
            for step in task.steps:
                if at and covers(step.anchor, at):
                    step.is_current = True
                    return step, step.anchor
            if at and covers(task.anchor, at):
                task.is_current = True
                return task, task.anchor
        if ((at or "").startswith("/") and not (at or "").startswith("/tasks/")) or not self.tasks:
            return None, "/"
        first = self.tasks[0]
        first.is_current = True
        return first, first.anchor

    @property
    def open_warnings(self) -> list[FindingView]:
        return [f for f in self.warnings if not f.waiver]


#: Parts of the deepest anchor with findings of its own: “/tasks/t1/steps/s1”, and the blank before the first slash.
_DEEPEST = 5


class Placing:
    """Findings by place: each goes to the first place that asks and is at or above its anchor."""

    def __init__(self, views: list[FindingView]) -> None:
        self.views = views
        self._placed: set[int] = set()
        self._below: dict[str, list[FindingView]] = {}
        for view in views:
            parts = view.anchor.split("/", _DEEPEST)[:_DEEPEST]
            for count in range(2, len(parts) + 1):
                self._below.setdefault("/".join(parts[:count]), []).append(view)

    def take(self, anchor: str) -> list[FindingView]:
        """Return the findings of a place that no other place has taken."""
        own = [one for one in self._below.get(anchor, ()) if id(one) not in self._placed]
        self._placed.update(map(id, own))
        return own

    def rest(self) -> list[FindingView]:
        """Return the findings that no place has taken."""
        return [one for one in self.views if id(one) not in self._placed]


def present_tasks(document: dict[str, Any], views: list[FindingView]) -> DialogueView:
    """Arrange a dialogue of tasks with its findings for pages."""
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
    """Return indented JSON; a text as it is."""
    if isinstance(value, str):
        return value
    return indented(value)


def worst(findings: Iterable[FindingView]) -> str:
    """Return the highest severity that needs action; blank if none does."""
    severities = {f.severity for f in findings if f.severity == "error" or (f.severity == "warning" and not f.waiver)}
    return "error" if "error" in severities else "warning" if "warning" in severities else ""
