"""The interface of every format, from native records to dialogues and back, and what formats share."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

import orjson

from annotator.core.schema import Problem, SchemaProblem
from annotator.core.schema.canonical import encode_faithful, normalise
from annotator.core.schema.exact_json import JsonError, dumps, loads
from benchmark.core.formats.native_remainder import NATIVE

#: The longest external id that can be stored, including the ``:zh`` of a language variant.
MAX_ID = 200
CANARY = "canary"
NO_TOOLS = "The record has no tools, so every call is to an unknown tool."


@dataclass(slots=True)
class ReadDialogue:
    """One dialogue of one language, from a reader or for a writer.

    ``document`` is complete and valid: ``read_document(document) == document``; ``text`` is its canonical text.
    ``tools`` are as the record had them. ``variant_group`` is empty unless the record had the dialogue in more than one
    language.
    """

    external_id: str
    language: str
    variant_group: str
    document: dict[str, Any]
    tools: list[Any]
    warnings: list[Problem] = field(default_factory=list)
    text: str = ""
    #: The code of stateful tools, as ``toolsets.read_implementation`` takes it.
    implementation: dict[str, Any] | None = None


_Dialogue = TypeVar("_Dialogue", bound=ReadDialogue)


class Format(ABC):
    """Reads and writes native records.

    ``kinds``: the kinds of documents. ``holds_all``: whether each of these can be written; if not, ``write`` must be
    tried. ``joins_languages``: whether one record has every language of a dialogue. ``file_name``: the name of the file
    of records in a release; empty for the format's own name. ``roles``: what a field of a file may be mapped to, and
    the field's name in this format. ``losses``: what reading drops of every record, one sentence each. ``writes``:
    whether there are records of other formats' dialogues; ``write`` of a format that is only read raises ValueError.
    """

    name: ClassVar[str]
    kinds: ClassVar[frozenset[str]] = frozenset({"multi_turn"})
    holds_all: ClassVar[bool] = True
    joins_languages: ClassVar[bool] = False
    file_name: ClassVar[str] = ""
    roles: ClassVar[dict[str, str]] = {"id": "id"}
    losses: ClassVar[tuple[str, ...]] = ()
    writes: ClassVar[bool] = True

    @abstractmethod
    def read(self, record: Any) -> list[ReadDialogue]:
        """Return the record's dialogues, one per language, English first."""

    @abstractmethod
    def write(self, items: Sequence[ReadDialogue], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """Return the native record of the language variants of one dialogue.

        An unchanged dialogue gives the record it was read from. ``full`` asks for every field that the published
        evaluators read, whether or not the record had it. Raises ValueError if ``items`` do not belong together.
        """

    @abstractmethod
    def problems(self, items: Sequence[ReadDialogue]) -> list[Problem]:
        """Return what a published evaluator can't process in the record; pointers into the documents."""

    def by_record(self, variants: Sequence[_Dialogue]) -> list[Sequence[_Dialogue]]:
        """Return the language variants of one dialogue by the record they go into: one each if the format has only one
        language per record, or if two are in the same language.
        """
        if self.joins_languages and len({one.language for one in variants}) == len(variants):
            return [variants]
        return [[one] for one in variants]

    def take_files(self, record: dict[str, Any]) -> dict[str, bytes]:
        """Take the files out of a record that was written here; return them by path."""
        return {}


class Problems:
    """Collects the problems of one record, so that all of them are reported at once."""

    __slots__ = ("found",)

    #: A record with more problems is of a different kind, so listing the rest would not help.
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
    """Raise SchemaProblem if the record is not an object."""
    if type(record) is not dict:
        raise SchemaProblem([Problem("", f"A record must be an object, not {describe(record)}.")])


def refuse_own_field(record: dict[str, Any], problems: Problems) -> None:
    """Report a field that is reserved for Assay's notes."""
    if NATIVE in record:
        problems.add(f"/{NATIVE}", f"The field name {NATIVE} is reserved for Assay. Rename the field.")


def read_functions(record: dict[str, Any], problems: Problems, warnings: list[Problem]) -> list[Any]:
    """Return the record's tools. Reports anything but a list of functions, and warns if there are none."""
    tools = record.get("tools")
    if tools is None:
        warnings.append(Problem("/tools", NO_TOOLS))
        return []
    if type(tools) is not list or not all(type(tool) is dict for tool in tools):
        problems.add("/tools", "The tools must be a list of functions.")
        return []
    return tools


def only_one(items: Sequence[ReadDialogue], format_name: str) -> ReadDialogue:
    """Return the dialogue of a record that has one in one language. Raises ValueError if there are several."""
    if len(items) != 1:
        raise ValueError(f"A record of {format_name} has one dialogue. Write language variants one by one.")
    return items[0]


def empty_task(number: int, message: str) -> dict[str, Any]:
    """Return task ``number``, from 1, of a document: a user message without labels or steps."""
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
    """Convert the document to its stored form, and set ``text``.

    Raises SchemaProblem, with a pointer into the native record, if it cannot be stored exactly. The reader is
    responsible for the document's shape; validating it again would only cost time.
    """
    encoded = encode_faithful(dialogue.document, option=orjson.OPT_SORT_KEYS)
    if encoded is None:
        normalise(record)
        dialogue.document = normalise(dialogue.document)
        encoded = dumps(dialogue.document, option=orjson.OPT_SORT_KEYS)
    dialogue.text = encoded.decode()


def read_json_text(text: str, pointer: str, problems: Problems) -> Any:
    """Return the JSON value of a field's text; the text itself if it is not JSON.

    Reports JSON that cannot be stored, such as an object with the same key twice.
    """
    try:
        return loads(text)
    except JsonError as error:
        within = f" (at {error.pointer[:200]} in this text)" if error.pointer else ""
        problems.add(pointer, f"The text is JSON that cannot be stored{within}: {error.message}")
    except ValueError:
        pass
    return text


def from_json_text(record: dict[str, Any], name: str, problems: Problems) -> Any:
    """Return a field's value, or the list that it contains as a JSON text: tables have texts in their cells."""
    value = record.get(name)
    if type(value) is not str or not value.lstrip().startswith("["):
        return value
    read = read_json_text(value, f"/{name}", problems)
    return read if type(read) is list else value


def number_of_cell(value: Any) -> Any:
    """Return the whole number that a text is, because cells of tables are texts; anything else is unchanged."""
    if type(value) is str and len(value) <= 18 and value.isascii() and value.isdecimal():
        return int(value)
    return value


def describe(value: Any) -> str:
    """Return the kind of a JSON value, for a sentence."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true or false"
    names = {str: "text", int: "a number", float: "a number", list: "a list", dict: "an object"}
    return names.get(type(value), f"a {type(value).__name__}")


def quote(value: Any) -> str:
    """Return a value for a sentence, cut short."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"


def check_id(value: Any, problems: Problems, pointer: str = "/id") -> str:
    """Return a record's id as text. Reports an invalid one."""
    if isinstance(value, bool) or not isinstance(value, str | int):
        problems.add(pointer, f"The id must be text, not {describe(value)}.")
        return ""
    text = str(value)
    if not text.strip():
        problems.add(pointer, "The id is empty. Every record needs its own id.")
    elif len(text) > MAX_ID - len(":zh"):
        problems.add(pointer, f"The id has {len(text)} characters. The limit is {MAX_ID - len(':zh')}.")
    elif not text.isprintable():
        problems.add(pointer, "The id contains control characters. Use printable ones.")
    return text


def guess_language(texts: Iterable[str]) -> str:
    """Return ``zh``, ``en`` or "" by the characters: Chinese if a tenth of the letters are."""
    chinese = latin = other = 0
    for text in texts:
        text = text[:2000]
        if text.isascii():
            # Nearly every text is, and this is eight times as fast.
            latin += sum(map(str.isalpha, text))
            continue
        for character in text:
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
