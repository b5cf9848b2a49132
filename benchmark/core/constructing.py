"""Constrained cases as records to import: their ids, and how they were made (``annotator/core/case_construction``)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from annotator.core.case_construction import DRAWN, CannotConstruct, Constructed, construct, read_query
from annotator.core.schema.canonical import canonical, content_hash
from annotator.core.schema.exact_json import dumps
from annotator.core.schema.toolsets import CompiledToolset
from benchmark.core.formats.interface import MAX_ID

#: The field of a record, and the key of its metadata, that name the source.
FIELD = "constructed"
SOURCE_KEY = f"{FIELD}.source"
MAX_SEED = 2**31 - 1


@dataclass(frozen=True)
class Options:
    """How to make cases: each category with ``probability``, except those in ``without``.

    Raises CannotConstruct if an option makes no sense.
    """

    seed: int
    probability: float = 0.5
    without: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not 0 <= self.seed <= MAX_SEED:
            raise CannotConstruct(f"The seed must be between 0 and {MAX_SEED}, not {self.seed}.")
        if not 0 < self.probability <= 1:
            raise CannotConstruct("The probability must be above 0 and at most 1.")
        unknown = next((name for name in self.without if name not in DRAWN), None)
        if unknown is not None:
            raise CannotConstruct(f"“{unknown}” is not a category that is drawn. Use one of: {', '.join(DRAWN)}.")
        if len(set(self.without)) == len(DRAWN):
            raise CannotConstruct("All categories are left out. Keep at least one.")

    def as_json(self) -> dict[str, Any]:
        return {"seed": self.seed, "probability": self.probability, "without": list(self.without)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        return cls(data["seed"], data["probability"], tuple(data["without"]))

    def name_of(self, source: str) -> str:
        """Return the id of the case that is made from a source."""
        return f"{source}-s{self.seed}"


@dataclass(frozen=True)
class Made:
    """A case, and its record in the neutral format."""

    name: str
    case: Constructed
    record: dict[str, Any]

    @property
    def line(self) -> bytes:
        return dumps(self.record) + b"\n"


def make(
    source: str, document: Mapping[str, Any], tools: list[Any], options: Options, how: Mapping[str, Any] | None = None
) -> Made:
    """Make the case of a source. ``how``: more about the source. Raises CannotConstruct with the reason."""
    name = options.name_of(source)
    if len(name) > MAX_ID:
        raise CannotConstruct(f"The id of the case would have {len(name)} characters. The limit is {MAX_ID}.")
    try:
        query = read_query(document, CompiledToolset.of_tools(tools))
        case = construct(
            query, name=source, seed=options.seed, probability=options.probability, without=options.without
        )
    except CannotConstruct:
        raise
    except ValueError as problem:
        # Unreadable tools, or a trajectory that the filter can't judge.
        raise CannotConstruct(f"No case can be made from this one: {problem}") from problem
    how = {
        **(how or {}),
        "source": source,
        "source_sha256": content_hash(canonical(dict(document))),
        **options.as_json(),
        "left_out": [f"{one.category}: {one.reason}" for one in case.left_out],
        "changes": [
            f"{one.category}: {'dropped' if one.dropped else 'drawn again'}. {one.text} {one.reason}"
            for one in case.changes
        ],
    }
    # Empty lists say nothing as metadata.
    how = {key: value for key, value in how.items() if value != []}
    record = {"assay": 1, "id": name, "document": case.document, "tools": tools, FIELD: how}
    return Made(name, case, record)
