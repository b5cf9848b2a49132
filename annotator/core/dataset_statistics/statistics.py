"""The statistics of dialogues, made one by one or in parts that are merged."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from annotator.core.constraints.statistics import ConstraintStatistics
from annotator.core.dataset_statistics.messages import MessageStatistics, messages_of
from annotator.core.dataset_statistics.tool_use import Definitions, ToolUse, calls_of
from annotator.core.mergeable import Distribution, Mergeable, as_pairs, most_common
from annotator.core.search import describe_document

#: For what is not annotated or not known, such as a language.
NONE = "none"
#: Categories of toolsets that a summary lists.
LISTED = 60


@dataclass
class DatasetStatistics(Mergeable):
    """Counts over dialogues. Memory: at most about 300,000 short keys for each language, and as many for tools."""

    dialogues: int = 0
    tasks: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    languages: Counter[str] = field(default_factory=Counter)
    #: Category of the toolset → dialogues; blank without a category.
    categories: Counter[str] = field(default_factory=Counter)
    #: Number of tasks → dialogues.
    dialogues_by_tasks: Counter[int] = field(default_factory=Counter)
    policies: Counter[str] = field(default_factory=Counter)
    information: Counter[str] = field(default_factory=Counter)
    #: Of tasks with the policy multi_tool.
    topologies: Counter[str] = field(default_factory=Counter)
    #: Of constrained cases.
    scenarios: Counter[str] = field(default_factory=Counter)
    #: Type of a step → steps.
    steps: Counter[str] = field(default_factory=Counter)
    steps_per_task: Distribution = field(default_factory=Distribution)
    calls_per_dialogue: Distribution = field(default_factory=Distribution)
    rounds_per_case: Distribution = field(default_factory=Distribution)
    tool_use: ToolUse = field(default_factory=ToolUse)
    #: Language → messages.
    messages: dict[str, MessageStatistics] = field(default_factory=dict)
    constraints: ConstraintStatistics = field(default_factory=ConstraintStatistics)

    def add(self, document: Mapping[str, Any], definitions: Definitions, category: str = "") -> None:
        """Count a document. ``definitions``: of the tools in its toolset; ``category``: the toolset's.

        Takes time in proportion to the document's size.
        """
        labels = describe_document(document, index=False)
        language = labels.language or NONE
        self.dialogues += 1
        self.kinds[document["kind"]] += 1
        self.languages[language] += 1
        self.categories[category] += 1
        if document["kind"] == "toolset":
            return  # It has neither tasks nor messages.
        self.tasks += labels.task_count
        self.dialogues_by_tasks[labels.task_count] += 1
        self.policies.update(policy or NONE for policy in labels.policies)
        self.information.update(one or NONE for one in labels.information)
        self.topologies.update(
            topology or NONE
            for policy, topology in zip(labels.policies, labels.topologies, strict=True)
            if policy == "multi_tool"
        )
        self.calls_per_dialogue.add(labels.call_count)
        for call in calls_of(document):
            self.tool_use.add(call, definitions)
        messages = self.messages.setdefault(language, MessageStatistics())
        for kind, text in messages_of(document):
            messages.add(kind, text)
        if document["kind"] == "constrained":
            self._add_case(document)
        else:
            for task in document["tasks"]:
                self.steps.update(step["type"] for step in task["steps"])
                self.steps_per_task.add(len(task["steps"]))

    def _add_case(self, document: Mapping[str, Any]) -> None:
        self.scenarios[document["scenario"] or NONE] += 1
        self.constraints.add(document["constraints"])
        if document["reference_trajectory"] is not None:
            self.rounds_per_case.add(len(document["reference_trajectory"]))

    def summary(self) -> dict[str, Any]:
        """Return the counts as JSON: lists of pairs have an order, so that every store keeps it."""
        return {
            "dialogues": self.dialogues,
            "tasks": self.tasks,
            "kinds": _ranked(self.kinds),
            "languages": _ranked(self.languages),
            "toolset_categories": _ranked(self.categories)[:LISTED],
            "dialogues_by_tasks": as_pairs(self.dialogues_by_tasks),
            "policies": _ranked(self.policies),
            "information": _ranked(self.information),
            "topologies": _ranked(self.topologies),
            "scenarios": _ranked(self.scenarios),
            "steps": _ranked(self.steps),
            "steps_per_task": self.steps_per_task.summary(),
            "calls_per_dialogue": self.calls_per_dialogue.summary(),
            "rounds_per_case": self.rounds_per_case.summary(),
            "tool_use": self.tool_use.summary(),
            "messages": [[language, self.messages[language].summary()] for language in sorted(self.messages)],
            "constraints": self.constraints.summary() if self.constraints.cases else None,
        }


def _ranked(counts: Counter[str]) -> list[list[Any]]:
    """Return (name, count), the highest count first."""
    return [list(pair) for pair in most_common(counts.items(), len(counts))]
