"""The dialogues that a release looks at, with the labels that it counts."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from annotator.core.search import describe_document


class Labels(NamedTuple):
    """The counted labels of a dialogue."""

    language: str
    policies: tuple[str, ...]
    topologies: tuple[str, ...]
    information: tuple[str, ...]
    task_count: int
    call_count: int

    @classmethod
    def read(cls, document: dict[str, Any]) -> "Labels":
        found = describe_document(document, index=False)
        return cls(
            found.language or "",
            tuple(value or "" for value in found.policies),
            tuple(value or "" for value in found.topologies),
            tuple(value or "" for value in found.information),
            found.task_count,
            found.call_count,
        )


@dataclass(slots=True, frozen=True)
class Candidate:
    """A dialogue's row with what the release counts; its content is read only if needed."""

    pk: int
    external_id: str
    kind: str
    status: str
    stage: str
    gold_role: str
    variant_group: str
    head_id: int | None
    language: str
    policies: str
    topologies: str
    information: str
    task_count: int
    call_count: int

    @property
    def listed(self) -> tuple[str, str, str]:
        return self.policies, self.topologies, self.information

    @property
    def labels(self) -> Labels:
        """Return the labels of the head, as they were read from it."""
        policies, topologies, information = (tuple(text[1:-1].split(",")) if text else () for text in self.listed)
        return Labels(self.language, policies, topologies, information, self.task_count, self.call_count)
