"""Logs of Inspect AI: where samples are in them, and what is kept of a sample.

A log is a ``.json`` object (``{"eval", "samples": […]}``) or an ``.eval`` archive (``header.json`` and
``samples/*.json``). The events of a sample repeat its messages many times, so only the tools that they list are kept;
texts that are stored under ``attachments`` are put in the places that name them.
"""

from collections.abc import Iterator, Mapping
from typing import Any
from zipfile import ZipFile, ZipInfo

from annotator.core.schema.exact_json import MAX_DEPTH, dumps, loads
from benchmark.core.files.limits import Budget, Limits, SourceError, shown_size
from benchmark.core.files.record_lines import has_too_many_values
from benchmark.core.files.zips import open_member, refusal

#: The members of an archive, and the field of an object, that say what was evaluated.
HEADERS = ("header.json", "_journal/start.json")
SAMPLES = "samples/"
#: The member that a sample in parts has, in a folder of its own.
IN_PARTS = "/sample.json"
CONVERT = "Convert the log with: inspect log convert --to json."
#: Archives have a member for each sample.
LOG_MEMBERS = 100_000
#: Fields that are not kept, and what a kept sample has instead: how many there were of each, and the evaluation.
DROPPED = {"events", "attachments", "events_data", "timelines"}
LEFT_OUT = "left_out"
EVALUATION = "evaluation"
_ATTACHMENT = "attachment://"


class InspectSamples:
    """Makes samples of one file smaller, and adds to each what the log says about all of them."""

    #: No file belongs to one record only.
    left: tuple[str, ...] = ()

    def __init__(self, limits: Limits) -> None:
        self._limit = limits.line
        self._about: dict[str, Any] = {}

    def learn(self, content: bytes) -> None:
        """Read what was evaluated from the header of a log, or from its ``eval``."""
        try:
            found = loads(content)
        except ValueError:
            return
        found = found.get("eval", found) if type(found) is dict else None
        if type(found) is dict:
            config = found.get("config")
            epochs = config.get("epochs") if type(config) is dict else None
            self._about = {name: found[name] for name in ("task", "model", "run_id") if type(found.get(name)) is str}
            if type(epochs) is int:
                self._about["epochs"] = epochs

    def see(self, line: bytes) -> None:
        """See ``BfclFiles``. Samples do not depend on each other."""

    def join(self, line: bytes) -> bytes:
        """Return the line of a sample without what is not kept. Other lines are unchanged."""
        if has_too_many_values(line):
            return line
        try:
            sample = loads(line)
        except ValueError:
            return line
        if not is_sample(sample):
            return line
        smaller = trimmed(sample, self._limit)
        if self._about and EVALUATION not in smaller:
            smaller = smaller | {EVALUATION: self._about}
        return line if smaller is sample else dumps(smaller)


def sample_members(archive: ZipFile) -> Iterator[tuple[ZipInfo, str]]:
    """Yield the members with samples, and why one of them cannot be read, if so."""
    for info in archive.infolist():
        if not info.filename.startswith(SAMPLES) or not info.filename.endswith(".json"):
            continue
        if info.filename.count("/") > 1:
            if info.filename.endswith(IN_PARTS):
                yield info, f"The sample is in parts, which Assay doesn’t read. {CONVERT}"
            continue
        why = refusal(info)
        yield info, f"{why} {CONVERT}" if why else ""


def read_log_header(archive: ZipFile, budget: Budget, most: int) -> bytes | None:
    """Return the content of the member that says what was evaluated; None if there is none. Raises SourceError."""
    infos = {info.filename: info for info in archive.infolist()}
    info = next((infos[one] for one in HEADERS if one in infos), None)
    if info is None:
        return None
    why = refusal(info)
    if why:
        raise SourceError(f"{why} {CONVERT}")
    with open_member(archive, info, budget) as member:
        content = member.read(most + 1)
    if len(content) > most:
        raise SourceError(f"{info.filename} is larger than {shown_size(most)}, the limit of a record.")
    return content


def is_sample(record: Any) -> bool:
    """Return whether a value looks like a sample of a log."""
    return type(record) is dict and "epoch" in record and type(record.get("messages")) is list


def trimmed(sample: dict[str, Any], most: int) -> dict[str, Any]:
    """Return a sample without ``DROPPED``, with its ``tools`` and ``left_out`` ({name: number}).

    Of attachments, those are left out that are still named in some place, because they are missing or the sample has
    more than ``most`` characters of them.
    """
    if not sample.keys() & DROPPED:
        return sample
    left_out = {
        name: len(sample[name])
        for name in sorted(sample.keys() & DROPPED)
        if type(sample.get(name)) in (list, dict) and sample[name]
    }
    attachments = sample.get("attachments")
    kept = {name: value for name, value in sample.items() if name not in DROPPED}
    if "tools" not in kept:
        kept["tools"] = _tools(sample.get("events"))
    if type(attachments) is dict:
        filling = _Filling(attachments, most)
        kept = filling.fill(kept, 0)
        left_out["attachments"] = filling.missing
    kept[LEFT_OUT] = {name: number for name, number in left_out.items() if number}
    return kept


def chat_call(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return a call as the chat API has it. One that could not be read has no arguments."""
    function: dict[str, Any] = {"name": call.get("function")}
    if not call.get("parse_error"):
        arguments = call.get("arguments")
        function["arguments"] = arguments if isinstance(arguments, str) else dumps(arguments).decode()
    return {"id": call.get("id"), "type": "function", "function": function}


def _tools(events: Any) -> list[Any]:
    """Return the tools that the events list for the model, each once by its name."""
    found: dict[str, Any] = {}
    for event in events if type(events) is list else []:
        tools = event.get("tools") if type(event) is dict and event.get("event") == "model" else None
        for tool in tools if type(tools) is list else []:
            if type(tool) is dict and type(tool.get("name")) is str:
                function = {name: tool[name] for name in ("name", "description", "parameters") if name in tool}
                found.setdefault(tool["name"], {"type": "function", "function": function})
    return list(found.values())


class _Filling:
    """Puts attachments in the places that name them."""

    def __init__(self, attachments: dict[str, Any], most: int) -> None:
        self._attachments = attachments
        self._left = most
        self.missing = 0

    def fill(self, value: Any, depth: int) -> Any:
        if type(value) is str and value.startswith(_ATTACHMENT):
            text = self._attachments.get(value.removeprefix(_ATTACHMENT))
            if type(text) is str and len(text) <= self._left:
                self._left -= len(text)
                return text
            self.missing += 1
        elif type(value) is dict and depth < MAX_DEPTH:
            return {name: self.fill(one, depth + 1) for name, one in value.items()}
        elif type(value) is list and depth < MAX_DEPTH:
            return [self.fill(one, depth + 1) for one in value]
        return value
