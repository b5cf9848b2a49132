"""WildToolBench records: one dialogue per object.

Fields, each with ``english_`` before it or, in Chinese, without: ``env_info``, ``tools``, ``tasks``, ``answer_list``,
``task_types``, ``turn_subtypes`` (from the second task on). Candidates cut out of a longer dialogue also have
``context`` and ``first_task_turn_subtype``; without these the first task hides nothing, because none precedes it.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from annotator.core.schema import Problem
from benchmark.core.formats.interface import Problems, ReadDialogue, describe, quote
from benchmark.core.formats.labels import (
    WILD_INFORMATION,
    WILD_INFORMATION_WORDS,
    WILD_POLICIES,
    WILD_TOPOLOGIES,
    listed,
    wild_policy_word,
)
from benchmark.core.formats.native_remainder import native, note
from benchmark.core.formats.task_lists import (
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

_OWN_FIELDS = ("env_info", "tools", "tasks", "answer_list", "task_types", "turn_subtypes")
_SHARED_FIELDS = ("context", "first_task_turn_subtype")
_NO_LABEL = ""


class WildFormat(TaskListFormat):
    name: ClassVar[str] = "wild"
    tasks_field: ClassVar[str] = "tasks"
    own: ClassVar[frozenset[str]] = frozenset(_OWN_FIELDS)
    known: ClassVar[frozenset[str]] = frozenset(
        {"id"} | {prefix + field for prefix in PREFIXES.values() for field in _OWN_FIELDS + _SHARED_FIELDS}
    )

    def read_language(self, reading: LanguageReading) -> dict[str, Any]:
        tasks = reading.tasks(self.tasks_field)
        document = new_document(reading.language, tasks or [])
        env_key, env_info = reading.own_or_other("env_info")
        if env_info is not None and type(env_info) is not str:
            reading.problems.add(f"/{env_key}", f"The env_info must be text, not {describe(env_info)}.")
        document["env_info"] = env_info
        context_key, context = reading.shared("context")
        document["context"] = read_context(context, f"/{context_key}", reading.problems)
        if tasks:
            _read_policies(reading, tasks)
            _read_information(reading, document)
        return document

    def plain(
        self,
        variants: dict[str, ReadDialogue],
        *,
        full: bool = False,
        answers: dict[str, list[Any]] | None = None,
    ) -> dict[str, Any]:
        record: dict[str, Any] = {"id": record_id(variants)}
        for language, item in variants.items():
            prefix, document = PREFIXES[language], item.document
            tasks = document["tasks"]
            record[f"{prefix}env_info"] = document["env_info"]
            record[f"{prefix}tools"] = item.tools
            record[f"{prefix}tasks"] = [task["user_message"] for task in tasks]
            record[f"{prefix}task_types"] = [wild_policy_word(task, native(task).get("label")) for task in tasks]
            record[f"{prefix}turn_subtypes"] = [_information_word(task) for task in tasks[1:]]
            record[f"{prefix}answer_list"] = write_answers(document, language, answers, full=full)
        labels = {language: _first_label(item.document) for language, item in variants.items()}
        if any(label != _NO_LABEL for label in labels.values()):
            put_shared(record, "context", {language: item.document["context"] for language, item in variants.items()})
            put_shared(record, "first_task_turn_subtype", labels)
        return record

    def problems(self, items: Sequence[ReadDialogue]) -> list[Problem]:
        problems = []
        for item in by_language(items).values():
            problems += evaluator_problems(item)
            for task in item.document["tasks"]:
                here = f"/tasks/{task['id']}"
                if task["env_info"] not in (None, item.document["env_info"]):
                    problems.append(
                        Problem(f"{here}/env_info", "The format cannot represent an env_info of a single task.")
                    )
                if wild_policy_word(task, None) in (None, "Multi-Tool"):
                    problems.append(
                        Problem(
                            f"{here}/policy",
                            "The task type cannot be determined. Add a policy label and the dependencies.",
                        )
                    )
        return problems


def _read_policies(reading: LanguageReading, tasks: list[dict[str, Any]]) -> None:
    key, _ = reading.own_or_other("task_types")
    for position, (task, label) in enumerate(zip(tasks, reading.parallel_list(key, len(tasks)) or (), strict=False)):
        if label is None:
            continue
        task["policy"] = WILD_POLICIES.get(label) if type(label) is str else None
        if task["policy"] is None:
            message = f"The task type {quote(label)} is unknown. Use {listed(WILD_POLICIES)}."
            reading.problems.add(f"/{key}/{position}", message)
        if label in WILD_TOPOLOGIES.values():
            note(task, label=label)


def _read_information(reading: LanguageReading, document: dict[str, Any]) -> None:
    tasks = document["tasks"]
    key, _ = reading.own_or_other("turn_subtypes")
    labels = reading.parallel_list(key, len(tasks) - 1, of="tasks after the first")
    for position, (task, label) in enumerate(zip(tasks[1:], labels or (), strict=False)):
        _set_information(task, label, f"/{key}/{position}", reading.problems)
    key, label = reading.shared("first_task_turn_subtype")
    _set_information(tasks[0], label, f"/{key}", reading.problems)
    if label is None and not document["context"]:
        tasks[0]["information"] = "explicit"


def _first_label(document: dict[str, Any]) -> str | None:
    """Return the label of the first task; ``_NO_LABEL`` if the record needs none, because the dialogue
    begins with it.
    """
    first = document["tasks"][0]
    information = first["information"]
    if document["context"] or first["native_information"] is not None or information not in (None, "explicit"):
        if information == "explicit" and first["native_information"] is None:
            return "First Turn"
        return _information_word(first)
    return _NO_LABEL


def _set_information(task: dict[str, Any], label: Any, pointer: str, problems: Problems) -> None:
    if label is None:
        return
    information = WILD_INFORMATION.get(label) if type(label) is str else None
    if information is None:
        problems.add(pointer, f"The turn subtype {quote(label)} is unknown. Use {listed(WILD_INFORMATION)}.")
    task["information"] = information
    task["native_information"] = label


def _information_word(task: dict[str, Any]) -> str | None:
    information, label = task["information"], task["native_information"]
    if label is not None and WILD_INFORMATION.get(label) == information:
        return str(label)
    return WILD_INFORMATION_WORDS.get(information)
