"""Describes the differences between two protocols in words."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.text import gettext_noop
from reviews.core.protocols.outcomes import combinations, deciding_rule
from reviews.core.protocols.protocol import (
    ANY,
    Applies,
    Checklist,
    ChecklistItem,
    ContentRule,
    Entry,
    EntryMode,
    OutcomeRule,
    Protocol,
    Stage,
)

#: Words by value; strings, so that they also name what a form holds.
STAGE_KINDS: Mapping[str, str] = {
    "self_check": gettext_noop("self-check"),
    "cross_check": gettext_noop("cross-check"),
    "expert": gettext_noop("expert"),
}
AUTHOR_RULES: Mapping[str, str] = {
    "any": gettext_noop("anyone with the role"),
    "owner": gettext_noop("only the item’s owner"),
    "not_author": gettext_noop("not the author or owner"),
}
ENTRY_MODES: Mapping[str, str] = {
    "all": gettext_noop("every item"),
    "fraction": gettext_noop("a random sample"),
    "escalated_and_fraction": gettext_noop("every escalated item and a random sample"),
    "rounds": gettext_noop("random samples, in rounds"),
}
VERDICTS: Mapping[str, str] = {
    "approve": gettext_noop("approve"),
    "fix": gettext_noop("fix"),
    "reject": gettext_noop("reject"),
    "escalate": gettext_noop("escalate"),
    ANY: gettext_noop("any verdict"),
}
OUTCOMES: Mapping[str, str] = {
    "pass": gettext_noop("pass"),
    "pass_with_fix": gettext_noop("pass with the fix"),
    "rejected": gettext_noop("reject"),
    "escalate": gettext_noop("escalate to the expert stage"),
    "back_to_author": gettext_noop("send back to the author"),
    "restart": gettext_noop("repeat the stage"),
    "return": gettext_noop("return to the stage that escalated it"),
    "confirm": gettext_noop("ask another reviewer to confirm"),
}
APPLIES: Mapping[str, str] = {
    "always": gettext_noop("always"),
    "several_tasks": gettext_noop("if there are two tasks or more"),
    "later_tasks": gettext_noop("after the first task"),
    "has_calls": gettext_noop("where a tool is called"),
}
CONTENT_RULES: Mapping[str, str] = {
    "any": gettext_noop("any"),
    "same": gettext_noop("same"),
    "different": gettext_noop("different"),
    "majority": gettext_noop("same fix by a majority"),
}
#: Fields of a protocol, and of a stage, that have words of their own below.
_OF_PROTOCOL = {"name", "preset", "stages", "taxonomy", "discrepancy_alarm", "alarm_after", "verified_toolsets"}
_KNOWN = {"key", "title", "kind", "reviewers", "eligible", "blind", "entry", "outcomes", "checklist", "lease_minutes"}


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting that differs. Blank: it did not exist before, or no longer exists."""

    #: "The protocol", "Stage “Cross-check”" or "Error types".
    place: str
    what: str
    before: str
    after: str


def describe_protocol_changes(before: Protocol, after: Protocol) -> list[Difference]:
    """Return everything that differs, stages in the order of ``after``, removed ones last."""
    out = [
        Difference("The protocol", what, left, right)
        for what, left, right in (
            ("Name", before.name, after.name),
            ("Disagreement alarm limit", percent(before.discrepancy_alarm), percent(after.discrepancy_alarm)),
            ("Minimum compared items", str(before.alarm_after), str(after.alarm_after)),
            ("Only on verified toolsets", _yes(before.verified_toolsets), _yes(after.verified_toolsets)),
            *_rest(before, after, _OF_PROTOCOL),
        )
        if left != right
    ]
    earlier = {stage.key: stage for stage in before.stages}
    later = {stage.key: stage for stage in after.stages}
    shared = [key for key in later if key in earlier]
    if shared != [key for key in earlier if key in later]:
        out.append(Difference("The protocol", "Order of stages", _order(before), _order(after)))
    for key, stage in later.items():
        place = f"Stage “{stage.title}”"
        if key not in earlier:
            out.append(Difference(place, "Stage", "", summary(stage)))
        else:
            out += [Difference(place, *line) for line in _stage_lines(earlier[key], stage) if line[1] != line[2]]
    out += [
        Difference(f"Stage “{stage.title}”", "Stage", summary(stage), "")
        for key, stage in earlier.items()
        if key not in later
    ]
    return out + list(_taxonomy(before, after))


def summary(stage: Stage) -> str:
    """Return a stage in one line."""
    many = "one reviewer" if stage.reviewers == 1 else f"{stage.reviewers} reviewers"
    return f"{STAGE_KINDS[stage.kind]}, {many}{', blind' if stage.blind else ''}, {entry_words(stage.entry)}"


def percent(share: float) -> str:
    """Return 0.05 as "5 %"."""
    return f"{round(share * 100, 6):g} %"


def entry_words(entry: Entry, translate: Callable[[str], str] = str) -> str:
    """Return which items enter a stage."""
    words = ENTRY_MODES["all"]
    if entry.mode is EntryMode.FRACTION:
        words = gettext_noop("a random %(share)s of the items")
    elif entry.mode is EntryMode.ROUNDS:
        words = gettext_noop("a random %(share)s of the items in each round, unseen items first")
    elif entry.mode is EntryMode.ESCALATED_AND_FRACTION and entry.fraction:
        words = gettext_noop("every escalated item and a random %(share)s of the others")
    elif entry.mode is EntryMode.ESCALATED_AND_FRACTION:
        words = gettext_noop("every escalated item")
    return translate(words) % {"share": percent(entry.fraction)}


