"""What every format offers: a reader from native records to dialogues, a writer back, and what passes between them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol

import orjson

from annotator.core.schema import Problem, SchemaProblem
from annotator.core.schema.canonical import encode_faithful, normalise
from annotator.core.schema.exact_json import JsonError, dumps, loads
from benchmark.core.formats.native_remainder import NATIVE

#: Longest external id that can be stored, the ``:zh`` of a language variant included.
MAX_ID = 200
CANARY = "canary"


@dataclass(slots=True)
class ReadDialogue:
    """One dialogue of one language, as a reader hands it over and a writer takes it back.

    ``document`` is complete and valid: ``read_document(document) == document``; ``text`` is its canonical text.
    ``tools`` are as the record had them. ``variant_group`` is empty unless the record held the dialogue in more than
    one language.
    """

    external_id: str
    language: str
    variant_group: str
    document: dict[str, Any]
    tools: list[Any]
    warnings: list[Problem] = field(default_factory=list)
    text: str = ""


class DialogueLike(Protocol):
    """What a writer needs of a dialogue, wherever it comes from."""

    @property
    def external_id(self) -> str: ...
    @property
    def language(self) -> str: ...
    @property
    def variant_group(self) -> str: ...
    @property
    def document(self) -> dict[str, Any]: ...
    @property
    def tools(self) -> list[Any]: ...


class Reader(Protocol):
    """Reads one native record."""

    def read(self, record: Any) -> list[ReadDialogue]:
        """The record's dialogues, one a language, English first.

        Raises SchemaProblem, its pointers into the native record, naming every problem found.
        """
        ...


class Writer(Protocol):
    """Writes one native record.

    ``kinds``: of which documents. ``holds_all``: whether each of these can be written, whatever is in it; where not,
    ``write`` has to be tried. ``joins_languages``: whether one record holds every language of a dialogue.
    ``file_name``: what the file of records is called in a release; empty for the format's own name.
    """

    kinds: ClassVar[frozenset[str]]
    holds_all: ClassVar[bool]
    joins_languages: ClassVar[bool]
    file_name: ClassVar[str]

    def take_files(self, record: dict[str, Any]) -> dict[str, bytes]:
        """The files that stand beside a record that was written here, by path; they are taken out of it."""
        ...

    def write(self, items: Sequence[DialogueLike], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """The native record of the language variants of one dialogue.

        An untouched dialogue gives the record it was read from. ``full`` asks for every field the published
        evaluators read, whether or not the record had it. Raises ValueError when ``items`` do not belong together.
        """
        ...

    def problems(self, items: Sequence[DialogueLike]) -> list[Problem]:
        """What a published evaluator would trip over in the record; pointers into the documents."""
        ...


class FormatDefaults:
    """What most formats have in common: dialogues of tasks, one language a record, nothing beside it."""

    kinds: ClassVar[frozenset[str]] = frozenset({"multi_turn"})
    holds_all: ClassVar[bool] = True
    joins_languages: ClassVar[bool] = False
    file_name: ClassVar[str] = ""

    def take_files(self, record: dict[str, Any]) -> dict[str, bytes]:
        """See ``Writer``."""
        return {}


class Problems:
    """Collects the problems of one record, so that all of them are reported at once."""

    __slots__ = ("found",)

    #: A record with more problems than this is of another kind altogether; the rest would only be noise.
    LIMIT = 50

    def __init__(self) -> None:
        self.found: list[Problem] = []

    def add(self, pointer: str, message: str) -> None:
        if len(self.found) < self.LIMIT:
            self.found.append(Problem(pointer, message))

    def extend(self, problems: Iterable[Problem]) -> None:
        for problem in problems:
            self.add(problem.pointer, problem.message)

    def raise_if_any(self) -> None:
        if self.found:
            raise SchemaProblem(self.found)


def require_object(record: Any) -> None:
    """Raise SchemaProblem for a record that is none."""
    if type(record) is not dict:
        raise SchemaProblem([Problem("", f"A record must be an object, not {describe(record)}.")])


def refuse_own_field(record: dict[str, Any], problems: Problems) -> None:
    """A record must not have the field that holds Assay's notes."""
    if NATIVE in record:
        problems.add(f"/{NATIVE}", f"The field name {NATIVE} is Assay's own; rename it.")


def only_one(items: Sequence[DialogueLike], format_name: str) -> DialogueLike:
    """The dialogue of a record that holds one in one language. Raises ValueError for several."""
    if len(items) != 1:
        raise ValueError(f"A record of {format_name} holds one dialogue; write language variants one by one.")
    return items[0]


def empty_task(number: int, message: str) -> dict[str, Any]:
    """Task ``number``, from 1, of a document: a user message without labels or steps."""
    return {
        "id": f"t{number}",
        "user_message": message,
        "policy": None,
        "information": None,
        "native_information": None,
        "env_info": None,
        "candidate_messages": [],
        "chosen": None,
        "steps": [],
        "extra": {},
    }


def settle_document(dialogue: ReadDialogue, record: dict[str, Any]) -> None:
    """Bring the document into the form that is stored, and set ``text``.

    Raises SchemaProblem, with a pointer into the native record, for what cannot be stored faithfully. The document's
    shape is the reader's own doing; going through the models once more would only cost time.
    """
    encoded = encode_faithful(dialogue.document, option=orjson.OPT_SORT_KEYS)
    if encoded is None:
        normalise(record)
        dialogue.document = normalise(dialogue.document)
        encoded = dumps(dialogue.document, option=orjson.OPT_SORT_KEYS)
    dialogue.text = encoded.decode()


def read_json_text(text: str, pointer: str, problems: Problems) -> Any:
    """The value that a field's text spells in JSON; the text itself where it is none.

    Reports a text that is JSON and cannot be kept as one, such as an object with a key that stands twice.
    """
    try:
        return loads(text)
    except JsonError as error:
        within = f" (at {error.pointer[:200]} in this text)" if error.pointer else ""
        problems.add(pointer, f"The text is JSON that cannot be kept{within}: {error.message}")
    except ValueError:
        pass
    return text


def describe(value: Any) -> str:
    """What kind of JSON value this is, for a sentence."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = {str: "a text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), f"a {type(value).__name__}")


def quote(value: Any) -> str:
    """A value as it stands in a sentence, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def check_id(value: Any, problems: Problems, pointer: str = "/id") -> str:
    """A record's id as text. Reports what cannot serve as one."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        problems.add(pointer, f"The id must be a text, not {describe(value)}.")
        return ""
    text = str(value)
    if not text.strip():
        problems.add(pointer, "The id is empty; every record needs an id of its own.")
    elif len(text) > MAX_ID - len(":zh"):
        problems.add(pointer, f"The id has {len(text)} characters; at most {MAX_ID - len(':zh')} can be stored.")
    elif not text.isprintable():
        problems.add(pointer, "The id holds control characters; use printable ones.")
    return text


def guess_language(texts: Iterable[str]) -> str:
    """``zh``, ``en`` or nothing, from the characters: a tenth of Chinese ones among the letters makes it Chinese."""
    chinese = latin = other = 0
    for text in texts:
        for character in text[:2000]:
            if "\u4e00" <= character <= "\u9fff":
                chinese += 1
            elif character.isascii():
                latin += character.isalpha()
            else:
                other += character.isalpha()
    letters = chinese + latin + other
    if not letters:
        return ""
    if chinese * 10 >= letters:
        return "zh"
    return "en" if latin * 10 >= letters * 9 else ""
