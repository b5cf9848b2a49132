"""Changes between two versions as sentences, grouped by task and step."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.text import capfirst
from django.utils.translation import gettext as _

from annotator.core.comparison.anchor_wording import describe, part_words
from annotator.core.comparison.anchors import Document, lookup, ordered_list, owner, split
from annotator.core.comparison.change_lines import (
    call_text,
    compared_texts,
    edge_changes,
    moves,
    short_value,
    shortened_text,
)
from annotator.core.comparison.changes import Change, ChangeKind, diff
from annotator.core.comparison.consequences import is_whole
from annotator.core.comparison.field_titles import field_at
from annotator.core.comparison.native_remainders import with_remainder_of
from annotator.core.fields import CustomField, value_words
from annotator.core.schema.indenting import indented
from annotator.presentation.components.labels import labels_at
from annotator.presentation.graph import kind_label
from annotator.translation import place_name, translated_text

#: Characters up to which old and new are shown on one line.
MAX_INLINE = 160
#: Characters of a message or an answer in a sentence.
MAX_QUOTE = 100


@dataclass(frozen=True, slots=True)
class ChangeLine:
    """One change as a sentence. ``anchor``: its place; a change of several dependencies is several lines.

    ``before`` and ``after`` are texts to compare by words, None if the sentence says everything. ``raw`` is the JSON of
    both versions, blank if a version has nothing there; None if the sentence has the whole value. ``task`` and ``step``
    are anchors of the group, blank if there is none; ``go`` is a place that the newer version has, blank for none.
    """

    anchor: str
    kind: ChangeKind
    sentence: str
    task: str
    task_title: str
    step: str
    step_title: str
    go: str
    before: str | None = None
    after: str | None = None
    raw: tuple[str, str] | None = None

    @property
    def inline(self) -> bool:
        """Return whether both texts fit on one line."""
        texts = (self.before or "", self.after or "")
        return all("\n" not in text for text in texts) and sum(map(len, texts)) <= MAX_INLINE


@dataclass(frozen=True, slots=True)
class _Said:
    """A sentence, the texts to compare by words, and whether the raw JSON says more."""

    sentence: str
    texts: tuple[str, str] | None = None
    raw: bool = False
    #: If it differs from that of the change.
    kind: ChangeKind | None = None


def change_lines(before: Document, after: Document, fields: Sequence[CustomField] = ()) -> list[ChangeLine]:
    """Return every change from ``before`` to ``after``, task by task and step by step, one line or more for each.

    ``fields``: the project's custom fields, whose titles and options labels have.
    """
    wording = _Wording(before, after, fields)
    lines = [line for change in diff(before, after) for line in wording.lines(change)]
    # What is about a task as a whole comes before its steps.
    tasks = {task: number for number, task in enumerate(dict.fromkeys(line.task for line in lines))}
    steps = {step: number for number, step in enumerate(dict.fromkeys(["", *(line.step for line in lines)]))}
    return sorted(lines, key=lambda line: (tasks[line.task], steps[line.step]))


def content_lines(before: Document, after: Document, fields: Sequence[CustomField] = ()) -> list[ChangeLine]:
    """Return the changes that people can make: all but those of what a format keeps of its native record."""
    return change_lines(with_remainder_of(before, after), after, fields)


def value_as_text(anchor: str, value: Any, fields: Sequence[CustomField] = ()) -> str:
    """Return the value at a place with labels instead of codes: for choosing between two of them."""
    name = anchor.rpartition("/")[2]
    field = field_at(anchor, fields)
    if value is None:
        return _("not annotated")
    if field is not None:
        return value_words(value, field)
    if name == "depends_on" and isinstance(value, list):
        return ", ".join(_needs(value)) or _("nothing")
    if isinstance(value, str):
        return _(labels_at(name).get(value, value))
    return indented(value)


class _Wording:
    def __init__(self, before: Document, after: Document, fields: Sequence[CustomField]) -> None:
        self.before, self.after, self.fields = before, after, fields

    def lines(self, change: Change) -> Iterator[ChangeLine]:
        """Yield the lines of one change: at least one."""
        document = self.before if change.kind is ChangeKind.REMOVED else self.after
        parts = split(change.anchor)
        # A whole step belongs to the list of its task.
        group = change.group
        if is_whole(parts) and len(parts) == 4:
            group = owner(group.rpartition("/")[0].rpartition("/")[0])
        task = "/".join(group.split("/")[:3])
        task_title = capfirst(place_name(document, task))
        step = group if group != task else ""
        step_title = translated_text(describe(document, step).partition(", ")[2]) if step else ""
        go = next((one for one in (change.group, task) if one and lookup(self.after, one) is not None), "")
        for said in self._said(change, parts):
            old, new = said.texts or (None, None)
            yield ChangeLine(
                anchor=change.anchor,
                kind=said.kind or change.kind,
                sentence=said.sentence,
                task=task,
                task_title=task_title,
                step=step,
                step_title=step_title,
                go=go,
                before=old,
                after=new,
                raw=_raw(change) if said.raw else None,
            )

    def _said(self, change: Change, parts: tuple[str, ...]) -> list[_Said]:
        if not change.anchor:
            return [_Said(_("Replaced the whole dialogue"), raw=True)]
        if change.kind is ChangeKind.MOVED:
            return self._moved(change)
        if is_whole(parts):
            return [_whole(change, parts)]
        if parts[0] == "tasks" and len(parts) == 5 and parts[4] == "depends_on":
            return _edges(change, parts[3])
        return [self._value(change, parts)]

    def _moved(self, change: Change) -> list[_Said]:
        listed = ordered_list(change.anchor) or ""
        items = {item["id"]: item for item in lookup(self.after, listed, ())}
        name = split(listed)[-1]
        said = [
            _Said(
                _("Moved %(what)s from place %(before)s to %(after)s")
                % {"what": _item_words(name, items[one.id]), "before": one.before, "after": one.after}
            )
            for one in moves(change.before, change.after)
        ]
        return said or [_Said(_("Changed the order of %(what)s") % {"what": name.replace("_", " ")}, raw=True)]

    def _value(self, change: Change, parts: tuple[str, ...]) -> _Said:
        field = field_at(change.anchor, self.fields)
        what = f"“{field.title}”" if field is not None else translated_text(part_words(change.anchor))
        if change.kind is ChangeKind.CHANGED:
            # What is not annotated has no value to compare with.
            if _is_annotation(parts) and None in (change.before, change.after):
                value, sentence = (
                    (change.after, _("Annotated %(what)s: %(value)s"))
                    if change.before is None
                    else (change.before, _("Removed %(what)s: %(value)s"))
                )
                return self._one(sentence, what, value, field, parts)
            texts = self._texts(change, field, parts)
            return _Said(_("Changed %(what)s") % {"what": what}, texts, raw=not _says_all(change, texts))
        added = change.kind is ChangeKind.ADDED
        sentence = _("Added %(what)s: %(value)s") if added else _("Removed %(what)s: %(value)s")
        return self._one(sentence, what, change.after if added else change.before, field, parts)

    def _one(self, sentence: str, what: str, value: Any, field: CustomField | None, parts: tuple[str, ...]) -> _Said:
        label = value_words(value, field) if field is not None else _label(parts, value)
        shown = short_value(value, MAX_QUOTE) if label is None else shortened_text(label, MAX_QUOTE)
        return _Said(sentence % {"what": what, "value": shown}, raw="…" in shown or isinstance(value, dict | list))

    def _texts(self, change: Change, field: CustomField | None, parts: tuple[str, ...]) -> tuple[str, str]:
        if field is not None:
            texts = value_words(change.before, field), value_words(change.after, field)
            return texts if texts[0] != texts[1] else compared_texts(change.before, change.after)
        old, new = _label(parts, change.before), _label(parts, change.after)
        return (old, new) if old and new and old != new else compared_texts(change.before, change.after)


def _whole(change: Change, parts: tuple[str, ...]) -> _Said:
    name = parts[-2]
    if change.kind is ChangeKind.CHANGED:
        values = {"before": _item_words(name, change.before), "after": _item_words(name, change.after)}
        return _Said(_("Replaced %(before)s with %(after)s") % values, raw=True)
    added = change.kind is ChangeKind.ADDED
    item = change.after if added else change.before
    what, needs = _item_words(name, item), _needs(item.get("depends_on") or ())
    if added and needs:
        sentence = _("Added %(what)s, which needs %(steps)s") % {"what": what, "steps": ", ".join(needs)}
    else:
        sentence = (_("Added %(what)s") if added else _("Removed %(what)s")) % {"what": what}
    return _Said(sentence, raw=True)


def _edges(change: Change, step: str) -> list[_Said]:
    said = []
    if change.before is None:
        said.append(_Said(_("Annotated the dependencies of step %(step)s") % {"step": step}))
    elif change.after is None:
        said.append(_Said(_("Removed the annotation of the dependencies of step %(step)s") % {"step": step}))
    for edge in edge_changes(change.before, change.after):
        values = {"step": step, "needs": edge.needs, "kind": _kinds(edge.after or edge.before or "")}
        if edge.before is None:
            sentence = _("Added dependency: step %(step)s needs step %(needs)s (%(kind)s)")
        elif edge.after is None:
            sentence = _("Removed dependency: step %(step)s needs step %(needs)s (%(kind)s)")
        else:
            sentence = _("Changed dependency of step %(step)s on step %(needs)s")
        both = (_kinds(edge.before), _kinds(edge.after)) if edge.before and edge.after else None
        kind = None if both else ChangeKind.REMOVED if edge.before else ChangeKind.ADDED
        said.append(_Said(sentence % values, both, kind=kind))
    return said


def _item_words(name: str, item: Any) -> str:
    """Return an item with an id on one line: its type and its content."""
    return _ITEMS[name](item)


def _step_words(step: Any) -> str:
    if step.get("type", "call") == "call":
        return _("call %(call)s") % {"call": call_text(step["name"], step["arguments"])}
    if step["type"] == "clarification":
        return _("question “%(text)s”") % {"text": shortened_text(step["question"] or "", MAX_QUOTE)}
    return _("answer “%(text)s”") % {"text": shortened_text(step["text"] or "", MAX_QUOTE)}


def _round_words(round_: Any) -> str:
    calls = ", ".join(call_text(one["name"], one["arguments"]) for one in round_["calls"][:4])
    return _("round %(id)s: %(content)s") % {
        "id": round_["id"],
        "content": shortened_text(calls or round_["final"] or "", MAX_QUOTE),
    }


def _constraint_words(constraint: Any) -> str:
    return _("constraint “%(text)s”") % {
        "text": shortened_text(constraint["text"] or constraint["category"] or "", MAX_QUOTE)
    }


_ITEMS: dict[str, Callable[[Any], str]] = {
    "tasks": lambda task: (
        _("task %(id)s “%(text)s”") % {"id": task["id"], "text": shortened_text(task["user_message"], MAX_QUOTE)}
    ),
    "steps": _step_words,
    "calls": _step_words,
    "candidate_messages": lambda one: (
        _("candidate message “%(text)s”") % {"text": shortened_text(one["text"], MAX_QUOTE)}
    ),
    "constraints": _constraint_words,
    "reference_trajectory": _round_words,
    "tools": lambda one: _("function %(name)s") % {"name": one["tool"].get("function", one["tool"])["name"]},
}


def _needs(dependencies: Sequence[Any]) -> list[str]:
    return [
        _("step %(step)s (%(kind)s)") % {"step": one["id"], "kind": kind_label(one["kind"])} for one in dependencies
    ]


def _kinds(kinds: str) -> str:
    return " + ".join(kind_label(kind) for kind in kinds.split(" + "))


def _label(parts: tuple[str, ...], value: Any) -> str | None:
    """Return the label of a code; None where the value is no code."""
    text = labels_at(parts[-1]).get(value) if isinstance(value, str) and _is_annotation(parts) else None
    return None if text is None else _(text)


def _is_annotation(parts: tuple[str, ...]) -> bool:
    """Return whether null at a place means that it is not annotated; inside of arguments it is a value."""
    return not {"arguments", "observation", "extra", "initial_state", "parameters"} & set(parts[:-1])


def _says_all(change: Change, texts: tuple[str, str]) -> bool:
    """Return whether the compared texts are the values themselves, so that their JSON adds nothing."""
    return all(not isinstance(one, dict | list) for one in (change.before, change.after)) and bool(texts)


def _raw(change: Change) -> tuple[str, str]:
    """Return both values as JSON; blank if a version has nothing there."""
    return (
        "" if change.kind is ChangeKind.ADDED else indented(change.before),
        "" if change.kind is ChangeKind.REMOVED else indented(change.after),
    )
