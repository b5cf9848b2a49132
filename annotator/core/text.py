"""English text that is translated where it is shown: pure modules and the database keep it in English."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias, Union

Value: TypeAlias = Union[str, int, "Message"]


def gettext_noop(message: str) -> str:
    """Return `message` as it is; the name tells `make translations` to collect it."""
    return message


@dataclass(frozen=True)
class Message:
    """A sentence with placeholders such as ``%(name)s``; without values, a percent sign in it is only that.

    Values that are messages are translated too, others are shown as they are.
    """

    text: str
    values: Mapping[str, Value] = field(default_factory=dict)
    #: The sentence for counts other than one, if it depends on ``count``.
    plural: str = ""
    count: int = 1

    def render(self, translate: Callable[[str, str, int], str]) -> str:
        """Return the sentence. ``translate`` gets text, plural and count, and returns the translation."""
        text = translate(self.text, self.plural, self.count)
        if not self.values:
            return text
        return text % {
            name: value.render(translate) if isinstance(value, Message) else value
            for name, value in self.values.items()
        }

    @property
    def english(self) -> str:
        """The sentence as it is stored where only English is."""
        return self.render(lambda text, plural, count: plural if plural and count != 1 else text)

    def to_json(self) -> dict[str, Any]:
        """Return the message as JSON, without what is empty."""
        values = {name: _stored(value) for name, value in self.values.items()}
        counted = {"plural": self.plural, "count": self.count} if self.plural else {}
        return {"text": _stored(self.text)} | ({"values": values} if values else {}) | counted

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> Self:
        """Return the message of ``to_json``."""
        values = {
            name: cls.from_json(value) if isinstance(value, dict) else value
            for name, value in stored.get("values", {}).items()
        }
        return cls(stored["text"], values, stored.get("plural", ""), stored.get("count", 1))


def message(text: str, /, **values: Value) -> Message:
    """Return a sentence with values; `make translations` collects its text."""
    return Message(text, values)


def counted_message(text: str, plural: str, count: int, /, **values: Value) -> Message:
    """Return a sentence that shows a number as ``%(count)s``; `make translations` collects both texts."""
    return Message(text, {"count": f"{count:,}", **values}, plural, count)


def lines(parts: Sequence[Value], /) -> Message:
    """Return a message with a line for each part."""
    values = {f"line{number}": part for number, part in enumerate(parts)}
    return Message("\n".join(f"%({name})s" for name in values), values)


def _stored(value: Value) -> Any:
    if isinstance(value, Message):
        return value.to_json()
    # A sentence may quote anything, also NUL, which pages can't show.
    return value.replace("\x00", "�") if isinstance(value, str) else value
