"""Samples of logs of Inspect AI: ``{"id", "epoch", "input", "target", "messages", "metadata", "scores", …}``.

A sample is one dialogue, with the number of its epoch in the id if there are several. Its tools come from its events,
which are not kept otherwise (``files.inspect_samples``).
"""

from itertools import filterfalse
from typing import Any

from annotator.core.schema import Problem, SchemaProblem
from benchmark.core.files.inspect_samples import EVALUATION, LEFT_OUT, chat_call, trimmed
from benchmark.core.files.limits import Limits
from benchmark.core.formats.chat import Chat, LogFormat, listed
from benchmark.core.formats.interface import NO_TOOLS, Problems, ReadDialogue, check_id, describe, number_of_cell

_MOST = Limits().line


class InspectFormat(LogFormat):
    name = "inspect"
    losses = ("Events (except their tools) and attachments that no message shows are not kept.",)
    known = frozenset(("id", "epoch", "messages", "tools", EVALUATION, LEFT_OUT))
    needs = (("epoch",), "the number of the run of a sample")

    def read(self, record: Any) -> list[ReadDialogue]:
        """See ``interface.Format``."""
        if type(record) is dict and type(record.get("samples")) is list and type(record.get("eval")) is dict:
            message = "The record is a whole log. Import it as a .json file, where each sample becomes a record."
            raise SchemaProblem([Problem("/samples", message)])
        if type(record) is dict and {"version", "status", "eval"} <= record.keys():
            message = "The log has no samples: its evaluation ended before the first one. Choose another log."
            raise SchemaProblem([Problem("", message)])
        return super().read(trimmed(record, _MOST) if type(record) is dict else record)

    def id_of(self, record: dict[str, Any], problems: Problems) -> str:
        """See ``chat.ChatFormat``."""
        epoch, about = number_of_cell(record.get("epoch")), record.get(EVALUATION)
        if type(epoch) is not int or epoch < 0:
            problems.add("/epoch", f"The epoch must be a number from 1, not {describe(epoch)}.")
            return ""
        epochs = about.get("epochs") if type(about) is dict else None
        several = epoch > 1 or (type(epochs) is int and epochs > 1)
        name = check_id(record.get("id"), problems)
        # Logs of several tasks and models have the same ids of samples.
        task, model = (about.get(one) if type(about) is dict else None for one in ("task", "model"))
        named = (f"{task}/" if type(task) is str else "") + name + (f"@{model}" if type(model) is str else "")
        return check_id(f"{named}#{epoch}" if several else named, problems) if name else ""

    def to_chat(self, record: dict[str, Any], problems: Problems, warnings: list[Problem]) -> Chat:
        """See ``chat.ChatFormat``."""
        chat = Chat()
        for n, message in enumerate(listed(record, "messages", "a list of messages with roles", problems)):
            here = f"/messages/{n}"
            if type(message) is dict and type(message.get("role")) is str:
                chat.add_message(_message(message, here, problems), here)
            else:
                problems.add(here, f"A message must be an object with a role, not {describe(message)}.")
        tools = record.get("tools")
        chat.tools = tools if type(tools) is list else []
        if not chat.tools and any(message.get("tool_calls") for message in chat.messages):
            warnings.append(Problem("/events", f"No event of a model lists tools. {NO_TOOLS}"))
        left_out = record.get(LEFT_OUT)
        for name, number in left_out.items() if type(left_out) is dict else ():
            if type(number) is int and name == "attachments":
                message = f"{number:,} texts are only named by their attachments, which are missing or too large."
                warnings.append(Problem("/attachments", message))
            elif type(number) is int:
                warnings.append(Problem(f"/{name}"[:80], f"The {name[:80]} of the sample are not kept ({number:,})."))
        about = record.get(EVALUATION)
        sample = {"sample": record.get("id"), "epoch": record.get("epoch")}
        # Not as fields of the record, where they would make a release in another format look like a sample.
        chat.beside[EVALUATION] = (about if type(about) is dict else {}) | sample
        return chat


def _message(message: dict[str, Any], here: str, problems: Problems) -> dict[str, Any]:
    """Return a message as the chat API has it; its other fields stay."""
    out = {"content": None} | message
    if type(out["content"]) is list:
        thoughts = list(filter(_is_thought, out["content"]))
        if thoughts:
            out["content"] = list(filterfalse(_is_thought, out["content"])) or None
            out["reasoning_content"] = thoughts
    calls = out.get("tool_calls")
    if type(calls) is list:
        out["tool_calls"] = [_call(one, f"{here}/tool_calls/{n}", problems) for n, one in enumerate(calls)]
    error = out.get("error")
    if out["role"] == "tool" and error:
        out["is_error"] = True
        said = error.get("message") if type(error) is dict else error
        if not out["content"] and type(said) is str:
            out["content"] = said
    return out


def _is_thought(part: Any) -> bool:
    return type(part) is dict and part.get("type") == "reasoning"


def _call(call: Any, here: str, problems: Problems) -> dict[str, Any]:
    if type(call) is not dict:
        problems.add(here, f"A call must be an object with a function, not {describe(call)}.")
        return {}
    beside = {name: value for name, value in call.items() if name not in ("id", "type", "function", "arguments")}
    if call.get("parse_error"):
        beside["unread_arguments"] = call.get("arguments")
    return chat_call(call) | beside
