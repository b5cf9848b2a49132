"""The reference of a dialogue as the scorers read it: the nodes of each task, their graph and the labels."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any

from annotator.core.graph import Graph, Matcher
from annotator.core.graph.dag import positions
from annotator.core.graph.enumeration import ready_mask
from annotator.core.graph.published import PublishedCode
from benchmark.core.formats.answer_nodes import ANSWER, ASK, write_nodes
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.formats.labels import C3_INFORMATION_WORDS, WILD_INFORMATION_WORDS, wild_policy_word
from benchmark.core.formats.native_remainder import native


class UnusableReference(ValueError):
    """A reference that cannot be scored, with a sentence."""


#: Most sets of nodes that may be done after the same number of rounds.
MAX_STATES = 5_000
#: A text of the model as a call. A model cannot write these names, so no call is taken for a question or an answer.
QUESTION: dict[str, Any] = {"name": f"\0{ASK}", "arguments": {}, "same": lambda due: True}
FINAL: dict[str, Any] = {"name": f"\0{ANSWER}", "arguments": {}, "same": lambda due: True}


@dataclass(frozen=True, slots=True)
class Node:
    """One node of an answer list. ``name`` is the tool, or one of the two special names."""

    name: str
    arguments: Any
    needs: tuple[int, ...]

    @property
    def is_call(self) -> bool:
        return self.name not in (ASK, ANSWER)


class ReferenceTask:
    """One task: its nodes in file order, and its labels in the words of the native formats.

    ``label`` is the wild task type, ``policy`` and ``information`` are Assay's words; both can be None.
    """

    def __init__(self, task: Mapping[str, Any], where: str) -> None:
        self.where = where
        self.user_message: str = task["user_message"]
        self.policy: str | None = task["policy"]
        self.information: str | None = task["information"]
        self.label: str | None = task_type(task)
        self.native_information: str | None = task["native_information"]
        self.nodes = tuple(_read_node(node, where) for node in write_nodes(dict(task), full=True))

    @property
    def hides(self) -> bool:
        """Whether the task is labelled as hiding something (C3's ``turn_type``)."""
        return self.information not in (None, "explicit")

    @property
    def wild_information(self) -> str | None:
        return WILD_INFORMATION_WORDS.get(self.information or "")

    @property
    def c3_information(self) -> str | None:
        return C3_INFORMATION_WORDS.get(self.information or "")

    @cached_property
    def graph(self) -> Graph:
        """The graph of all nodes, questions and the answer included. Raises UnusableReference."""
        count = len(self.nodes)
        needs = []
        for node in self.nodes:
            if any(not 0 <= number < count for number in node.needs):
                raise UnusableReference(f"{self.where} depends on a node that does not exist.")
            needs.append(sum(1 << number for number in set(node.needs)))
        try:
            return Graph(tuple(f"s{position}" for position in range(count)), tuple(needs))
        except ValueError:
            raise UnusableReference(f"The dependencies of {self.where} form a cycle.") from None

    @cached_property
    def published(self) -> PublishedCode:
        """The moves of the published code, which treats questions and the answer as calls."""
        return PublishedCode(self.graph, [node.name for node in self.nodes])

    @cached_property
    def published_fewest(self) -> int | None:
        """The fewest batches according to the published code; None if the graph is too large to tell."""
        return self.published.count()[1]

    @cached_property
    def matcher(self) -> Matcher:
        """Follows legal paths; the arguments of a predicted call are judged by its own ``same``."""
        return Matcher(self.graph, self._reference_calls, lambda made, due: bool(made["same"](due["arguments"])))

    @cached_property
    def strict_matcher(self) -> Matcher:
        """Follows legal paths with equal arguments."""
        return Matcher(self.graph, self._reference_calls)

    @cached_property
    def _reference_calls(self) -> list[dict[str, Any]]:
        return [
            {"id": f"s{position}", "name": node.name, "arguments": node.arguments}
            if node.is_call
            else {"id": f"s{position}", "name": f"\0{node.name}", "arguments": {}}
            for position, node in enumerate(self.nodes)
        ]

    @cached_property
    def fewest_rounds(self) -> int:
        """The fewest rounds with each question and the answer alone in its round. Raises UnusableReference.

        All ready calls in one round are never worse than some of them, so each round is that, or one ready text.
        """
        calls = sum(1 << position for position, node in enumerate(self.nodes) if node.is_call)
        everything = (1 << len(self.nodes)) - 1
        states, rounds = {0}, 0
        while everything not in states:
            following = set()
            for done in states:
                ready = ready_mask(self.graph, done)
                if ready & calls:
                    following.add(done | ready & calls)
                following |= {done | 1 << position for position in positions(ready & ~calls)}
            if len(following) > MAX_STATES:
                raise UnusableReference(f"{self.where} has too many questions that can be asked in any order.")
            states, rounds = following, rounds + 1
        return rounds


class ReferenceDialogue:
    """One dialogue in one language. ``functions`` maps tool name → function (name, description, parameters)."""

    def __init__(self, dialogue: ReadDialogue) -> None:
        self.id = dialogue.variant_group or dialogue.external_id
        self.language: str = dialogue.document.get("language") or dialogue.language
        self.context = len(dialogue.document["context"])
        self.tools = dialogue.tools
        self.tasks = tuple(
            ReferenceTask(task, f"task {number} of {self.id}")
            for number, task in enumerate(dialogue.document["tasks"], 1)
        )

    @cached_property
    def functions(self) -> dict[str, dict[str, Any]]:
        found = {}
        for tool in self.tools:
            function = tool.get("function", tool) if isinstance(tool, dict) else None
            if isinstance(function, dict) and isinstance(function.get("name"), str):
                found[function["name"]] = function
        return found

    @cached_property
    def functions_with_numbers(self) -> dict[str, dict[str, Any]]:
        """The functions with the type “number” instead of “float”, as WildToolBench passes them on."""
        text = json.dumps(self.functions, ensure_ascii=False).replace('"type": "float"', '"type": "number"')
        replaced: dict[str, dict[str, Any]] = json.loads(text)
        return replaced

    @property
    def policies(self) -> tuple[str | None, ...]:
        return tuple(task.policy for task in self.tasks)


def entry_name(dialogue: str, index: int) -> str:
    """Return the name of the entry of a task (from 0)."""
    return f"{dialogue}#{index}"


def task_type(task: Mapping[str, Any]) -> str | None:
    """Return the wild task type of a task."""
    stored = native(dict(task)).get("label")
    return stored if isinstance(stored, str) else wild_policy_word(dict(task), stored)


def switches(policies: Sequence[str | None]) -> int:
    """Return how often the policy changes from one task to the next (PTF)."""
    return sum(one != other for one, other in pairwise(policies))


def _read_node(node: Mapping[str, Any], where: str) -> Node:
    needs = node.get("dependency_list")
    if needs is None:
        raise UnusableReference(f"The dependencies of {where} are not annotated, so its paths are unknown.")
    action = node["action"]
    return Node(action["name"], action["arguments"], tuple(needs))
