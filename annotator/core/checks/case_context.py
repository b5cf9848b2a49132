"""The parts of a constrained case that checks read: its trajectory, constraints and validators."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from annotator.core.checks.context import CallContext, Context
from annotator.core.checks.registry import Found
from annotator.core.checks.settings import CheckSettings
from annotator.core.constraints.feasibility import feasibility_findings
from annotator.core.constraints.reading_case import case_of, replay_of
from annotator.core.constraints.replay import Replay
from annotator.core.findings import Severity, Stage
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.validators.trial import Outcome


class CaseContext(Context):
    """One constrained case to check. It has no tasks, so checks of tasks report nothing about it."""

    def __init__(
        self,
        document: dict[str, Any],
        toolset: CompiledToolset,
        stage: Stage,
        settings: CheckSettings,
        severities: Mapping[str, Severity],
    ) -> None:
        super().__init__(document | {"tasks": []}, toolset, stage, settings, severities)
        #: Results of trying its validators, by key; None if they are not known.
        self.trials: Mapping[str, Outcome] | None = None
        self.document = document
        self.calls = [
            CallContext(call, f"/reference_trajectory/{each['id']}/calls/{call['id']}", toolset.tools.get(call["name"]))
            for each in document["reference_trajectory"] or ()
            for call in each["calls"]
        ]
        self.case = [document]
        self.case_data = case_of(document, toolset.names)

    @property
    def call_groups(self) -> list[list[CallContext]]:
        return [self.calls]

    @property
    def user_messages(self) -> list[tuple[str, str]]:
        return [("/user_query", self.document["user_query"])]

    @property
    def user_texts(self) -> list[tuple[str, str]]:
        """What the user says. The system prompt is left out: the benchmark wrote it, and it names tools."""
        return self.user_messages

    def assistant_texts(self) -> Iterator[tuple[str, str]]:
        if self.document["answer"]:
            yield "/answer", self.document["answer"]
        for each in self.document["reference_trajectory"] or ():
            if each["final"]:
                yield f"/reference_trajectory/{each['id']}/final", each["final"]

    def constraint_anchor(self, position: int) -> str:
        return f"/constraints/{self.document['constraints'][position]['id']}"

    @cached_property
    def feasibility(self) -> Mapping[str, list[Found]]:
        """What prevents solving the case within its constraints, by check."""
        found: dict[str, list[Found]] = defaultdict(list)
        for finding in feasibility_findings(self.case_data):
            position = int(finding.anchor.rpartition("/")[2])
            place = self.constraint_anchor(position), self.case_data.content(position), finding.message
            found[finding.check].append(place)
        return found

    @cached_property
    def replayed(self) -> Replay | None:
        """The reference trajectory judged by the constraints that need no code."""
        return replay_of(self.document, self.toolset, self.case_data.constraints)
