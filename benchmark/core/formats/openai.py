"""Traces in the messages of the OpenAI chat API: ``{"id", "messages": […], "tools": […]}``.

Each user message starts a task. The calls of one assistant message become calls with dependencies that are not
annotated; a tool message is the observation of the call whose id it names. An assistant text at the end of a task is
its answer: of type tool if the task has calls, else chat, since it is unknown whether it asks something. A refusal is
such a text. The first system message is the env_info; anything else before the first user message is the dialogue so
far. JSON within texts (arguments, observations) is written as before if it has not changed.
"""

from collections.abc import Sequence
from typing import Any

from annotator.core.schema import Problem, SchemaProblem, canonical, content_hash
from annotator.core.schema.exact_json import same
from benchmark.core.formats.format_guess import blocks_in, refuse_other_format
from benchmark.core.formats.interface import (
    CANARY,
    Format,
    Problems,
    ReadDialogue,
    check_id,
    describe,
    from_json_text,
    only_one,
    read_functions,
    refuse_own_field,
    require_object,
    settle_document,
)
from benchmark.core.formats.native_remainder import compare, native, note, restore, unknown
from benchmark.core.formats.openai_reading import MessageReader
from benchmark.core.formats.openai_remainder import with_record_content
from benchmark.core.formats.openai_writing import plain_fields

_KNOWN = frozenset(("id", "messages", "tools"))


class OpenAIFormat(Format):
    name = "openai"
    roles = {"id": "id", "messages": "messages", "tools": "tools"}

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Format``."""
        require_object(record)
        problems = Problems()
        messages = from_json_text(record, "messages", problems)
        if type(messages) is not list or any(type(message) is str for message in messages):
            refuse_other_format(record, self.name)
            message = f"The messages must be a list of messages with roles, not {describe(messages)}."
            raise SchemaProblem([Problem("/messages", message)])
        if "constraints_list" in record or "epoch" in record or blocks_in(messages, record.get("tools")):
            refuse_other_format(record, self.name)
        return [self.read_messages(record, messages, problems)]

    def read_messages(self, record: dict[str, Any], messages: list[Any], problems: Problems) -> ReadDialogue:
        """Return the dialogue of a record. ``messages``: its messages, also if the record has them as JSON text."""
        warnings: list[Problem] = []
        refuse_own_field(record, problems)
        if "id" in record:
            external_id = check_id(record["id"], problems)
        else:
            raw = canonical({key: value for key, value in record.items() if key != CANARY})
            external_id = f"openai-{content_hash(raw)[:16]}"
        document = MessageReader(messages, problems, warnings).read()
        tools = self._tools(record, document, problems, warnings)
        problems.raise_if_any()
        language = document["language"] or ""
        dialogue = ReadDialogue(external_id, language, "", document, tools, warnings)
        document["extra"].update((key, record[key]) for key in record.keys() - _KNOWN if key != CANARY)
        raw_fields = {key: record[key] for key in record.keys() & _KNOWN}
        plain = plain_fields(dialogue)
        if not same(plain, raw_fields):
            note(document, format=self.name, **compare(raw_fields, plain))
        settle_document(dialogue, record)
        return dialogue

    def _tools(
        self, record: dict[str, Any], document: dict[str, Any], problems: Problems, warnings: list[Problem]
    ) -> list[Any]:
        given = from_json_text(record, "tools", problems)
        if given is None and not any(step["type"] == "call" for task in document["tasks"] for step in task["steps"]):
            # A chat without calls needs no tools.
            return []
        return read_functions({"tools": given}, problems, warnings)

    def write(self, items: Sequence[ReadDialogue], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """See ``interface.Format``. A record of this format has one dialogue of one language."""
        item = only_one(items, self.name)
        record = plain_fields(item)
        if full:
            record["tools"] = [tool if "function" in tool else _as_function(tool) for tool in item.tools]
        for key, value in unknown(item.document).items():
            record.setdefault(key, value)
        residue = native(item.document)
        if residue.get("format") == self.name:
            if full:
                record["messages"] = with_record_content(record["messages"], residue)
            else:
                restore(record, residue)
        if canary is not None:
            record[CANARY] = canary
        return record

    def problems(self, items: Sequence[ReadDialogue]) -> list[Problem]:
        """See ``interface.Format``: what these messages cannot represent, and what the API refuses."""
        problems = []
        for item in items:
            for task in item.document["tasks"]:
                for step in task["steps"]:
                    if step["type"] == "clarification":
                        place = f"/tasks/{task['id']}/steps/{step['id']}"
                        message = "A question and its reply look like the end of one task and the start of another."
                        problems.append(Problem(place, message))
                    elif step["type"] == "call" and step["observation"] is None:
                        place = f"/tasks/{task['id']}/steps/{step['id']}/observation"
                        problems.append(
                            Problem(place, "The API requires a tool message for every call; this one is missing.")
                        )
        return problems


def _as_function(tool: dict[str, Any]) -> dict[str, Any]:
    """Return a bare function as the API expects it."""
    return {"type": "function", "function": tool}
