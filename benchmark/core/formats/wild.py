"""WildToolBench records: one dialogue an object.

Fields, each with ``english_`` before it or, in Chinese, without: ``env_info``, ``tools``, ``tasks``, ``answer_list``,
``task_types``, ``turn_subtypes`` (from the second task on). Candidates cut out of a longer dialogue also have
``context`` and ``first_task_turn_subtype``; without these the first task hides nothing, because none precedes it.
"""

from collections.abc import Sequence
from typing import Any, ClassVar

from annotator.core.schema import Problem
from benchmark.core.formats.interface import DialogueLike, Faults, describe, quote
from benchmark.core.formats.labels import (
    WILD_INFORMATION,
    WILD_INFORMATION_WORDS,
    WILD_POLICIES,
    WILD_TOPOLOGIES,
    listed,
    wild_policy_word,
)
from benchmark.core.formats.residue import native, note
from benchmark.core.formats.task_lists import (
    PREFIXES,
    TaskListFormat,
    by_language,
    evaluator_problems,
    new_document,
    put_shared,
    read_context,
    record_id,
    shared,
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

    def read_language(
        self,
        record: dict[str, Any],
        language: str,
        languages: list[str],
        faults: Faults,
        warnings: list[Problem],
    ) -> dict[str, Any]:
        prefix = PREFIXES[language]
        tasks = self.read_tasks(record, f"{prefix}tasks", f"{prefix}answer_list", faults)
        document = new_document(language, tasks or [])
        env_key, env_info = _own_or_other(record, "env_info", language, languages)
        if env_info is not None and type(env_info) is not str:
            faults.add(f"/{env_key}", f"The env_info must be a text, not {describe(env_info)}.")
        document["env_info"] = env_info
        context_key, context = shared(record, "context", language)
        document["context"] = read_context(context, f"/{context_key}", faults)
        if tasks:
            self._read_policies(record, language, languages, tasks, faults)
            self._read_information(record, language, languages, document, faults)
        return document

    def plain(
        self,
        variants: dict[str, DialogueLike],
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

    def problems(self, items: Sequence[DialogueLike]) -> list[Problem]:
        problems = []
        for item in by_language(items).values():
            problems += evaluator_problems(item)
            for task in item.document["tasks"]:
                here = f"/tasks/{task['id']}"
                if task["env_info"] not in (None, item.document["env_info"]):
                    problems.append(Problem(f"{here}/env_info", "The format has no env_info for a single task."))
                if wild_policy_word(task, None) in (None, "Multi-Tool"):
                    problems.append(Problem(f"{here}/policy", "The task type is open: label it and draw its graph."))
        return problems

    def _read_policies(
        self,
        record: dict[str, Any],
        language: str,
        languages: list[str],
        tasks: list[dict[str, Any]],
        faults: Faults,
    ) -> None:
        key, _ = _own_or_other(record, "task_types", language, languages)
        labels = self.parallel_list(record, key, len(tasks), faults, of="tasks")
        for position, (task, label) in enumerate(zip(tasks, labels or (), strict=False)):
            if label is None:
                continue
            policy = WILD_POLICIES.get(label) if type(label) is str else None
            if policy is None:
                message = f"The task type {quote(label)} is not known; it is one of {listed(WILD_POLICIES)}."
                faults.add(f"/{key}/{position}", message)
            task["policy"] = policy
            if label in WILD_TOPOLOGIES.values():
                note(task, label=label)

    def _read_information(
        self, record: dict[str, Any], language: str, languages: list[str], document: dict[str, Any], faults: Faults
    ) -> None:
        tasks = document["tasks"]
        key, _ = _own_or_other(record, "turn_subtypes", language, languages)
        labels = self.parallel_list(record, key, len(tasks) - 1, faults, of="tasks after the first")
        for position, (task, label) in enumerate(zip(tasks[1:], labels or (), strict=False)):
            _set_information(task, label, f"/{key}/{position}", faults)
        key, label = shared(record, "first_task_turn_subtype", language)
        _set_information(tasks[0], label, f"/{key}", faults)
        if label is None and not document["context"]:
            tasks[0]["information"] = "explicit"


def _first_label(document: dict[str, Any]) -> str | None:
    """The label of the first task; ``_NO_LABEL`` where the record needs none, because the dialogue begins with it."""
    first = document["tasks"][0]
    information = first["information"]
    if document["context"] or first["native_information"] is not None or information not in (None, "explicit"):
        if information == "explicit" and first["native_information"] is None:
            return "First Turn"
        return _information_word(first)
    return _NO_LABEL


def _set_information(task: dict[str, Any], label: Any, pointer: str, faults: Faults) -> None:
    if label is None:
        return
    information = WILD_INFORMATION.get(label) if type(label) is str else None
    if information is None:
        faults.add(pointer, f"The turn subtype {quote(label)} is not known; it is one of {listed(WILD_INFORMATION)}.")
    task["information"] = information
    task["native_information"] = label


def _information_word(task: dict[str, Any]) -> str | None:
    information, label = task["information"], task["native_information"]
    if label is not None and WILD_INFORMATION.get(label) == information:
        return str(label)
    return WILD_INFORMATION_WORDS.get(information)


def _own_or_other(record: dict[str, Any], field: str, language: str, languages: list[str]) -> tuple[str, Any]:
    """A language's own field or, where that is absent, the one of the other language in the same record."""
    for candidate in (language, *languages):
        key = PREFIXES[candidate] + field
        if key in record:
            return key, record[key]
    return PREFIXES[language] + field, None
