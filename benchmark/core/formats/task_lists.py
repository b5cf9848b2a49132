"""The common parts of wild, c3 and mmtb: a record lists the tasks of a dialogue, in one language or two.

Fields of the English variant begin with ``english_``; those without are Chinese, or shared by both.
"""

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from annotator.core.schema import Problem, SchemaProblem
from annotator.core.schema.exact_json import same
from benchmark.core.formats.answer_nodes import read_steps, write_nodes
from benchmark.core.formats.format_guess import refuse_other_format
from benchmark.core.formats.interface import (
    CANARY,
    NO_TOOLS,
    Format,
    Problems,
    ReadDialogue,
    check_id,
    describe,
    empty_task,
    guess_language,
    refuse_own_field,
    require_object,
    settle_document,
)
from benchmark.core.formats.native_remainder import compare, native, note, restore, unknown

ENGLISH, CHINESE = "en", "zh"
PREFIXES = {ENGLISH: "english_", CHINESE: ""}
#: The fields of the imported context.
CONTEXTS = frozenset(prefix + "context" for prefix in PREFIXES.values())
MAX_TASKS = 64

_NOWHERE = "The record has no tasks that this belongs to. It is kept; a release leaves it out."
_ROLES = ("system", "user", "assistant", "tool")


@dataclass(slots=True)
class LanguageReading:
    """One language of one record while it becomes a document."""

    record: dict[str, Any]
    language: str
    #: All languages of the record, English first.
    languages: list[str]
    problems: Problems
    warnings: list[Problem]

    @property
    def prefix(self) -> str:
        """The prefix of the language's own fields."""
        return PREFIXES[self.language]

    def warn(self, pointer: str, message: str) -> None:
        """Warn that something was read in a different way, or not at all."""
        self.warnings.append(Problem(pointer, message))

    def shared(self, field: str) -> tuple[str, Any]:
        """Return name and value of a field that the languages share, or of this language's own."""
        own = self.prefix + field
        return (own, self.record[own]) if own in self.record else (field, self.record.get(field))

    def own_or_other(self, field: str) -> tuple[str, Any]:
        """Return the language's own field or, if that is absent, the other language's; like ``shared``."""
        for language in (self.language, *self.languages):
            key = PREFIXES[language] + field
            if key in self.record:
                return key, self.record[key]
        return self.prefix + field, None

    def parallel_list(self, key: str, length: int, *, of: str = "tasks") -> list[Any] | None:
        """Return a list that must have ``length`` entries; None if it is absent or null."""
        value = self.record.get(key)
        if value is None:
            return None
        if type(value) is not list:
            self.problems.add(f"/{key}", f"Must be a list, not {describe(value)}.")
            return None
        if len(value) != length:
            self.problems.add(f"/{key}", f"The list has {len(value)} entries, but there are {length} {of}.")
            return None
        return value

    def tasks(self, field: str) -> list[dict[str, Any]] | None:
        """Return the tasks with messages and steps, their labels still null; None if there are none."""
        key, answers_key = f"{self.prefix}{field}", f"{self.prefix}answer_list"
        messages = self.record.get(key)
        if type(messages) is not list or not messages:
            self.problems.add(
                f"/{key}", f"The tasks must be a list of user messages, not {describe(messages or None)}."
            )
            return None
        if len(messages) > MAX_TASKS:
            self.problems.add(f"/{key}", f"The record has {len(messages)} tasks. The limit is {MAX_TASKS}.")
            return None
        answers = self.parallel_list(answers_key, len(messages))
        tasks = []
        for position, message in enumerate(messages):
            if type(message) is not str:
                self.problems.add(f"/{key}/{position}", f"A user message must be text, not {describe(message)}.")
            task = empty_task(position + 1, message)
            nodes = answers[position] if answers else None
            pointer = f"/{answers_key}/{position}"
            if type(nodes) is list:
                task["steps"], numbers = read_steps(nodes, pointer, self.problems)
                if numbers is not None:
                    note(task, idx=numbers)
            elif nodes is not None:
                self.problems.add(pointer, f"The answer of a task must be a list of nodes, not {describe(nodes)}.")
            tasks.append(task)
        return tasks

    def tools(self) -> list[Any]:
        """Return the language's own tools, or else those of the other language."""
        names = [f"{prefix}tools" for prefix in (self.prefix, *PREFIXES.values())]
        key = next((name for name in names if self.record.get(name) is not None), None)
        if key is None:
            self.warn(f"/{names[0]}", NO_TOOLS)
            return []
        tools = self.record[key]
        if type(tools) is not list:
            self.problems.add(f"/{key}", f"The tools must be a list of functions, not {describe(tools)}.")
            return []
        for position, tool in enumerate(tools):
            if type(tool) is not dict:
                self.problems.add(f"/{key}/{position}", f"A tool must be an object, not {describe(tool)}.")
        return tools


