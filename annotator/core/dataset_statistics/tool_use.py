"""The tools that dialogues call: how often, with which values, and the types of their parameters."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from annotator.core.mergeable import Key, Mergeable, SampledCounts, most_common
from annotator.core.schema.canonical import value_hash
from annotator.core.schema.toolsets import ToolSpec
from annotator.core.tools.parameters import parameters_of
from annotator.core.tools.statistics import KINDS

#: Tools and parameters that a summary lists.
LISTED = 20
_MAX_TOOLS, _MAX_PARAMETERS, _MAX_VALUES = 10_000, 20_000, 100_000

#: Name of a tool → a key of its definition: its name, the hash of its parameters, and the type of each of them.
Definitions = Mapping[str, tuple[str, ...]]


def definitions_of(specs: Iterable[ToolSpec]) -> Definitions:
    """Return the definitions of a toolset's tools."""
    return {
        spec.name: (spec.name, value_hash(spec.parameters), *(one.kind for one in parameters_of(spec)))
        for spec in specs
    }


def calls_of(document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield the calls of a document. Those of a composite are in its single tasks."""
    if document["kind"] == "constrained":
        for one in document["reference_trajectory"] or ():
            yield from one["calls"]
        return
    for task in document["tasks"]:
        yield from (step for step in task["steps"] if step["type"] == "call")


@dataclass
class ToolUse(Mergeable):
    """Counts over calls. Only the tool's own parameters have values here; what is inside a value belongs to it."""

    #: Tool → calls.
    tools: SampledCounts = field(default_factory=lambda: SampledCounts(_MAX_TOOLS))
    #: Calls of tools that the toolset does not have.
    unknown: int = 0
    #: Definition of a called tool → calls.
    definitions: SampledCounts = field(default_factory=lambda: SampledCounts(_MAX_TOOLS))
    #: (tool, parameter) → values.
    parameters: SampledCounts = field(default_factory=lambda: SampledCounts(_MAX_PARAMETERS))
    #: (tool, parameter, hash of the value) → times.
    values: SampledCounts = field(default_factory=lambda: SampledCounts(_MAX_VALUES))

    def add(self, call: Mapping[str, Any], definitions: Definitions) -> None:
        """Count a call."""
        name = call["name"]
        self.tools.add(name)
        definition = definitions.get(name)
        if definition is None:
            self.unknown += 1
        else:
            self.definitions.add(definition)
        if isinstance(call["arguments"], dict):
            for parameter, value in call["arguments"].items():
                self.parameters.add((name, parameter))
                self.values.add((name, parameter, value_hash(value)))

    def summary(self) -> dict[str, Any]:
        """Return the counts as JSON."""
        types: Counter[str] = Counter()
        for definition, _calls in self.definitions.items():
            types.update(definition[2:])
        scale = self.definitions.level
        return {
            "calls": self.tools.total,
            "tools": self.tools.distinct,
            "unknown": self.unknown,
            "most_called": [list(pair) for pair in self.tools.most_common(LISTED)],
            "definitions": self.definitions.distinct,
            "parameter_types": [[kind, types[kind] << scale] for kind in KINDS if types[kind]],
            "values": self.values.total,
            "distinct_values": self.values.distinct,
            "by_parameter": self._by_parameter(),
            "exact": all(one.exact for one in (self.tools, self.definitions, self.parameters, self.values)),
        }

    def _by_parameter(self) -> list[list[Any]]:
        """Return (tool, parameter, values, different values) of the parameters with the most values."""
        distinct: Counter[Key] = Counter()
        for key, _times in self.values.items():
            distinct[key[:2]] += 1
        scale = self.values.level
        return [
            [*key, times, min(times, distinct[key] << scale)]
            for key, times in most_common(self.parameters.items(), LISTED)
        ]
