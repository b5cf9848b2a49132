"""C3-Bench and Multi-Mission Tool Bench records, which have the same layout.

Per language (with the prefix ``english_``, or Chinese without): ``task``, ``answer_list``, ``messages``, ``tools``.
Shared: ``task_ids``, ``env_info`` (one text, or one for each task), ``type``, ``turn_type``, ``turn_subtypes``. If two
variants differ in a shared field, the English one gets an ``english_`` field of its own. Records of the same data with
the field names of ``wild`` are read as well, and written back with them.

The published evaluators ask for more, which a full export adds: ``env_info`` has a Chinese weekday (tasks without one
are silently dropped), and ``task`` exists even in an English file.
"""

import re
from collections.abc import Sequence
from datetime import date
from typing import Any, ClassVar

from annotator.core.schema import Problem
from benchmark.core.formats.interface import (
    Problems,
    ReadDialogue,
    check_id,
    describe,
    quote,
    settle_document,
)
from benchmark.core.formats.labels import (
    C3_INFORMATION,
    C3_INFORMATION_WORDS,
    C3_POLICIES,
    C3_WORDS,
    WILD_INFORMATION,
    listed,
)
from benchmark.core.formats.messages import build_messages, check_style, read_style, split_blocks, without_role
from benchmark.core.formats.native_remainder import native, note
from benchmark.core.formats.task_lists import (
    CHINESE,
    PREFIXES,
    LanguageReading,
    TaskListFormat,
    by_language,
    evaluator_problems,
    new_document,
    put_shared,
    read_context,
    record_id,
    write_answers,
)
from benchmark.core.formats.wild import WildFormat

_OWN_FIELDS = ("task", "answer_list", "messages", "messages_with_calls", "tools")
_SHARED_FIELDS = ("task_ids", "env_info", "type", "turn_type", "turn_subtypes")
_TRUTH = {"真": True, "假": False}
_WEEKDAY = "星期"
_WEEKDAYS = "一二三四五六日"
_DATE = re.compile(r"(\d{4})-(\d{1,2})-(\d{1,2})")
_WILD = WildFormat()
_AS_WILD = (
    "The record has the field names of wild. It is read with these names, as a record of {}. If it comes from "
    "WildToolBench, choose the format wild."
)
_OTHER_MESSAGES = (
    "The messages differ from the tasks and their answers. They are kept with the record; a release writes new ones "
    "from tasks and answers."
)
_BEHIND_WEEKDAY = (
    "The text after the weekday is not read, because the published evaluators cut it "
    "off. It is kept with the record; a release leaves it out."
)
_HIDES_SOMETHING = (
    "The task hides something, but no turn subtype says how, so its label is empty. A release leaves it out."
)
_HIDES_NOTHING = (
    "The turn subtype {} is not read, because turn_type says that the task hides nothing. A release leaves it out."
)