class TaskListFormat(Format):
    """One format of task lists."""

    joins_languages: ClassVar[bool] = True
    #: The field with the user messages, without its prefix; it shows which languages a record has.
    tasks_field: ClassVar[str]
    #: Names of all fields that the format knows, prefixed ones included.
    known: ClassVar[frozenset[str]]
    #: The fields of each single language; their Chinese names.
    own: ClassVar[frozenset[str]]

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Format``."""
        require_object(record)
        languages = self.languages(record)
        if not languages:
            refuse_other_format(record, self.name)
            message = f"The record has no tasks; a {self.name} record lists them under english_{self.tasks_field}."
            raise SchemaProblem([Problem(f"/english_{self.tasks_field}", message)])
        problems = Problems()
        external_id = self.read_id(record.get("id"), problems)
        refuse_own_field(record, problems)
        dialogues = []
        for language in languages:
            warnings: list[Problem] = []
            reading = LanguageReading(record, language, languages, problems, warnings)
            document = self.read_language(reading)
            dialogues.append(
                ReadDialogue(
                    external_id=external_id if language == languages[0] else f"{external_id}:{language}",
                    language=language,
                    variant_group=external_id if len(languages) > 1 else "",
                    document=document,
                    tools=reading.tools(),
                    warnings=warnings,
                )
            )
        problems.raise_if_any()
        self._keep_the_rest(record, dialogues)
        for dialogue in dialogues:
            settle_document(dialogue, record)
        return dialogues

    def write(self, items: Sequence[ReadDialogue], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """See ``interface.Format``."""
        variants = by_language(items)
        record = self.plain(variants, full=full)
        for key, value in _beside(variants).items():
            if key not in record and (full or key not in self.known):
                record[key] = value
        for language, item in variants.items():
            residue = native(item.document)
            if residue.get("format") == self.name:
                kept = kept_context(residue)
                restore(record, {"kept": kept} if full else residue)
                # A field that the languages no longer share gets a different name.
                own = PREFIXES[language] + "context"
                for entry in kept.values():
                    restore(record, {"kept": {own if own in record else "context": entry}})
        if canary is not None:
            record[CANARY] = canary
        return record

    def languages(self, record: dict[str, Any]) -> list[str]:
        """Return the languages of a record, English first. An empty list of tasks is not a variant if there
        is another.
        """
        there = [
            language for language, prefix in PREFIXES.items() if record.get(prefix + self.tasks_field) not in ([], None)
        ]
        if there:
            return there
        return [language for language, prefix in PREFIXES.items() if prefix + self.tasks_field in record][:1]

    def read_id(self, value: Any, problems: Problems) -> str:
        """Return the record's id as text."""
        return check_id(value, problems)

    @abstractmethod
    def read_language(self, reading: "LanguageReading") -> dict[str, Any]:
        """Return the document of one language, complete except for what the residue adds."""

    @abstractmethod
    def plain(
        self,
        variants: dict[str, ReadDialogue],
        *,
        full: bool = False,
        answers: dict[str, list[Any]] | None = None,
    ) -> dict[str, Any]:
        """Return the record in plain form, without fields that the format does not know.

        ``answers`` are answer lists by language that need not be written again.
        """

    def _keep_the_rest(self, record: dict[str, Any], dialogues: list[ReadDialogue]) -> None:
        """Store in the documents everything that writing them would not reproduce."""
        for key in record.keys() - self.known:
            if key == CANARY:
                continue
            only = ENGLISH if key.startswith("english_") and len(dialogues) > 1 else None
            for dialogue in dialogues:
                if only is None or dialogue.language == only:
                    dialogue.document["extra"][key] = record[key]
        # Readers of nodes have already kept the differences in well-formed answer lists, so these are not checked
        # again.
        answers = {}
        for dialogue in dialogues:
            value = record.get(f"{PREFIXES[dialogue.language]}answer_list")
            if type(value) is list and all(type(nodes) is list for nodes in value):
                answers[dialogue.language] = value
        plain = self.plain({dialogue.language: dialogue for dialogue in dialogues}, answers=answers)
        raw = {key: value for key, value in record.items() if key in self.known}
        if same(plain, raw):
            return
        residue = compare(raw, plain)
        for key, (value, fingerprint) in residue.get("kept", {}).items():
            if fingerprint is None and value and key not in CONTEXTS:
                dialogues[0].warnings.append(Problem(f"/{key}", _NOWHERE))
        for dialogue in dialogues:
            # Each variant has its own fields: an edit of one affects only what was kept of it.
            english = dialogue.language == ENGLISH
            own = {
                kind: {k: v for k, v in entries.items() if len(dialogues) == 1 or self._is_of(k, english=english)}
                for kind, entries in residue.items()
            }
            own = {kind: entries for kind, entries in own.items() if entries}
            if own:
                note(dialogue.document, format=self.name, **own)

    def _is_of(self, key: str, *, english: bool) -> bool:
        """Return whether a field of a record in two languages belongs to one of them: shared ones belong to both."""
        return not (key in self.own if english else key.startswith(PREFIXES[ENGLISH]))


