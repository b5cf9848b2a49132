"""Cases of CCTU as the scorer reads them."""

from collections.abc import Mapping, Sequence
from typing import Any

from annotator.core.constraints.model import Constraint, Parameters
from annotator.core.constraints.reading_case import constraints_of
from annotator.core.constraints.resource import RoundBounds
from annotator.core.constraints.taxonomy import Category, find_category, read_parameters
from annotator.core.schema.errors import SchemaProblem
from benchmark.core.formats.cctu_writing import SCENARIOS
from benchmark.core.formats.interface import ReadDialogue
from benchmark.core.formats.native_remainder import native
from benchmark.core.scoring.references import UnusableReference

#: The published ceiling of rounds.
MAX_ROUNDS = 20
#: The labels by which the published registry knows the two kinds of content.
_CONTENT_LABELS = {
    "content_1": "IDENTIFIERS", "identifiers": "IDENTIFIERS", "content_2": "PUNCTUATION", "punctuation": "PUNCTUATION",
}  # fmt: skip
_SCENARIO_WORDS = {scenario: word for word, scenario in SCENARIOS.items()}


class Rule:
    """One constraint of a case. ``parameters`` is None if it cannot be judged; ``why`` says why."""

    def __init__(self, position: int, constraint: Constraint, stored: Mapping[str, Any]) -> None:
        self.position, self.constraint = position, constraint
        self.category: Category[Any] | None = find_category(constraint.category)
        self.why = "" if self.category else "The constraint has no category."
        self.parameters: Parameters | None = None
        if self.category:
            try:
                self.parameters = read_parameters(constraint)
            except SchemaProblem as problem:
                self.category, self.why = None, problem.problems[0].message
        self.label = _content_label(stored)

    @property
    def name(self) -> str:
        return self.constraint.category or ""

    @property
    def needs_validator(self) -> bool:
        return self.category is not None and self.category.needs == "validator"


class ReferenceCase:
    """A case as the scorer reads it. Raises UnusableReference if it does not say what must be found."""

    def __init__(self, dialogue: ReadDialogue) -> None:
        document = dialogue.document
        self.id = dialogue.external_id
        self.document = document
        self.scenario = document["scenario"]
        if document["unsolved_set"] is None:
            raise UnusableReference(f"Case {self.id} has no unsolved set that can be read, so nothing can be solved.")
        self.unsolved: Mapping[str, Sequence[Any]] = document["unsolved_set"]
        self.rules = [
            Rule(position, constraint, stored)
            for position, (constraint, stored) in enumerate(
                zip(constraints_of(document), document["constraints"], strict=True)
            )
        ]
        self.codes: Mapping[str, str] = document["tool_codes"]
        self.tools: dict[str, Mapping[str, Any]] = {}
        for tool in dialogue.tools:
            function = tool.get("function", tool)
            if isinstance(function, Mapping) and isinstance(function.get("name"), str):
                parameters = function.get("parameters")
                self.tools[function["name"]] = parameters if isinstance(parameters, Mapping) else {}
        bounds = [rule.parameters for rule in self.rules if isinstance(rule.parameters, RoundBounds)]
        self.max_rounds = min([MAX_ROUNDS, *(one.max_round for one in bounds if isinstance(one.max_round, int))])

    @property
    def data_source(self) -> str:
        return _SCENARIO_WORDS.get(self.scenario, "")


def _content_label(stored: Mapping[str, Any]) -> str:
    """Return the published label of a content constraint, by its native word or its validator's function."""
    if stored["category"] != "content":
        return ""
    words = native(dict(stored)).get("label")
    validator = stored["validator"] or {}
    known = [words[1] if isinstance(words, list) and len(words) == 2 else "", validator.get("function") or ""]
    for word in known:
        if isinstance(word, str) and (label := _CONTENT_LABELS.get(word.strip().lower().removeprefix("validate_"))):
            return label
    return ""
