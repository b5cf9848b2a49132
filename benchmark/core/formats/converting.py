"""Convert records of one format to another, without a database, and report what the other format cannot represent.

Within one format, every record comes back as the same line: the writer's output is laid out like the original line,
with the same order of keys and spelling of numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.comparison import describe, diff
from annotator.core.comparison.changes import Change, ChangeKind
from annotator.core.comparison.placing import copied
from annotator.core.schema import Problem, SchemaProblem
from annotator.core.schema.exact_json import dumps, loads, same
from annotator.core.schema.layout import lay_out, on_one_line
from benchmark.core.files.reading import RawLine, RecordError, parse_line
from benchmark.core.formats import CANARY, FORMATS, ReadDialogue
from benchmark.core.formats.labels import wild_policy_word
from benchmark.core.formats.mapping import apply_mapping, pointer_in_file
from benchmark.core.formats.native_remainder import NATIVE, native
from benchmark.core.formats.openai_writing import round_of, turns_of

#: c3 and mmtb are one layout under two names.
_ALIKE = frozenset(("c3", "mmtb"))
#: A value in a sentence is cut after this many characters.
_SHOWN = 60


@dataclass(slots=True)
class Converted:
    """The result for one line: the records written for it, each with its files.

    ``problems``: why it, or a dialogue of it, was rejected; ``losses``: content that the records lack.
    """

    external_id: str
    lines: list[str]
    files: dict[str, bytes]
    problems: list[Problem]
    losses: list[Problem]


class Converter:
    """Converts lines of the format ``source`` into records of ``target``.

    ``apart``: whether files can be stored next to the records; otherwise they stay in the records. ``mapping``: role →
    field of the records (``mapping``).
    """

    def __init__(
        self, source: str, target: str, *, apart: bool = False, mapping: Mapping[str, str] | None = None
    ) -> None:
        self.source = source
        self.target = target
        self.apart = apart
        self.mapping = mapping or {}
        self.untouched = (source == target or {source, target} <= _ALIKE) and not self.mapping
        self._reader, self._writer = FORMATS[source], FORMATS[target]

    def convert(self, raw: RawLine) -> Converted:
        """Convert a line."""
        item = parse_line(raw)
        if isinstance(item, RecordError):
            return Converted("", [], {}, [Problem(raw.place, item.message)], [])
        try:
            data = apply_mapping(item.data, self.mapping, self.source)
            dialogues = self._reader.read(data)
        except SchemaProblem as problem:
            name = item.data.get(self.mapping.get("id", "id"))
            problems = [
                Problem(item.place + pointer_in_file(one.pointer, item.data, self.mapping, self.source), one.message)
                for one in problem.problems
            ]
            return Converted(str(name)[:200] if isinstance(name, str | int) else "", [], {}, problems, [])
        out = Converted(dialogues[0].external_id, [], {}, [], [])
        for variants in self._writer.by_record(dialogues):
            try:
                self._write(variants, data, raw.content, out)
            except (ValueError, KeyError) as problem:
                out.problems.append(Problem("", f"It cannot be written as {self.target}: {problem}"))
        return out

    def _write(self, variants: Sequence[ReadDialogue], data: dict[str, Any], content: bytes, out: Converted) -> None:
        kinds = {one.document["kind"] for one in variants}
        if not kinds <= self._writer.kinds:
            raise ValueError(f"the format cannot represent {kinds.pop()} dialogues.")
        canary = data.get(CANARY)
        canary = canary if isinstance(canary, str) else None
        record = self._writer.write(variants, full=not self.untouched, canary=canary)
        again = FORMATS[self.target].read(loads(dumps(record)))
        if self.apart:
            out.files |= self._writer.take_files(record)
        out.lines.append(self._line(record, data, content, variants, again))
        if not self.untouched:
            out.losses += _losses(variants, again, self.target)

    def _line(
        self,
        record: dict[str, Any],
        data: dict[str, Any],
        content: bytes,
        variants: Sequence[ReadDialogue],
        again: Sequence[ReadDialogue],
    ) -> str:
        if not self.untouched:
            return dumps(record).decode()
        text = on_one_line(content.decode().rstrip("\n"))
        if self.target == "neutral" and _alike(variants, again):
            # A record may leave out defaults; its meaning is the same.
            record = data
        return lay_out(record, text)


def _alike(some: Sequence[ReadDialogue], others: Sequence[ReadDialogue]) -> bool:
    return len(some) == len(others) and all(
        (one.external_id, one.variant_group, one.text, one.implementation)
        == (other.external_id, other.variant_group, other.text, other.implementation)
        and same(one.tools, other.tools)
        for one, other in zip(some, others, strict=True)
    )


def _losses(before: Sequence[ReadDialogue], after: Sequence[ReadDialogue], target: str) -> Iterator[Problem]:
    """Yield the content of these dialogues that their records lack; the records are read again as ``after``."""
    read = {one.language: one for one in after} if len(after) > 1 else dict.fromkeys([before[0].language], after[0])
    for one in before:
        other = read.get(one.language)
        if other is None:
            yield Problem("", f"The dialogue {one.external_id} is missing when the {target} record is read again.")
            continue
        if one.variant_group and one.variant_group != other.variant_group:
            yield Problem(
                "/variant_group", f"{target} cannot represent that dialogues are language variants of each other."
            )
        if one.implementation != other.implementation:
            yield Problem("/implementation", f"{target} cannot represent the code of the tools.")
        if not same(_functions(one.tools), _functions(other.tools)):
            yield Problem("/tools", f"{target} writes the tools in another form.")
        there = set(_spelled(other.document))
        for pointer in _spelled(one.document):
            if pointer not in there:
                yield Problem(pointer, f"{target} cannot represent how the field was written.")
        yield from _unsaid(one.document, other.document, target)
        left, right = _bare(one.document), _bare(other.document)
        for change in diff(left, right):
            if change.kind is not ChangeKind.ADDED and change.before not in (None, "", [], {}):
                yield Problem(change.anchor[:600], _words(change, left, target))


#: Notes of a task or step with their own content, and the sentence if a format cannot represent it.
_SAYING = {
    "said": "{} cannot represent what the assistant said with the call.",
    "refusal": "{} cannot represent that the answer is a refusal.",
}


def _unsaid(document: dict[str, Any], again: dict[str, Any], target: str) -> Iterator[Problem]:
    """Yield the content of the document's notes that is missing after reading the record again."""
    for task, read in zip(document.get("tasks", ()), again.get("tasks", ()), strict=False):
        here = f"/tasks/{task['id']}"
        label = native(task).get("label")
        word = wild_policy_word(read, native(read).get("label"))
        if label is not None and task["policy"] == read["policy"] and word != wild_policy_word(task, label):
            yield Problem(
                f"{here}/policy",
                f"{target} cannot represent the label {label}, and the dependencies do not express it.",
            )
        steps = task["steps"]
        there = read["steps"] if len(read["steps"]) == len(steps) else [None] * len(steps)
        for step, other in zip(steps, there, strict=True):
            mine, theirs = native(step), native(other) if other else {}
            for name, words in _SAYING.items():
                if name in mine and mine[name] != theirs.get(name):
                    yield Problem(f"{here}/steps/{step['id']}", words.format(target))
        if any(round_of(one) is not None for one in steps) and _at_once(steps) != _at_once(read["steps"]):
            yield Problem(f"{here}/steps", f"{target} cannot represent which calls were made in parallel.")


