"""What is wrong with a document, as data: a place and a sentence."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Problem:
    """One fault: a JSON pointer (RFC 6901; empty for the whole document) and a sentence a person can act on."""

    pointer: str
    message: str


class SchemaProblem(ValueError):
    """A document that cannot be read; ``problems`` lists every fault found."""

    def __init__(self, problems: list[Problem]) -> None:
        self.problems = problems
        super().__init__("; ".join(f"{p.pointer or '/'}: {p.message}" for p in problems[:5]))
