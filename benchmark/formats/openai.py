"""Traces in the messages of the OpenAI chat API: ``{"id", "messages": […], "tools": […]}``.

Each user message opens a task. The calls of one assistant message become calls whose dependencies nobody has annotated
yet; a tool message is the observation of the call whose id it names. An assistant text that ends a task is its answer,
of type tool where the task has calls, else chat: whether it asks something cannot be known. A refusal is such a text.
The first system message is the env_info; what stands before the first user message otherwise is the dialogue so far.
What stands in a text as JSON (arguments, observations) is written as that text was, where it has not changed.
"""

from collections.abc import Sequence
from typing import Any

from annotator.schema import Problem, SchemaProblem, canonical, content_hash
from annotator.schema.exact_json import dumps, same
from annotator.schema.layout import lay_out
from benchmark.formats.guessing import refuse_other_format
from benchmark.formats.interface import (
    CANARY,
    DialogueLike,
    Faults,
    FormatDefaults,
    ReadDialogue,
    check_id,
    describe,
    guess_language,
    quote,
    read_json_text,
    settle_document,
)
from benchmark.formats.messages import batches_of
from benchmark.formats.nodes import MAX_STEPS, read_arguments
from benchmark.formats.residue import NATIVE, compare, native, note, restore, unknown
from benchmark.formats.task_lists import MAX_TASKS, new_document

_KNOWN = frozenset(("id", "messages", "tools"))
_ROLES = ("system", "developer", "user", "assistant", "tool")
_SYSTEM = ("system", "developer")
#: Between what an assistant says and its refusal, where a message has both.
_BEFORE_REFUSAL = "\n\n"


