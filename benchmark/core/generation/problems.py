"""What is wrong with an answer of a model or a person."""

from dataclasses import dataclass
from typing import Any, Self

from annotator.core.text import Message


@dataclass(frozen=True, slots=True)
class Problem:
    """One problem. ``code`` is for counting; ``text`` says what is wrong and what to do."""

    code: str
    text: Message

    @property
    def english(self) -> str:
        """The sentence in English, for prompts."""
        return self.text.render(lambda text, plural, count: plural if plural and count != 1 else text)

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "text": self.text.to_json()}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        return cls(stored["code"], Message.from_json(stored["text"]))