def _at_once(steps: list[Any]) -> list[list[int]]:
    """Return the positions of the parallel calls, turn by turn."""
    positions = {one["id"]: n for n, one in enumerate(steps) if one["type"] == "call"}
    turns = ([positions[one["id"]] for one in turn if one["id"] in positions] for turn in turns_of(steps))
    return [turn for turn in turns if turn]


def _words(change: Change, document: dict[str, Any], target: str) -> str:
    place = describe(document, change.anchor)
    place = f"{place[:1].upper()}{place[1:]}"
    if change.kind is ChangeKind.CHANGED and change.after is not None:
        return (
            f"{place}: {_shown(change.before)} becomes {_shown(change.after)} when the {target} record is read again."
        )
    if change.kind is ChangeKind.MOVED:
        return f"{place}: {target} has a different order."
    return f"{place}: {target} cannot represent {_shown(change.before)}."


def _shown(value: Any) -> str:
    text = dumps(value).decode()
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 1]}…"


def _functions(tools: list[Any]) -> list[Any]:
    return [tool.get("function", tool) for tool in tools]


def _parts(document: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the parts that have their own additional fields, by anchor."""
    yield "", document
    for task in document.get("tasks", ()):
        here = f"/tasks/{task['id']}"
        yield here, task
        for step in task["steps"]:
            yield f"{here}/steps/{step['id']}", step


def _spelled(document: dict[str, Any]) -> Iterator[str]:
    """Yield the fields that the record wrote in its own way."""
    for anchor, part in _parts(document):
        notes = native(part)
        if "messages" in notes:
            yield f"{anchor}/messages"
        for holder in (notes, notes.get("node"), notes.get("source")):
            kept = holder.get("kept") if isinstance(holder, dict) else None
            if isinstance(kept, dict):
                yield from (f"{anchor}/{key}" for key in kept)


def _bare(document: dict[str, Any]) -> dict[str, Any]:
    """Return a copy without Assay's notes, and without differences in names: ids that only count, synonyms
    of a label.
    """
    document = copied(document)
    for _, part in _parts(document):
        part["extra"].pop(NATIVE, None)
    for t, task in enumerate(document.get("tasks", ()), 1):
        task["id"] = f"t{t}"
        task["native_information"] = None
        ids = {step["id"]: f"s{s}" for s, step in enumerate(task["steps"])}
        for step in task["steps"]:
            step["id"] = ids[step["id"]]
            for dependency in step["depends_on"] or ():
                dependency["id"] = ids.get(dependency["id"], dependency["id"])
    return document
