"""The input of the checks: one document, split into the parts that most checks need."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from annotator.core.checks.settings import CheckSettings
from annotator.core.findings import Severity, Stage
from annotator.core.graph import GraphProblem, GraphReading, read_graph
from annotator.core.provenance.scope import MAX_LEAVES, DocumentScope, anchor_below, leaves_below
from annotator.core.provenance.value_search import Finder
from annotator.core.schema.toolsets import CompiledToolset, Tool
from annotator.core.schema.violations import Budget, Violation, find_violations


class CallContext:
    """One call: the step, its anchor, and its tool (None if the toolset has no such tool)."""

    __slots__ = ("_leaves", "anchor", "arguments", "step", "tool")

    def __init__(self, step: dict[str, Any], anchor: str, tool: Tool | None) -> None:
        self.step = step
        self.anchor = anchor
        self.tool = tool
        #: None if the arguments could not be read as an object.
        self.arguments: dict[str, Any] | None = step["arguments"] if isinstance(step["arguments"], dict) else None
        self._leaves: list[tuple[tuple[Any, ...], Any]] | None = None

    @property
    def leaves(self) -> list[tuple[tuple[Any, ...], Any]]:
        """Pairs (path of keys and indexes, text or number) of everything below the arguments, up to MAX_LEAVES."""
        if self._leaves is None:
            self._leaves, _ = leaves_below(self.arguments or {}, MAX_LEAVES)
        return self._leaves

    def anchor_of(self, path: tuple[Any, ...]) -> str:
        """Return the anchor of a place below the arguments."""
        return anchor_below(self.anchor, path)


class TaskContext:
    """One task: its steps by kind, its anchor, and its graph, which is read on first use."""

    __slots__ = ("_reading", "anchor", "answers", "calls", "clarifications", "index", "steps", "task")

    def __init__(self, index: int, task: dict[str, Any], toolset: CompiledToolset) -> None:
        self.index = index
        self.task = task
        self.anchor = f"/tasks/{task['id']}"
        self.steps: list[dict[str, Any]] = task["steps"]
        self.calls: list[CallContext] = []
        self.clarifications: list[dict[str, Any]] = []
        self.answers: list[dict[str, Any]] = []
        self._reading: GraphReading | None = None
        tools = toolset.tools
        for step in self.steps:
            kind = step["type"]
            if kind == "call":
                self.calls.append(CallContext(step, f"{self.anchor}/steps/{step['id']}", tools.get(step["name"])))
            elif kind == "answer":
                self.answers.append(step)
            else:
                self.clarifications.append(step)

    @property
    def reading(self) -> GraphReading:
        """The task's graph and its problems."""
        if self._reading is None:
            self._reading = read_graph(self.steps)
        return self._reading

    def step_anchor(self, step: Mapping[str, Any]) -> str:
        """Return the anchor of one of the task's steps."""
        return f"{self.anchor}/steps/{step['id']}"


class Context:
    """One document to check."""

    #: The constrained case, in a list. Empty for other kinds of documents, so checks of cases do not run on them.
    case: Sequence[dict[str, Any]] = ()

    def __init__(
        self,
        document: dict[str, Any],
        toolset: CompiledToolset,
        stage: Stage,
        settings: CheckSettings,
        severities: Mapping[str, Severity],
    ) -> None:
        self.document = document
        self.toolset = toolset
        self.stage = stage
        self.settings = settings
        self.severities = severities
        self.tasks = [TaskContext(index, task, toolset) for index, task in enumerate(document["tasks"])]
        self.calls = [call for task in self.tasks for call in task.calls]

    @property
    def single(self) -> Sequence[dict[str, Any]]:
        """The single task, in a list; empty for other kinds of documents."""
        return ()

    @property
    def composite(self) -> Sequence[dict[str, Any]]:
        """The same for a composite."""
        return ()

    @property
    def described_tools(self) -> Sequence[dict[str, Any]]:
        """The tools of a toolset; empty for other kinds of documents."""
        return ()

    @cached_property
    def violations(self) -> list[Violation]:
        """The places where calls violate the schemas of their tools."""
        budget = Budget()
        return [
            violation
            for call in self.calls
            if call.tool is not None and call.arguments is not None
            for violation in find_violations(call.tool, call.arguments, f"{call.anchor}/arguments", budget)
        ]

    @cached_property
    def graph_problems(self) -> list[tuple[TaskContext, GraphProblem]]:
        """The problems of the tasks' graphs."""
        return [(task, problem) for task in self.tasks for problem in task.reading.problems]

    @cached_property
    def provenance(self) -> Finder:
        """The sources of the calls' argument values."""
        return Finder(DocumentScope(self.document, self.toolset, [task.reading for task in self.tasks]))

    @property
    def call_groups(self) -> list[list[CallContext]]:
        """The calls of each task."""
        return [task.calls for task in self.tasks]

    @property
    def user_messages(self) -> list[tuple[str, str]]:
        """Pairs (anchor, text) of the messages that set a task."""
        return [(f"{task.anchor}/user_message", task.task["user_message"]) for task in self.tasks]

    @cached_property
    def user_texts(self) -> list[tuple[str, str]]:
        """Pairs (anchor, text) of what the user says: messages and replies to clarifications."""
        texts = []
        for task in self.tasks:
            texts.append((f"{task.anchor}/user_message", task.task["user_message"]))
            for step in task.clarifications:
                if step["user_reply"]:
                    texts.append((f"{task.step_anchor(step)}/user_reply", step["user_reply"]))
        return texts

    def assistant_texts(self) -> Iterator[tuple[str, str]]:
        """Yield pairs (anchor, text) of what the assistant says: questions and answers."""
        for task in self.tasks:
            for step in task.clarifications:
                if step["question"]:
                    yield f"{task.step_anchor(step)}/question", step["question"]
            for step in task.answers:
                if step["text"]:
                    yield f"{task.step_anchor(step)}/text", step["text"]
