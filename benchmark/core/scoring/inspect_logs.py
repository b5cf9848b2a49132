"""Logs of Inspect AI (``.eval`` and ``.json``), whose samples become records of messages.

The id of a sample names the entry, as a leaderboard does (``dialogue#task``, ``composite@delay``, or the case);
its metadata may name it by ``dialogue``, ``task``, ``case``, ``composite``, ``delay`` and ``seed`` instead. Epochs are
attempts. What a log scored itself is not read.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from benchmark.core.files.inspect_samples import LOG_MEMBERS, chat_call, read_log_header, sample_members
from benchmark.core.files.limits import Budget, Limits, SourceError, shown_size
from benchmark.core.files.record_lines import BOM, LineError, parse_record, too_long
from benchmark.core.files.zips import open_member, open_zip, shown_name
from benchmark.core.scoring.predictions import is_name
from benchmark.core.scoring.records import Line, Unreadable

ENDING = ".eval"
_LIMITS = Limits(members=LOG_MEMBERS)
_NAMES = ("dialogue", "task", "case", "composite", "delay", "seed")


def is_inspect_log(record: Mapping[str, Any]) -> bool:
    """Return whether an object is a whole log."""
    return isinstance(record.get("eval"), Mapping) and isinstance(record.get("samples"), list)


def read_inspect_archive(stream: BinaryIO, path: Path, family: str, *, run: str, shown: str = "") -> Iterator[Line]:
    """Yield a record for each sample of an ``.eval`` file. ``run``: if the log names no model. ``shown``: how sentences
    name it. Raises Unreadable.
    """
    name = shown or path.name
    try:
        with open_zip(stream, _LIMITS) as archive:
            budget = Budget(_LIMITS)
            header = read_log_header(archive, budget, _LIMITS.line)
            if header is None:
                raise Unreadable(f"{name} is not a log of Inspect AI: it has no header.json.")
            model = _model(parse_record(header)) or run
            for info, why in sample_members(archive):
                where = f"{name}, {shown_name(info.filename)}"
                if why:
                    yield Line(where, None, why)
                    continue
                with open_member(archive, info, budget) as source:
                    content = source.read(_LIMITS.line + 1)
                try:
                    if len(content) > _LIMITS.line:
                        raise LineError(too_long(info.file_size, _LIMITS.line))
                    sample = parse_record(content)
                except LineError as error:
                    yield Line(where, None, str(error))
                else:
                    yield _line(where, sample, model, family)
    except (SourceError, LineError) as error:
        raise Unreadable(f"{name}: {error}") from None


def read_inspect_json(record: Mapping[str, Any], where: str, family: str, *, run: str) -> Iterator[Line]:
    """Yield a record for each sample of a log that is one object. ``run``: if the log names no model."""
    model = _model(record) or run
    for number, sample in enumerate(record["samples"], 1):
        yield _line(f"{where}, sample {number:,}", sample, model, family)


def read_whole(stream: BinaryIO, where: str) -> dict[str, Any] | None:
    """Return the log in a ``.json`` file; None if it is something else. Raises Unreadable for a log too large."""
    content = stream.read(_LIMITS.whole + 1)
    if not content.removeprefix(BOM).lstrip().startswith(b"{"):
        return None
    if len(content) > _LIMITS.whole:
        raise Unreadable(
            f"{where}: A .json file may have at most {shown_size(_LIMITS.whole)}, because it is read as a whole. "
            "Use JSON lines, or convert a log of Inspect AI with: inspect log convert --to eval."
        )
    try:
        record = parse_record(content)
    except LineError:
        return None
    return record if is_inspect_log(record) else None


def _model(header: Mapping[str, Any]) -> str:
    about = header.get("eval")
    model = about.get("model") if isinstance(about, Mapping) else None
    return model if is_name(model) else ""


def _line(where: str, sample: Any, model: str, family: str) -> Line:
    if not isinstance(sample, Mapping) or not isinstance(sample.get("messages"), list):
        return Line(where, None, "A sample must be an object with messages.")
    metadata = sample.get("metadata")
    named = {key: metadata[key] for key in _NAMES if key in metadata} if isinstance(metadata, Mapping) else {}
    epoch = sample.get("epoch")
    epoch = epoch if type(epoch) is int and epoch > 0 else 1
    record = {"id": str(sample.get("id", "")), **named, "messages": [_message(one) for one in sample["messages"]]}
    if sample.get("error"):
        record["failed"] = True
    if family == "cctu":
        record = {"case": record["id"], "attempt": epoch - 1} | record
    run = f"{model}#{epoch}" if epoch > 1 and family != "cctu" else model
    return Line(where, record, run=run, model=model)


def _message(message: Any) -> Any:
    """Return a message as the chat API has it. A call that could not be read has no arguments."""
    calls = message.get("tool_calls") if isinstance(message, Mapping) else None
    if not isinstance(calls, list):
        return message
    return {**message, "tool_calls": [chat_call(call) for call in calls if isinstance(call, Mapping)]}