def _stage_lines(before: Stage, after: Stage) -> Iterator[tuple[str, str, str]]:
    yield "Title", before.title, after.title
    yield "Kind", STAGE_KINDS[before.kind], STAGE_KINDS[after.kind]
    yield "Reviewers", str(before.reviewers), str(after.reviewers)
    yield "Roles", _roles(before), _roles(after)
    yield "Author", AUTHOR_RULES[before.eligible.author], AUTHOR_RULES[after.eligible.author]
    yield (
        "Exclude earlier reviewers",
        _yes(before.eligible.not_earlier_reviewers),
        _yes(after.eligible.not_earlier_reviewers),
    )
    yield "Blind", _yes(before.blind), _yes(after.blind)
    yield "Items", entry_words(before.entry), entry_words(after.entry)
    yield "Claim expires after (minutes)", str(before.lease_minutes), str(after.lease_minutes)
    yield from _rest(before.entry, after.entry, {"mode", "fraction"})
    yield from _rest(before, after, _KNOWN)
    yield from _outcome_lines(before, after)
    yield from _checklist_lines(before.checklist, after.checklist)


def _rest(before: Any, after: Any, known: set[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the fields that have no words of their own here, as JSON."""
    old, new = before.model_dump(mode="json"), after.model_dump(mode="json")
    for name in type(after).model_fields:
        if name not in known:
            yield name.replace("_", " ").capitalize(), _plain(old.get(name)), _plain(new.get(name))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return _yes(value)
    if value is None:
        return "no"
    if isinstance(value, dict):
        return ", ".join(f"{name.replace('_', ' ')} {_plain(one)}" for name, one in value.items())
    return str(value) if isinstance(value, str | int | float) else json.dumps(value, ensure_ascii=False)


def _outcome_lines(before: Stage, after: Stage) -> Iterator[tuple[str, str, str]]:
    """Yield outcomes that differ, by combination; if the number of reviewers changes, the whole table."""
    if before.reviewers != after.reviewers:
        yield "Outcomes", _table(before.outcomes), _table(after.outcomes)
        return
    old = {str(one): deciding_rule(before, one) for one in combinations(before)}
    for one in combinations(after):
        words, rule = str(one), deciding_rule(after, one)
        was = old.pop(words, None)
        yield f"Outcome of {words}", OUTCOMES[was.outcome] if was else "", OUTCOMES[rule.outcome] if rule else ""
    for words, was in old.items():
        yield f"Outcome of {words}", OUTCOMES[was.outcome] if was else "", ""


def _table(rules: Sequence[OutcomeRule]) -> str:
    return "; ".join(f"{rule_words(rule)}: {OUTCOMES[rule.outcome]}" for rule in rules)


def rule_words(rule: OutcomeRule) -> str:
    """Return when a row of an outcome table applies."""
    words = CONTENT_RULES[rule.content] + ("" if rule.content is ContentRule.MAJORITY else " content")
    return " + ".join(rule.verdicts) + ("" if rule.content is ContentRule.ANY else f" ({words})")


def _checklist_lines(before: Checklist, after: Checklist) -> Iterator[tuple[str, str, str]]:
    for what, left, right in _rest(before, after, {"version", "items"}):
        yield f"Checklist, {what.lower()}", left, right
    old = {item.key: _item(item) for item in before.items}
    new = {item.key: _item(item) for item in after.items}
    for key in [*new, *(key for key in old if key not in new)]:
        yield f"Checklist, {key}", old.get(key, ""), new.get(key, "")
    if [key for key in old if key in new] != [key for key in new if key in old]:
        yield "Checklist, order", ", ".join(old), ", ".join(new)


def _item(item: ChecklistItem) -> str:
    words = ["for each task" if item.per_task else "once"]
    if item.applies is not Applies.ALWAYS:
        words.append(APPLIES[item.applies])
    if item.required:
        words.append("required")
    return f"{item.text} ({', '.join(words)})"


def _taxonomy(before: Protocol, after: Protocol) -> Iterator[Difference]:
    old = {kind.key: kind for kind in before.taxonomy}
    new = {kind.key: kind for kind in after.taxonomy}
    place = "Error types"
    for key, kind in new.items():
        was = old.get(key)
        if was is None:
            yield Difference(place, kind.label, "", kind.description or "new")
            continue
        for what, left, right in (
            (f"{was.label}, name", was.label, kind.label),
            (f"{was.label}, description", was.description, kind.description),
            (f"{was.label}, retired", _yes(was.retired), _yes(kind.retired)),
        ):
            if left != right:
                yield Difference(place, what, left, right)
    for key, kind in old.items():
        if key not in new:
            yield Difference(place, kind.label, kind.description or "in use", "")


def _order(protocol: Protocol) -> str:
    return " → ".join(stage.title for stage in protocol.stages)


def _roles(stage: Stage) -> str:
    return ", ".join(role.replace("_", " ") for role in stage.eligible.roles)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
