"""The parts of a single task that checks read: its trajectory, and what it came to when it was run."""

from collections.abc import Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Any

from annotator.core.checks.context import Context
from annotator.core.execution.dependencies import Dependencies, explain
from annotator.core.execution.running import Execution
from annotator.core.execution.signatures import SignatureProblem, compare_signatures
from annotator.core.execution.subjects import Record, Subject, subject_of
from annotator.core.sandbox.trajectories import Implementation, ToolCall
from annotator.core.schema import canonical, load_text


@lru_cache(maxsize=64)
def _compared(source: str, class_name: str | None, load: str | None, schemas: str) -> tuple[SignatureProblem, ...]:
    """Compare code with schemas given as text: parsing takes milliseconds, and many tasks share a toolset."""
    return tuple(compare_signatures(Implementation(source, class_name, load), load_text(schemas)))


class SingleContext(Context):
    """One single task to check."""

    #: Known executions by key; None if they are not known.
    executions: Mapping[str, Record] | None = None

    @property
    def single(self) -> Sequence[dict[str, Any]]:
        return [self.document]

    @property
    def question(self) -> str:
        """What the user asks for."""
        text: str = self.document["tasks"][0]["user_message"]
        return text

    @property
    def tool_calls(self) -> list[ToolCall]:
        """The calls; unreadable arguments count as none."""
        return [ToolCall(call.step["name"], call.arguments or {}) for call in self.calls]

    def anchor_of(self, index: int) -> str:
        """Return the anchor of a call."""
        return self.calls[index].anchor

    @cached_property
    def subject(self) -> Subject | str:
        """The trajectory to run, or why it cannot be run."""
        return subject_of(self.document, self.toolset)

    @property
    def signature_problems(self) -> tuple[SignatureProblem, ...]:
        """Where the code of the tools and their schemas differ."""
        code = self.toolset.implementation
        if code is None:
            return ()
        schemas = canonical({name: tool.parameters for name, tool in self.toolset.tools.items()})
        return _compared(code["source"], code["class"], code["load"], schemas)

    @cached_property
    def record(self) -> Record | None:
        """The execution of exactly this trajectory, if it is known."""
        if self.executions is None or isinstance(self.subject, str):
            return None
        return self.executions.get(self.subject.key)

    @cached_property
    def execution(self) -> Execution | None:
        """What each call came to, if the trajectory was run."""
        if self.record is None or isinstance(self.subject, str):
            return None
        return self.record.execution(self.subject)

    @cached_property
    def dependencies(self) -> Dependencies | None:
        """What each call depends on, if it is known."""
        if self.record is None or self.record.reruns is None or self.execution is None:
            return None
        return explain(self.execution, self.record.reruns, self.question)
