"""Read the messages of the OpenAI chat API into a document: see ``openai``."""

from typing import Any

import orjson

from annotator.core.schema import Problem
from annotator.core.schema.exact_json import dumps
from benchmark.core.formats.answer_nodes import MAX_STEPS, read_arguments
from benchmark.core.formats.interface import Problems, describe, empty_task, guess_language, quote, read_json_text
from benchmark.core.formats.native_remainder import NATIVE, note
from benchmark.core.formats.task_lists import MAX_TASKS, new_document

ROLES = ("system", "developer", "user", "assistant", "tool")
SYSTEM = ("system", "developer")
#: The role of a result before calls had ids.
FORMER_RESULT = "function"
#: Between an assistant's text and its refusal, if a message has both.
BEFORE_REFUSAL = "\n\n"


class MessageReader:
    """Walks the messages of one record once."""

    def __init__(self, messages: list[Any], problems: Problems, warnings: list[Problem]) -> None:
        self.messages = messages
        self.problems = problems
        self.warnings = warnings
        self.tasks: list[dict[str, Any]] = []
        self.context: list[dict[str, str]] = []
        self.env_info: str | None = None
        #: Calls of the current task that wait for an observation: id in the file (or none) and step.
        self.waiting: list[tuple[Any, dict[str, Any]]] = []

    def read(self) -> dict[str, Any]:
        for position, message in enumerate(self.messages):
            here = f"/messages/{position}"
            if type(message) is not dict:
                self.problems.add(here, f"A message must be an object, not {describe(message)}.")
                continue
            role = message.get("role")
            if role == FORMER_RESULT and self.tasks:
                self._tool(message, self._text(message, here), here)
                continue
            if role not in ROLES:
                self.problems.add(f"{here}/role", f"The role {quote(role)} is unknown. Use one of: {', '.join(ROLES)}.")
                continue
            text = self._text(message, here)
            if role == "user":
                self._open_task(text, here)
            elif not self.tasks:
                self._before_first_task(role, text, message, here)
            elif role == "assistant":
                self._assistant(message, text, here)
            elif role == "tool":
                self._tool(message, text, here)
            else:
                warning = "A system message after the first user message cannot be part of a dialogue. It is kept."
                self.warnings.append(Problem(here, warning))
        self._close_task()
        if not self.tasks:
            self.problems.add("/messages", "There is no user message, so there is no task.")
        language = guess_language(task["user_message"] for task in self.tasks)
        document = new_document(language, self.tasks)
        document |= {"language": language or None, "context": self.context, "env_info": self.env_info}
        return document

    def _text(self, message: dict[str, Any], here: str) -> str:
        content = message.get("content")
        if content is None:
            return ""
        if type(content) is str:
            return content
        if type(content) is list:
            text = text_of_parts(content)
            if text is not None:
                if not all(map(is_text_part, content)):
                    self.warnings.append(Problem(f"{here}/content", "Only text is shown. The other parts are kept."))
                return text
        self.problems.add(f"{here}/content", "The content must be text, or a list of parts with a type.")
        return ""

    def _refusal(self, message: dict[str, Any], here: str) -> str:
        refusal = message.get("refusal")
        if refusal is None or type(refusal) is str:
            return refusal or ""
        self.problems.add(f"{here}/refusal", f"The refusal must be text, not {describe(refusal)}.")
        return ""

    def _open_task(self, text: str, here: str) -> None:
        self._close_task()
        if len(self.tasks) == MAX_TASKS:
            self.problems.add(
                here, f"The record has more than {MAX_TASKS} user messages. The other tasks are not read."
            )
        self.tasks.append(empty_task(len(self.tasks) + 1, text))

    def _before_first_task(self, role: str, text: str, message: dict[str, Any], here: str) -> None:
        if message.get("tool_calls"):
            self.problems.add(f"{here}/tool_calls", "Calls before the first user message belong to no task.")
        if role in SYSTEM and self.env_info is None and not self.context:
            self.env_info = text
        else:
            self.context.append({"role": "system" if role in SYSTEM else role, "content": text})

    def _assistant(self, message: dict[str, Any], text: str, here: str) -> None:
        calls = message.get("tool_calls")
        if not calls and message.get("function_call") is not None:
            calls = [{"function": message["function_call"]}]
        refusal = self._refusal(message, here)
        if refusal:
            text = f"{text}{BEFORE_REFUSAL}{refusal}" if text else refusal
        if calls is None or calls == []:
            self._answer(text, refusal)
            return
        if type(calls) is not list:
            self.problems.add(f"{here}/tool_calls", f"The tool_calls must be a list, not {describe(calls)}.")
            return
        self._drop_answer()
        steps = self.tasks[-1]["steps"]
        if len(steps) + len(calls) > MAX_STEPS:
            self.problems.add(
                f"{here}/tool_calls", f"The task has more than {MAX_STEPS} calls. The others are not read."
            )
            return
        round_number = steps[-1]["extra"][NATIVE]["round"] + 1 if steps else 0
        for index, call in enumerate(calls):
            place = f"{here}/tool_calls/{index}"
            function = call.get("function") if type(call) is dict else None
            if type(function) is not dict or type(function.get("name")) is not str or not function["name"]:
                self.problems.add(f"{place}/function", "A call must have a function with a name.")
                continue
            step = self._call(call, function, place, round_number)
            if index == 0 and text:
                note(step, said=text)
            steps.append(step)
            self.waiting.append((call.get("id"), step))

    def _call(self, call: dict[str, Any], function: dict[str, Any], place: str, round_number: int) -> dict[str, Any]:
        arguments = function.get("arguments")
        notes: dict[str, Any] = {"round": round_number}
        if type(arguments) is str:
            parsed = read_arguments(arguments, f"{place}/function/arguments", self.problems)
            if type(parsed) is dict and dump(parsed) != arguments:
                notes["arguments"] = arguments
            arguments = parsed
        elif arguments is not None and type(arguments) is not dict:
            self.problems.add(f"{place}/function/arguments", f"The arguments must be text, not {describe(arguments)}.")
        call_id = call.get("id")
        if call_id is not None and type(call_id) is not str:
            self.problems.add(f"{place}/id", f"The id of a call must be text, not {describe(call_id)}.")
        elif call_id is not None:
            notes["call_id"] = call_id
        return {
            "type": "call",
            "id": f"s{len(self.tasks[-1]['steps'])}",
            "name": function["name"],
            "arguments": {} if arguments is None else arguments,
            "observation": None,
            "depends_on": None,
            "inferable": {},
            "extra": {NATIVE: notes},
        }

    def _tool(self, message: dict[str, Any], text: str, here: str) -> None:
        call_id = message.get("tool_call_id")
        for index, (known, step) in enumerate(self.waiting):
            if call_id is None or known == call_id:
                del self.waiting[index]
                step["observation"] = observation = _parse(text, f"{here}/content", self.problems)
                if type(observation) is not str and dump(observation) != text:
                    note(step, observation=text)
                if message.get("is_error") is True or message.get("status") == "error":
                    note(step, error=True)
                return
        self.problems.add(
            f"{here}/tool_call_id", f"No call of this task waits for an observation with the id {quote(call_id)}."
        )

    def _answer(self, text: str, refusal: str) -> None:
        self._drop_answer()
        steps = self.tasks[-1]["steps"]
        notes: dict[str, Any] = {"round": steps[-1]["extra"][NATIVE]["round"] + 1 if steps else 0}
        if refusal:
            notes["refusal"] = refusal
        steps.append(
            {
                "type": "answer",
                "id": f"s{len(steps)}",
                "text": text,
                "answer_type": "tool" if steps else "chat",
                "depends_on": None,
                "extra": {NATIVE: notes},
            }
        )

    def _drop_answer(self) -> None:
        """Drop an assistant text that is followed by more of the assistant: it is not an answer."""
        steps = self.tasks[-1]["steps"]
        if steps and steps[-1]["type"] == "answer":
            dropped = steps.pop()
            warning = (
                f"An assistant text inside a task is not a step. It is kept but not shown: {quote(dropped['text'])}."
            )
            self.warnings.append(Problem(f"/tasks/{len(self.tasks) - 1}", warning))

    def _close_task(self) -> None:
        self.waiting = []
        if self.tasks:
            for step in self.tasks[-1]["steps"]:
                if step["type"] == "answer":
                    del step["extra"][NATIVE]["round"]
                    if not step["extra"][NATIVE]:
                        del step["extra"][NATIVE]


def is_text_part(part: Any) -> bool:
    return type(part) is dict and part.get("type") in ("text", "refusal") and type(part.get(part["type"])) is str


def text_of_parts(content: list[Any]) -> str | None:
    """Return the text of a content in parts, with ``[type]`` for a part of another type; None if it is no such list."""
    texts = []
    for part in content:
        if is_text_part(part):
            texts.append(part[part["type"]])
        elif type(part) is dict and type(part.get("type")) is str:
            texts.append(f"\n[{part['type']}]\n")
        else:
            return None
    joined = "".join(texts)
    return joined if all(map(is_text_part, content)) else joined.strip("\n")


def dump(value: Any) -> str:
    """Return a value as a text of JSON, its keys in the order in which documents are stored."""
    return dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _parse(text: str, pointer: str, problems: Problems) -> Any:
    """Return the object or list of a text, else the text itself."""
    value = read_json_text(text, pointer, problems) if text[:1] in ("{", "[") else text
    return value if type(value) in (dict, list) else text
