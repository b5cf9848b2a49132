"""Evidence for and against the label that says how a task hides what it needs."""

from dataclasses import dataclass
from typing import Literal

from annotator.core.provenance.scope import anchor_below
from annotator.core.provenance.value_search import Finder, Found, Origin

LongRangeRule = Literal["c3", "wild"]

#: Sources that do not concern the message: every task has them, or they come from tools.
_NEUTRAL = frozenset({Origin.COMMON, Origin.SCHEMA, Origin.OBSERVATION, Origin.WRITTEN})
_HIDING = frozenset({"partial_information", "coreferential_reference", "long_range_dependency"})
#: User messages that must be between under the wild rule, including replies to clarifications (i − j > 2).
WILD_DISTANCE = 2


@dataclass(frozen=True, slots=True)
class InformationEvidence:
    """Anchors of a task's argument values, by where their information comes from.

    ``here``: the user says it in this message. ``asked``: the user says it when asked. ``near``: only before this
    message, but too near for a long-range dependency. ``far``: only far enough back for one. ``given``: it is in
    env_info or marked as inferable. ``open``: not found, or earlier content is missing. ``against`` is a sentence if
    this contradicts the label, else empty; ``suits`` are the labels that it contradicts least, empty if the task's
    values do not show it.
    """

    task: str
    label: str | None
    here: tuple[str, ...]
    asked: tuple[str, ...]
    near: tuple[str, ...]
    far: tuple[str, ...]
    given: tuple[str, ...]
    open: tuple[str, ...]
    against: str
    suits: tuple[str, ...]


def evidence(finder: Finder, index: int, rule: LongRangeRule) -> InformationEvidence:
    """Return what the values of task number ``index`` say about its information label.

    Against explicit: a value appears only before this message. Against any label that hides something: every value from
    the user is in this message. Against long_range_dependency: everything is found, but nothing far back: beyond the
    previous exchange (c3 rule) or beyond two user messages (wild rule, i − j > 2).
    """
    task = finder.scope.tasks[index]
    groups: dict[str, list[Found]] = {name: [] for name in ("here", "asked", "near", "far", "given", "open")}
    for found in finder.values(index):
        group = _group(found, task.exchange, task.turn, rule)
        if group:
            groups[group].append(found)
    label = task.task["information"]
    anchors = {name: tuple(anchor_below(one.call.anchor, one.path) for one in group) for name, group in groups.items()}
    return InformationEvidence(
        task=task.task["id"],
        label=label,
        against=_against(label, groups, rule, finder, index),
        suits=_suits(groups),
        **anchors,
    )


def contradiction(finder: Finder, index: int, rule: LongRangeRule) -> str:
    """Return the sentence of ``evidence`` alone; empty if nothing contradicts the label."""
    task = finder.scope.tasks[index]
    label = task.task["information"]
    if label is None or not task.calls:
        return ""
    groups: dict[str, list[Found]] = {name: [] for name in ("here", "asked", "near", "far", "given", "open")}
    for found in finder.values(index):
        group = _group(found, task.exchange, task.turn, rule)
        if group:
            groups[group].append(found)
    return _against(label, groups, rule, finder, index)


def _chosen_before(finder: Finder, index: int) -> bool:
    """Return whether a value from the schema that is not in this message appears before it."""
    return any(
        found.origin is Origin.SCHEMA and any(target.body.has(found.forms) for target in finder.earlier(index))
        for found in finder.values(index)
    )


def _group(found: Found, exchange: int, turn: int, rule: LongRangeRule) -> str:
    origin = found.origin
    if origin in _NEUTRAL:
        return ""
    if origin is Origin.MESSAGE:
        return "here"
    if origin is Origin.EARLIER:
        passed = exchange - found.exchange > 1 if rule == "c3" else turn - found.turn > WILD_DISTANCE
        return "far" if passed else "near"
    if origin is Origin.REPLY:
        return "asked"
    return "given" if origin in (Origin.ENV_INFO, Origin.INFERABLE) else "open"


def _against(label: str | None, groups: dict[str, list[Found]], rule: LongRangeRule, finder: Finder, index: int) -> str:
    if label == "explicit":
        hidden = [*groups["near"], *groups["far"]]
        if not hidden:
            return ""
        verb = "appears" if len(hidden) == 1 else "appear"
        return f"The label is explicit, but {_shown(hidden)} {verb} only before this message."
    if label not in _HIDING:
        return ""
    if groups["here"] and not any(groups[name] for name in ("asked", "near", "far", "given", "open")):
        if _chosen_before(finder, index):
            return ""
        return f"The label is {label}, but this message has every value that the task needs from the user."
    if label != "long_range_dependency" or groups["far"] or groups["open"] or groups["given"] or not groups["near"]:
        return ""
    reach = "the previous exchange" if rule == "c3" else "two user messages back"
    return (
        f"The label is long_range_dependency, but {_shown(groups['near'])} can be found "
        f"within {reach}, and the task needs nothing from farther back."
    )


def _suits(groups: dict[str, list[Found]]) -> tuple[str, ...]:
    if groups["far"]:
        return ("long_range_dependency",)
    if groups["near"]:
        return ("partial_information", "coreferential_reference")
    if groups["asked"]:
        return ("explicit", "partial_information")
    return ("explicit",) if groups["here"] else ()


def _shown(values: list[Found], most: int = 3) -> str:
    names = list(dict.fromkeys(_name(one) for one in values))
    more = len(names) - most
    head = ", ".join(names[:most])
    return f"{head} and {more} more" if more > 0 else head


def _name(found: Found) -> str:
    path = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in found.path).lstrip(".")
    value = str(found.forms.value)
    return f"{path} (“{value if len(value) <= 40 else value[:39] + '…'}”)"