def by_language(items: Sequence[ReadDialogue]) -> dict[str, ReadDialogue]:
    """Return the language variants of one dialogue, English first. Raises ValueError for any other dialogues."""
    variants: dict[str, ReadDialogue] = {}
    for item in items:
        language = language_of(item)
        if language in variants:
            raise ValueError(f"{item.external_id} and {variants[language].external_id} are in the same language.")
        variants[language] = item
    if not variants:
        raise ValueError("A record needs at least one dialogue.")
    return {language: variants[language] for language in PREFIXES if language in variants}


def language_of(item: ReadDialogue) -> str:
    """Return ``en`` or ``zh``: as stated by the dialogue, or else by its characters."""
    language = item.language or item.document.get("language")
    if language in PREFIXES:
        return str(language)
    return guess_language(task["user_message"] for task in item.document["tasks"]) or ENGLISH


def record_id(variants: dict[str, ReadDialogue]) -> str:
    """Return the id of the record of these variants."""
    items = list(variants.values())
    return items[0].external_id if len(items) == 1 else items[0].variant_group or items[0].external_id


def put_shared(record: dict[str, Any], key: str, values: dict[str, Any]) -> None:
    """Write a field that the languages share: once, unless the variants differ."""
    first, *others = values.values()
    if any(value != first for value in others):
        for language, value in values.items():
            record[PREFIXES[language] + key] = value
    else:
        record[key] = first


def _beside(variants: dict[str, ReadDialogue]) -> dict[str, Any]:
    """Return the fields that the format does not know, if the languages agree on them.

    A shared one is in both variants, and an edit removes it from the one whose words it repeats: written from the
    other, it would make a claim about both that is true for neither.
    """
    fields = [unknown(item.document) for item in variants.values()]
    beside: dict[str, Any] = {}
    for key, value in ((key, value) for one in fields for key, value in one.items()):
        holders = [one for one in fields if key in one]
        shared_by_all = len(holders) == len(fields) or key.startswith(PREFIXES[ENGLISH])
        if shared_by_all and all(same(one[key], value) for one in holders):
            beside[key] = value
    return beside


def write_answers(
    document: dict[str, Any], language: str, answers: dict[str, list[Any]] | None, *, full: bool
) -> list[Any]:
    """Return the answer lists of all tasks."""
    if answers and language in answers:
        return answers[language]
    return [write_nodes(task, full=full) for task in document["tasks"]]


def read_context(value: Any, pointer: str, problems: Problems) -> list[dict[str, str]]:
    """Return the imported context. The residue keeps fields other than role and text."""
    if value is None:
        return []
    if type(value) is not list:
        problems.add(pointer, f"The context must be a list of messages, not {describe(value)}.")
        return []
    out = []
    for position, message in enumerate(value):
        here = f"{pointer}/{position}"
        if type(message) is not dict:
            problems.add(here, f"A message must be an object with role and content, not {describe(message)}.")
            continue
        role, content = message.get("role"), message.get("content")
        if role not in _ROLES:
            problems.add(f"{here}/role", f"The role must be one of: {', '.join(_ROLES)}.")
        if content is not None and type(content) is not str:
            problems.add(f"{here}/content", f"The content must be text, not {describe(content)}.")
        out.append({"role": str(role), "content": content or ""})
    return out


def kept_context(notes: dict[str, Any]) -> dict[str, Any]:
    """Return the context that notes keep: messages with more than role and text, such as calls."""
    kept = notes.get("kept")
    return {key: entry for key, entry in kept.items() if key in CONTEXTS} if isinstance(kept, dict) else {}


def new_document(language: str, tasks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a complete document without labels."""
    return {
        "kind": "multi_turn",
        "language": language,
        "env_info": None,
        "context": [],
        "tasks": tasks,
        "extra": {},
    }


def evaluator_problems(item: ReadDialogue) -> list[Problem]:
    """Return what the published evaluators of all three formats can't process."""
    problems = []
    for task in item.document["tasks"]:
        here = f"/tasks/{task['id']}"
        steps = task["steps"]
        if not steps or steps[-1]["type"] != "answer":
            problems.append(Problem(f"{here}/steps", "The task does not end in an answer."))
        for step in steps:
            place = f"{here}/steps/{step['id']}"
            if step["depends_on"] is None:
                problems.append(Problem(f"{place}/depends_on", "The dependencies are not annotated."))
            if step["type"] == "clarification" and step["user_reply"] is None:
                problems.append(Problem(f"{place}/user_reply", "The user's reply to the question is missing."))
            if step["type"] == "call" and type(step["arguments"]) is str:
                problems.append(Problem(f"{place}/arguments", "The arguments are text, not an object."))
    return problems
