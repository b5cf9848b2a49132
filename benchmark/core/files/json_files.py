"""Read a ``.json`` file, which is in memory as a whole: one list, one object, or actually JSON lines."""

from collections.abc import Callable, Generator, Iterator
from io import BytesIO

import orjson

from benchmark.core.files.json_lists import ListError, elements, fields
from benchmark.core.files.limits import Limits, SourceError, shown_size
from benchmark.core.files.packing import Readable
from benchmark.core.files.record_lines import BOM, Found, has_too_many_values, split_lines, too_long


def read_json_lines(source: Readable, limit: int) -> Generator[Found]:
    """Yield the lines that are not blank. ``limit``: bytes of a line."""
    for number, (line, length, ended) in enumerate(split_lines(source, limit), 1):
        if line is None:
            yield Found(number, None, length, ended, too_long(length, limit))
            continue
        line = line.removeprefix(BOM)
        if line and not line.isspace():
            yield Found(number, line, length, ended)


def read_json(
    source: Readable, limits: Limits, *, listing: str = "", learn: Callable[[bytes], None] | None = None
) -> Generator[Found]:
    """Yield the records of a ``.json`` file. Raises SourceError.

    ``listing``: the field with the list of records, if the file may be one object with such a field; ``learn`` gets
    the object's ``eval`` before its records.
    """
    content = read_up_to(source, limits.whole + 1)
    if len(content) > limits.whole:
        raise SourceError(
            f"A .json file may have at most {shown_size(limits.whole)}, because it is read as a whole. Use JSON lines."
        )
    content = content.removeprefix(BOM)
    begin = content.lstrip()[:1]
    if begin == b"[":
        yield from _read_list(content, limits.line)
    elif begin == b"{" and listing and _is_listing(content, listing, limits):
        yield from _read_list(content, limits.line, listing, learn)
    elif begin != b"{":
        raise SourceError("A .json file must have a list of objects, or one object.")
    elif len(content) > limits.line or has_too_many_values(content):
        # Parsed as one value, it would take thirty times as much memory.
        if _is_object(content.lstrip().partition(b"\n")[0], limits.line):
            yield from read_json_lines(BytesIO(content), limits.line)
        elif len(content) <= limits.line:
            yield Found(1, content, len(content))
        else:
            raise SourceError(
                f"The file has {shown_size(len(content))} and is read as one record, because its first line is not a "
                f"record. A record may have at most {shown_size(limits.line)}. If the file has many records, write one "
                "per line (JSON lines)."
            )
    elif _is_json(content):
        yield Found(1, content, len(content))
    else:
        yield from read_json_lines(BytesIO(content), limits.line)


def read_up_to(source: Readable, size: int) -> bytes:
    """Return ``size`` bytes; fewer only at the end."""
    pieces, left = [], size
    while left > 0 and (piece := source.read(left)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def _is_listing(content: bytes, listing: str, limits: Limits) -> bool:
    """Return whether an object must be read in parts, because of its field with the list of records."""
    if f'"{listing}"'.encode() not in content:
        return False
    if listing == "resourceSpans" and len(content) <= limits.line and not has_too_many_values(content):
        return False
    first, _, rest = content.strip().partition(b"\n")
    return not (rest and _is_object(first, limits.line))


def _read_list(
    content: bytes, limit: int, listing: str = "", learn: Callable[[bytes], None] | None = None
) -> Generator[Found]:
    """Read a list of records; ``listing``: the field that has it."""
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        at = error.start - content.rfind(b"\n", 0, error.start)
        raise SourceError(f"The file is not UTF-8 at line {line}, byte {at}. Save it as UTF-8.") from None
    line, counted, number, is_alone = 1, 0, -1, bool(listing)
    try:
        for name, start, end in _listed(text, limit, listing):
            line += text.count("\n", counted, start)
            counted = start
            element = text[start:end].encode()
            if name != listing:
                if name == "eval" and learn is not None:
                    learn(element)
                continue
            is_alone = False
            number += 1
            place = f"/{listing}/{number}" if listing else f"/{number}"
            if listing == "resourceSpans":
                element = b'{"resourceSpans":[%b]}' % element
            if len(element) > limit:
                yield Found(line, None, len(element), problem=too_long(len(element), limit), place=place)
            else:
                yield Found(line, element, len(element), place=place)
    except ListError as error:
        line += text.count("\n", counted, error.at)
        raise SourceError(error.sentence(line), line=line) from None
    if is_alone:
        yield Found(1, content, len(content))


def _listed(text: str, longest: int, listing: str) -> Iterator[tuple[str, int, int]]:
    if listing:
        return fields(text, longest, listing)
    return (("", start, end) for start, end in elements(text, longest))


def _is_json(content: bytes) -> bool:
    try:
        orjson.loads(content)
    except orjson.JSONDecodeError as error:
        # Any error other than a second value is an error in this value.
        return "after document" not in error.msg
    return True


def _is_object(line: bytes, longest: int) -> bool:
    try:
        return len(line) <= longest and not has_too_many_values(line) and type(orjson.loads(line)) is dict
    except orjson.JSONDecodeError:
        return False
