"""What a description of tools is read into."""

from dataclasses import dataclass, field
from typing import Any

from annotator.core.text import Message


@dataclass(frozen=True, slots=True)
class Note:
    """What was left out or changed. ``place``: a tool, a pointer into the source, or blank for the whole."""

    place: str
    message: Message


@dataclass(frozen=True, slots=True)
class ReadTools:
    """Tools as OpenAI function objects, and what was lost on the way. ``name``: the title that the source has."""

    tools: list[dict[str, Any]]
    notes: list[Note] = field(default_factory=list)
    name: str = ""


class SourceProblem(ValueError):
    """A source that cannot be read. ``message`` is a sentence that says why; ``place`` where."""

    def __init__(self, message: Message, place: str = "") -> None:
        super().__init__(message.text)
        self.message, self.place = message, place


def function(name: str, description: str, parameters: Any, response: Any = None) -> dict[str, Any]:
    """Return a tool as OpenAI writes it; a JSON Schema of what it returns is its ``response``, as in BFCL."""
    found = {"name": name, "description": description, "parameters": parameters}
    return {"type": "function", "function": found | ({"response": response} if response else {})}
