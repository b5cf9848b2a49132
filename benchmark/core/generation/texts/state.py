"""Which texts a model is asked for, and where that stands, as JSON: everything that is needed to go on."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from typing import Any, Self

from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.text import message
from benchmark.core.generation.problems import Problem
from benchmark.core.generation.purposes import Purpose
from benchmark.core.generation.state import MAX_RETRIES, Unusable

#: Texts of one setup, characters of each, and of all.
MAX_TEXTS, MAX_LENGTH, MAX_TOTAL = 2_000, 20_000, 400_000
#: The kinds of texts: values of calls, what users and assistants say, and sentences that state constraints.
VALUE, SPOKEN, SENTENCE = "value", "spoken", "sentence"


@dataclass(frozen=True, slots=True)
class Text:
    """One text. ``key``: its name in prompts and answers. ``about``: what it is, in English, such as “user message”.

    ``places``: the anchors in the document where it is. ``keep``: what must be in the answer word for word.
    ``by_user``: whether a user says it, who knows no functions. ``rule``: the constraint that a sentence states, as
    JSON.
    """

    key: str
    kind: str
    about: str
    text: str
    places: tuple[str, ...] = ()
    keep: tuple[str, ...] = ()
    by_user: bool = False
    rule: dict[str, Any] | None = None

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> Self:
        return cls(**{**stored, "places": tuple(stored["places"]), "keep": tuple(stored["keep"])})


@dataclass(frozen=True)
class TextSetup:
    """What to ask for. ``source`` and ``target``: languages, equal for rewriting. ``origin``: what the caller needs to
    use the result. ``tools``: as a toolset has them. ``terms``: values of arguments whose translations are known.

    A sentence that no answer rewrites stays as it is; a text without a translation waits for a person.
    """

    name: str
    purpose: Purpose
    source: str
    target: str
    texts: tuple[Text, ...]
    tools: list[dict[str, Any]] = field(default_factory=list)
    retries: int = 2
    origin: dict[str, Any] = field(default_factory=dict)
    terms: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raises Unusable for what can't be asked for."""
        lengths = [len(one.text) for one in self.texts]
        rules = (
            (0 <= self.retries <= MAX_RETRIES, message("There are 0 to %(most)s retries.", most=MAX_RETRIES)),
            (bool(lengths), message("There is no text that a model could write.")),
            (len(lengths) <= MAX_TEXTS, message("There are more than %(most)s texts.", most=f"{MAX_TEXTS:,}")),
            (max(lengths, default=0) <= MAX_LENGTH, message("A text has more than %(most)s characters.",
                                                            most=f"{MAX_LENGTH:,}")),
            (sum(lengths) <= MAX_TOTAL, message("The texts have more than %(most)s characters.",
                                                most=f"{MAX_TOTAL:,}")),
        )  # fmt: skip
        for kept, sentence in rules:
            if not kept:
                raise Unusable(Problem("setup", sentence))

    @property
    def translates(self) -> bool:
        return self.purpose is Purpose.TRANSLATION

    @cached_property
    def by_key(self) -> dict[str, Text]:
        return {one.key: one for one in self.texts}

    @cached_property
    def toolset(self) -> CompiledToolset:
        return CompiledToolset.of_tools(self.tools)

    @classmethod
    def from_json(cls, stored: dict[str, Any], tools: list[dict[str, Any]]) -> Self:
        """Return the setup of ``to_json``, with the tools, which are stored elsewhere."""
        texts = tuple(Text.from_json(one) for one in stored["texts"])
        return cls(**{**stored, "purpose": Purpose(stored["purpose"]), "texts": texts, "tools": tools})

    def to_json(self) -> dict[str, Any]:
        """Return the setup without its tools."""
        stored = {one.name: getattr(self, one.name) for one in fields(self) if one.name != "tools"}
        texts = [asdict(one) | {"places": list(one.places), "keep": list(one.keep)} for one in self.texts]
        return stored | {"purpose": self.purpose.value, "texts": texts}


@dataclass(slots=True)
class TextState:
    """``done``: key → text and source; ``kept`` is true if no answer could be used, so that the text stays as it is.

    ``refusals``: key → the answers that were not accepted: how many, the latest one and its problems. ``answers``: of
    models, used so far. ``accepted``: the texts are complete and will be used. ``events``: everything that happened,
    from which this state can be made again.
    """

    setup: TextSetup
    answers: int = 0
    accepted: bool = False
    done: dict[str, dict[str, Any]] = field(default_factory=dict)
    refusals: dict[str, dict[str, Any]] = field(default_factory=dict)
    events: list[dict[str, Any]] = field(default_factory=list)

    def tried(self, key: str) -> int:
        """Return how many answers for a text were not accepted."""
        return int(self.refusals.get(key, {}).get("count", 0))

    def problems(self, key: str) -> list[Problem]:
        """Return why the latest answer for a text was not accepted."""
        return [Problem.from_json(one) for one in self.refusals.get(key, {}).get("problems", ())]

    def waiting(self) -> list[Text]:
        """Return the texts that models or people must write next: values first, because messages use them."""
        left = [one for one in self.setup.texts if one.key not in self.done]
        return [one for one in left if one.kind == VALUE] or left

    @property
    def stuck(self) -> bool:
        """Whether no retries are left for what is to be written next, so that a person must act."""
        left = self.waiting()
        return bool(left) and all(self.tried(one.key) > self.setup.retries for one in left)

    def results(self) -> Iterator[tuple[Text, str]]:
        """Yield each text with what was written for it."""
        for one in self.setup.texts:
            if one.key in self.done:
                yield one, self.done[one.key]["text"]

    def copy(self) -> "TextState":
        """Return a copy that can be changed. What it holds is replaced, never changed."""
        return TextState(
            self.setup, self.answers, self.accepted, dict(self.done), dict(self.refusals), list(self.events)
        )

    def to_json(self) -> dict[str, Any]:
        """Return the state without its setup."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name != "setup"}

    @classmethod
    def from_json(cls, stored: dict[str, Any], setup: TextSetup) -> "TextState":
        """Return the state of ``to_json``."""
        return cls(setup=setup, **stored)