class C3Format(TaskListFormat):
    name: ClassVar[str] = "c3"
    tasks_field: ClassVar[str] = "task"
    own: ClassVar[frozenset[str]] = frozenset(_OWN_FIELDS)
    known: ClassVar[frozenset[str]] = frozenset(
        {"id"} | {prefix + field for prefix in PREFIXES.values() for field in _OWN_FIELDS + _SHARED_FIELDS}
    )

    def read(self, record: Any) -> list[ReadDialogue]:
        if type(record) is dict and not self.languages(record) and _WILD.languages(record):
            dialogues = _WILD.read(record)
            for dialogue in dialogues:
                note(dialogue.document, spelling="wild")
                dialogue.warnings.insert(0, Problem("", _AS_WILD.format(self.name)))
                settle_document(dialogue, record)
            return dialogues
        return super().read(record)

    def write(self, items: Sequence[ReadDialogue], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        if not full and all(native(item.document).get("spelling") == "wild" for item in items):
            return _WILD.write(items, canary=canary)
        return super().write(items, full=full, canary=canary)

    def read_id(self, value: Any, problems: Problems) -> str:
        # Some published ids are lists of texts, which the evaluators join.
        if type(value) is list and value and all(type(part) is str for part in value):
            return check_id("".join(value), problems)
        return check_id(value, problems)

    def read_language(self, reading: LanguageReading) -> dict[str, Any]:
        tasks = reading.tasks(self.tasks_field)
        document = new_document(reading.language, tasks or [])
        if not tasks:
            return document
        key = f"{reading.prefix}messages"
        _read_env_info(reading, document)
        blocks = _read_messages(reading, key, document)
        own = _read_task_ids(reading, document)
        if blocks and own:
            _read_context(reading, key, document, blocks, own)
        _read_policies(reading, tasks)
        _read_information(reading, document)
        if blocks and not reading.problems.found:
            style = read_style(reading.record[key], document)
            if style:
                note(document, messages=style)
            elif style is None and all(one.pointer != f"/{key}" for one in reading.warnings):
                reading.warn(f"/{key}", _OTHER_MESSAGES)
        if f"{reading.prefix}messages_with_calls" in reading.record:
            note(document, with_calls=True)
        return document

    def plain(
        self,
        variants: dict[str, ReadDialogue],
        *,
        full: bool = False,
        answers: dict[str, list[Any]] | None = None,
    ) -> dict[str, Any]:
        record: dict[str, Any] = {"id": record_id(variants)}
        fields: dict[str, dict[str, Any]] = {field: {} for field in _SHARED_FIELDS}
        for language, item in variants.items():
            prefix, document = PREFIXES[language], item.document
            tasks = document["tasks"]
            notes = native(document)
            style = check_style(notes.get("messages"))
            record[f"{prefix}task"] = [task["user_message"] for task in tasks]
            record[f"{prefix}answer_list"] = write_answers(document, language, answers, full=full)
            record[f"{prefix}messages"] = build_messages(document, style)
            if full or notes.get("with_calls"):
                record[f"{prefix}messages_with_calls"] = build_messages(document, with_calls=True)
            record[f"{prefix}tools"] = item.tools
            hidden = [_hides(task) for task in tasks]
            fields["task_ids"][language] = [len(document["context"])] + [0] * (len(tasks) - 1)
            fields["env_info"][language] = _write_env_info(document)
            fields["type"][language] = [C3_WORDS.get(task["policy"]) for task in tasks]
            fields["turn_type"][language] = hidden
            fields["turn_subtypes"][language] = [_word(t) for t, hides in zip(tasks, hidden, strict=True) if hides]
        for field, values in fields.items():
            put_shared(record, field, values)
        if full and CHINESE not in variants:
            record["task"] = []
        return record

    def problems(self, items: Sequence[ReadDialogue]) -> list[Problem]:
        problems = []
        for item in by_language(items).values():
            document = item.document
            problems += evaluator_problems(item)
            env_info = _write_env_info(document)
            for value in env_info if type(env_info) is list else [env_info]:
                if value is None or _WEEKDAY not in value:
                    message = "The published evaluator drops tasks without a date (YYYY-MM-DD) in env_info. Add one."
                    problems.append(Problem("/env_info", message))
                    break
            roles = [message["role"] for message in document["context"]]
            if roles != ["user", "assistant"] * (len(roles) // 2):
                message = "The published evaluator expects user and assistant in turns, the user first."
                problems.append(Problem("/context", message))
            for task in document["tasks"]:
                if task["policy"] is None:
                    problems.append(Problem(f"/tasks/{task['id']}/policy", "The policy is missing."))
        return problems


class MmtbFormat(C3Format):
    """The same records under their other name."""

    name: ClassVar[str] = "mmtb"


def _read_env_info(reading: LanguageReading, document: dict[str, Any]) -> None:
    key, raw = reading.shared("env_info")
    values: list[Any] = [raw]
    if type(raw) is list:
        values = reading.parallel_list(key, len(document["tasks"])) or []
    for position, value in enumerate(values):
        if value is not None and type(value) is not str:
            place = f"/{key}/{position}" if type(raw) is list else f"/{key}"
            reading.problems.add(place, f"The env_info must be text, or one text for each task, not {describe(value)}.")
            return
    cut = [None if value is None else value.partition(_WEEKDAY)[0].strip() for value in values]
    if any(value is not None and value.partition(_WEEKDAY)[2][1:].strip() for value in values):
        reading.warn(f"/{key}", _BEHIND_WEEKDAY)
    document["env_info"] = cut[0] if cut else None
    for task, value in zip(document["tasks"], cut, strict=False):
        if value != document["env_info"]:
            task["env_info"] = value


def _read_messages(reading: LanguageReading, key: str, document: dict[str, Any]) -> list[list[dict[str, Any]]]:
    raw = reading.record.get(key)
    if raw is None:
        return []
    if type(raw) is not list:
        reading.problems.add(f"/{key}", f"The messages must be a list, not {describe(raw)}.")
        return []
    for position, item in enumerate(raw):
        if type(item) is dict:
            if type(item.get("role")) is not str or type(item.get("content")) is not str:
                reading.problems.add(f"/{key}/{position}", "A message must have a role and content, both of them text.")
                return []
        elif type(item) is not str:
            message = f"A message must be an object, or a separator of =====, not {describe(item)}."
            reading.problems.add(f"/{key}/{position}", message)
            return []
        elif "=====" not in item:
            reading.problems.add(f"/{key}/{position}", "Text between messages must be a separator of =====.")
            return []
    blocks = split_blocks(raw)
    if len(blocks) != len(document["tasks"]):
        message = f"The separators make {len(blocks)} parts, but there are {len(document['tasks'])} tasks."
        reading.problems.add(f"/{key}", message)
        return []
    return blocks


def _read_task_ids(reading: LanguageReading, document: dict[str, Any]) -> list[int] | None:
    key, _ = reading.shared("task_ids")
    ids = reading.parallel_list(key, len(document["tasks"]))
    for position, value in enumerate(ids or ()):
        if type(value) is not int or value < 0:
            reading.problems.add(f"/{key}/{position}", f"A task id is the index of a message, not {describe(value)}.")
            return None
    return ids


def _read_context(
    reading: LanguageReading, key: str, document: dict[str, Any], blocks: list[list[dict[str, Any]]], own: list[int]
) -> None:
    first = blocks[0][: own[0]]
    document["context"] = read_context(
        [{"role": item["role"], "content": without_role(item["content"])} for item in first],
        f"/{key}",
        reading.problems,
    )
    for position, (block, index, task) in enumerate(zip(blocks, own, document["tasks"], strict=True)):
        message = task["user_message"]
        if index >= len(block) or type(message) is not str or message not in block[index]["content"]:
            text = f"The messages of task {position + 1} do not contain its user message at the index in task_ids."
            reading.warn(f"/{key}", text + " An edit of the dialogue rewrites them on export.")


def _read_policies(reading: LanguageReading, tasks: list[dict[str, Any]]) -> None:
    key, _ = reading.shared("type")
    for position, (task, label) in enumerate(zip(tasks, reading.parallel_list(key, len(tasks)) or (), strict=False)):
        if label is None:
            continue
        task["policy"] = C3_POLICIES.get(label) if type(label) is str else None
        if task["policy"] is None:
            message = f"The type {quote(label)} is unknown. Use {listed(C3_POLICIES)}."
            reading.problems.add(f"/{key}/{position}", message)


def _read_information(reading: LanguageReading, document: dict[str, Any]) -> None:
    tasks = document["tasks"]
    key, _ = reading.shared("turn_type")
    follow_ups = reading.parallel_list(key, len(tasks))
    hides: list[bool | None] = []
    for position, value in enumerate(follow_ups or ()):
        known = value if type(value) is bool or value is None else _TRUTH.get(str(value))
        if known is None and value is not None:
            reading.problems.add(
                f"/{key}/{position}", f"The turn type {quote(value)} is unknown. Use true or false (真, 假)."
            )
        hides.append(known)
    if follow_ups is None:
        hides = [None if document["context"] else False] + [None] * (len(tasks) - 1)
    for task, hidden in zip(tasks, hides, strict=False):
        if hidden is False:
            task["information"] = "explicit"
    turn_type, (key, words) = key, reading.shared("turn_subtypes")
    if words is None or words == []:
        for position in [n for n, hidden in enumerate(hides) if hidden]:
            reading.warn(f"/{turn_type}/{position}", _HIDES_SOMETHING)
        return
    if type(words) is not list:
        reading.problems.add(f"/{key}", f"Must be a list, not {describe(words)}.")
        return
    hidden_tasks = [task for task, hidden in zip(tasks, hides, strict=False) if hidden]
    if follow_ups is not None and len(words) == len(hidden_tasks):
        labelled = hidden_tasks
    elif len(words) == len(tasks):
        labelled = tasks
    elif follow_ups is None and len(words) == len(tasks) - 1:
        labelled = tasks[1:]
    else:
        reading.problems.add(
            f"/{key}", f"The list has {len(words)} entries, but there are {len(hidden_tasks)} follow-ups."
        )
        return
    for position, (task, word) in enumerate(zip(labelled, words, strict=True)):
        if word is None or task["information"] == "explicit":
            if word is None and any(task is one for one in hidden_tasks):
                reading.warn(f"/{key}/{position}", _HIDES_SOMETHING)
            if word:
                reading.warn(f"/{key}/{position}", _HIDES_NOTHING.format(quote(word)))
            continue
        task["information"] = _information(word)
        task["native_information"] = word
        if task["information"] is None:
            message = f"The turn subtype {quote(word)} is unknown. Use {listed(C3_INFORMATION)}."
            reading.problems.add(f"/{key}/{position}", message)


def _hides(task: dict[str, Any]) -> bool | None:
    information = task["information"]
    return None if information is None else information != "explicit"


def _information(word: Any) -> str | None:
    if type(word) is not str:
        return None
    return C3_INFORMATION.get(word.lower()) or WILD_INFORMATION.get(word)


def _word(task: dict[str, Any]) -> str | None:
    information, label = task["information"], task["native_information"]
    if label is not None and C3_INFORMATION.get(label.lower()) == information:
        return str(label)
    return C3_INFORMATION_WORDS.get(information)


def _write_env_info(document: dict[str, Any]) -> Any:
    values = []
    for task in document["tasks"]:
        value = task["env_info"] if task["env_info"] is not None else document["env_info"]
        values.append(None if value is None else _with_weekday(value))
    return values[0] if all(value == values[0] for value in values) else values


def _with_weekday(text: str) -> str:
    """Return the text with the Chinese weekday of its date, at which the published evaluators cut it."""
    match = _DATE.search(text)
    if match is None or _WEEKDAY in text:
        return text
    try:
        day = date(int(match[1]), int(match[2]), int(match[3]))
    except ValueError:
        return text
    return f"{text} {_WEEKDAY}{_WEEKDAYS[day.weekday()]}"