class OpenAIFormat(FormatDefaults):
    name = "openai"

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Reader``."""
        if type(record) is not dict:
            raise SchemaProblem([Problem("", f"A record must be an object, not {describe(record)}.")])
        messages = record.get("messages")
        if type(messages) is not list or any(type(message) is str for message in messages):
            refuse_other_format(record, self.name)
            message = f"The messages must be a list of messages with roles, not {describe(messages)}."
            raise SchemaProblem([Problem("/messages", message)])
        if "constraints_list" in record:
            refuse_other_format(record, self.name)
        faults = Faults()
        warnings: list[Problem] = []
        if NATIVE in record:
            faults.add(f"/{NATIVE}", f"The field name {NATIVE} is Assay's own; rename it.")
        if "id" in record:
            external_id = check_id(record["id"], faults)
        else:
            raw = canonical({key: value for key, value in record.items() if key != CANARY})
            external_id = f"openai-{content_hash(raw)[:16]}"
        tools = record.get("tools")
        if tools is None:
            warnings.append(Problem("/tools", "The record has no tools, so every call is to an unknown tool."))
            tools = []
        elif type(tools) is not list or not all(type(tool) is dict for tool in tools):
            faults.add("/tools", "The tools must be a list of functions.")
        document = _MessageReader(messages, faults, warnings).read()
        faults.raise_if_any()
        language = document["language"] or ""
        dialogue = ReadDialogue(external_id, language, "", document, tools, warnings)
        document["extra"].update((key, record[key]) for key in record.keys() - _KNOWN if key != CANARY)
        raw_fields = {key: record[key] for key in record.keys() & _KNOWN}
        plain = plain_fields(dialogue)
        if not same(plain, raw_fields):
            note(document, format=self.name, **compare(raw_fields, plain))
        settle_document(dialogue, record)
        return [dialogue]

    def write(self, items: Sequence[DialogueLike], *, full: bool = False, canary: str | None = None) -> dict[str, Any]:
        """See ``interface.Writer``. A record of this format holds one dialogue of one language."""
        if len(items) != 1:
            raise ValueError("An openai record holds one dialogue; write language variants one by one.")
        (item,) = items
        record = plain_fields(item)
        if full:
            record["tools"] = [tool if "function" in tool else _as_function(tool) for tool in item.tools]
        for key, value in unknown(item.document).items():
            record.setdefault(key, value)
        residue = native(item.document)
        if residue.get("format") == self.name:
            if full:
                record["messages"] = _with_what_stands_beside(record["messages"], residue)
            else:
                restore(record, residue)
        if canary is not None:
            record[CANARY] = canary
        return record

    def problems(self, items: Sequence[DialogueLike]) -> list[Problem]:
        """See ``interface.Writer``: what these messages cannot say, and what the API does not take."""
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
                        problems.append(Problem(place, "The API wants a tool message for every call; it is missing."))
        return problems


class _MessageReader:
    """Walks the messages of one record once."""

    def __init__(self, messages: list[Any], faults: Faults, warnings: list[Problem]) -> None:
        self.messages = messages
        self.faults = faults
        self.warnings = warnings
        self.tasks: list[dict[str, Any]] = []
        self.context: list[dict[str, str]] = []
        self.env_info: str | None = None
        self.text_at: int | None = None
        #: Calls of the current task that wait for an observation: id in the file (or none) and step.
        self.waiting: list[tuple[Any, dict[str, Any]]] = []

    def read(self) -> dict[str, Any]:
        for position, message in enumerate(self.messages):
            here = f"/messages/{position}"
            if type(message) is not dict:
                self.faults.add(here, f"A message must be an object, not {describe(message)}.")
                continue
            role = message.get("role")
            if role not in _ROLES:
                self.faults.add(f"{here}/role", f"The role {quote(role)} is not one of: {', '.join(_ROLES)}.")
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
                warning = "A system message after the first user message has no place in a dialogue; it is kept."
                self.warnings.append(Problem(here, warning))
        self._close_task()
        if not self.tasks:
            self.faults.add("/messages", "There is no user message, so there is no task.")
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
            parts = [part[part["type"]] for part in content if _is_text_part(part)]
            if len(parts) == len(content):
                return "".join(parts)
        self.faults.add(f"{here}/content", "Only text is read: a text, or a list of parts of type text.")
        return ""

    def _refusal(self, message: dict[str, Any], here: str) -> str:
        refusal = message.get("refusal")
        if refusal is None or type(refusal) is str:
            return refusal or ""
        self.faults.add(f"{here}/refusal", f"The refusal must be a text, not {describe(refusal)}.")
        return ""

    def _open_task(self, text: str, here: str) -> None:
        self._close_task()
        if len(self.tasks) == MAX_TASKS:
            self.faults.add(here, f"The record has more than {MAX_TASKS} user messages; no more tasks are read.")
        self.tasks.append(
            {
                "id": f"t{len(self.tasks) + 1}",
                "user_message": text,
                "policy": None,
                "information": None,
                "native_information": None,
                "env_info": None,
                "candidate_messages": [],
                "chosen": None,
                "steps": [],
                "extra": {},
            }
        )

    def _before_first_task(self, role: str, text: str, message: dict[str, Any], here: str) -> None:
        if message.get("tool_calls"):
            self.faults.add(f"{here}/tool_calls", "Calls before the first user message belong to no task.")
        if role in _SYSTEM and self.env_info is None and not self.context:
            self.env_info = text
        else:
            self.context.append({"role": "system" if role in _SYSTEM else role, "content": text})

    def _assistant(self, message: dict[str, Any], text: str, here: str) -> None:
        if message.get("function_call") is not None:
            advice = "The old form function_call is not read; convert it to tool_calls with ids."
            self.faults.add(f"{here}/function_call", advice)
        calls = message.get("tool_calls")
        refusal = self._refusal(message, here)
        if refusal:
            text = f"{text}{_BEFORE_REFUSAL}{refusal}" if text else refusal
        if calls is None or calls == []:
            self._answer(text, refusal)
            return
        if type(calls) is not list:
            self.faults.add(f"{here}/tool_calls", f"The tool_calls must be a list, not {describe(calls)}.")
            return
        self._drop_answer()
        steps = self.tasks[-1]["steps"]
        if len(steps) + len(calls) > MAX_STEPS:
            self.faults.add(f"{here}/tool_calls", f"The task has more than {MAX_STEPS} calls; no more are read.")
            return
        round_number = steps[-1]["extra"][NATIVE]["round"] + 1 if steps else 0
        for index, call in enumerate(calls):
            place = f"{here}/tool_calls/{index}"
            function = call.get("function") if type(call) is dict else None
            if type(function) is not dict or type(function.get("name")) is not str or not function["name"]:
                self.faults.add(f"{place}/function", "A call must have a function with a name.")
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
            parsed = read_arguments(arguments, f"{place}/function/arguments", self.faults)
            if type(parsed) is dict and _dump(parsed) != arguments:
                notes["arguments"] = arguments
            arguments = parsed
        elif arguments is not None and type(arguments) is not dict:
            self.faults.add(f"{place}/function/arguments", f"The arguments must be a text, not {describe(arguments)}.")
        call_id = call.get("id")
        if call_id is not None and type(call_id) is not str:
            self.faults.add(f"{place}/id", f"The id of a call must be a text, not {describe(call_id)}.")
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
                step["observation"] = observation = _parse(text, f"{here}/content", self.faults)
                if type(observation) is not str and _dump(observation) != text:
                    note(step, observation=text)
                return
        self.faults.add(
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
        """An assistant text after which the assistant goes on is no answer."""
        steps = self.tasks[-1]["steps"]
        if steps and steps[-1]["type"] == "answer":
            dropped = steps.pop()
            warning = f"An assistant text inside a task is no step; it is kept, not shown: {quote(dropped['text'])}."
            self.warnings.append(Problem(f"/tasks/{len(self.tasks) - 1}", warning))

    def _close_task(self) -> None:
        self.waiting = []
        if self.tasks:
            for step in self.tasks[-1]["steps"]:
                if step["type"] == "answer":
                    del step["extra"][NATIVE]["round"]
                    if not step["extra"][NATIVE]:
                        del step["extra"][NATIVE]


def _as_function(tool: dict[str, Any]) -> dict[str, Any]:
    """A bare function as the API wants it."""
    return {"type": "function", "function": tool}


def _is_text_part(part: Any) -> bool:
    return type(part) is dict and part.get("type") in ("text", "refusal") and type(part.get(part["type"])) is str


def plain_fields(item: DialogueLike) -> dict[str, Any]:
    document = item.document
    messages: list[dict[str, Any]] = []
    if document["env_info"] is not None:
        messages.append({"role": "system", "content": document["env_info"]})
    messages += [{"role": message["role"], "content": message["content"]} for message in document["context"]]
    for task in document["tasks"]:
        messages.append({"role": "user", "content": task["user_message"]})
        for batch in _rounds(task):
            messages += _batch_messages(task, batch)
    return {"id": item.external_id, "messages": messages, "tools": item.tools}


def _with_what_stands_beside(plain: list[dict[str, Any]], residue: Any) -> list[dict[str, Any]]:
    """The messages in the order of the record, with whatever else it says in and between them, as long as what they say
    themselves is unchanged. All that the API reads is as in ``plain``.
    """
    record: dict[str, Any] = {"messages": plain}
    restore(record, {"kept": residue.get("kept")})
    messages = record["messages"]
    if type(messages) is not list or not all(_is_message(raw) for raw in messages):
        # The notes of a document may come from anywhere.
        return plain
    waiting, out = list(plain), []
    for raw in messages:
        # Results may come in any order, all else comes in its own.
        ours = [n for n, one in enumerate(waiting) if (one["role"] == "tool") == (raw.get("role") == "tool")]
        found = ours if raw.get("role") == "tool" else ours[:1]
        index = next((n for n in found if _says(raw, waiting[n])), None)
        if index is None:
            # A text between the steps, or a system message after the first request.
            out.append(raw)
            continue
        written = waiting.pop(index)
        calls = zip(raw.get("tool_calls") or (), written.get("tool_calls", ()), strict=False)
        both = [{**before, **call} for before, call in calls]
        out.append({**raw, **written, "role": raw["role"], **({"tool_calls": both} if both else {})})
    return plain if waiting else out


def _is_message(raw: Any) -> bool:
    if type(raw) is not dict or raw.get("role") not in _ROLES:
        return False
    calls = raw.get("tool_calls")
    return calls is None or (type(calls) is list and all(type(call) is dict for call in calls))


def _says(raw: dict[str, Any], written: dict[str, Any]) -> bool:
    """Whether a message of a record is the one that is written so."""
    role = "system" if raw.get("role") in _SYSTEM else raw.get("role")
    if role == "tool":
        return written["role"] == role and raw.get("tool_call_id") in (None, written["tool_call_id"])
    calls = len(raw.get("tool_calls") or ()) == len(written.get("tool_calls", ()))
    return role == written["role"] and calls and _words(raw) == _words(written)


def _words(message: dict[str, Any]) -> str:
    content = message.get("content") or ""
    if type(content) is list:
        content = "".join(part[part["type"]] for part in content if _is_text_part(part))
    return f"{content}{message.get('refusal') or ''}"


def _rounds(task: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """The steps in the rounds they came in; by their dependencies once these are annotated, or a step is new."""
    steps = task["steps"]
    numbers = [native(step).get("round") for step in steps]
    rounds: list[list[dict[str, Any]]] = []
    last: Any = None
    for step, number in zip(steps, numbers, strict=True):
        if step["type"] == "call" and (type(number) is not int or step["depends_on"] is not None):
            return batches_of(steps)
        if rounds and step["type"] == "call" and number == last:
            rounds[-1].append(step)
        else:
            rounds.append([step])
        last = number if step["type"] == "call" else None
    return rounds


def _batch_messages(task: dict[str, Any], batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
    out: list[dict[str, Any]] = []
    calls = [step for step in batch if step["type"] == "call"]
    if calls:
        said = native(calls[0]).get("said")
        content = said if type(said) is str else None
        out.append({"role": "assistant", "content": content, "tool_calls": [_write_call(task, call) for call in calls]})
        for call in calls:
            if call["observation"] is not None:
                text = _text_of(call["observation"], native(call).get("observation"))
                out.append({"role": "tool", "tool_call_id": _call_id(task, call), "content": text})
    for step in batch:
        if step["type"] == "clarification":
            out.append({"role": "assistant", "content": step["question"]})
            out.append({"role": "user", "content": step["user_reply"] or ""})
        elif step["type"] == "answer":
            out.append(_write_answer(step))
    return out


def _write_answer(step: dict[str, Any]) -> dict[str, Any]:
    """The text of an answer; the refusal it was or ended in apart, as long as it does."""
    text, refusal = step["text"], native(step).get("refusal")
    if type(refusal) is str and text is not None:
        if text == refusal:
            return {"role": "assistant", "content": None, "refusal": text}
        if text.endswith(f"{_BEFORE_REFUSAL}{refusal}"):
            content = text.removesuffix(f"{_BEFORE_REFUSAL}{refusal}")
            return {"role": "assistant", "content": content, "refusal": refusal}
    return {"role": "assistant", "content": text}


def _write_call(task: dict[str, Any], call: dict[str, Any]) -> dict[str, Any]:
    arguments = _text_of(call["arguments"], native(call).get("arguments"))
    function = {"name": call["name"], "arguments": arguments}
    return {"id": _call_id(task, call), "type": "function", "function": function}


def _call_id(task: dict[str, Any], call: dict[str, Any]) -> str:
    call_id = native(call).get("call_id")
    return call_id if type(call_id) is str else f"call_{task['id']}_{call['id']}"


def _text_of(value: Any, original: Any) -> str:
    """A value as text, laid out as the one it came from."""
    if type(value) is str:
        return value
    if type(original) is str:
        try:
            return lay_out(value, original)
        except ValueError:
            # The notes of a document may come from anywhere.
            pass
    return _dump(value)


def _parse(text: str, pointer: str, faults: Faults) -> Any:
    """The object or list a text holds, else the text itself."""
    value = read_json_text(text, pointer, faults) if text[:1] in ("{", "[") else text
    return value if type(value) in (dict, list) else text


def _dump(value: Any) -> str:
    return dumps(value).decode()
