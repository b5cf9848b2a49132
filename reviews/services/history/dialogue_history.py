"""What happened to a dialogue, as one person may know it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from annotator.core.wording import counted
from annotator.models import Dialogue, Event, User
from annotator.models.content import DialogueStatus
from annotator.services.access.blindness import blind_to, veil
from annotator.services.jobs.jobs import kind_title
from reviews.models import Verdict
from reviews.services.feedback.comments import visible_comments
from reviews.services.protocols.versions import stage_titles

#: Entries of one timeline; a dialogue with more has lived through several cycles.
LIMIT = 300
#: What an event says of why somebody did it, and of what they thought of a colleague's work.
_REASONS = ("reason", "verdict")


@dataclass(frozen=True)
class Entry:
    """One thing that happened. ``actor`` is None where the program did it; ``kind`` is the event's."""

    at: datetime
    actor: User | None
    text: str
    kind: str


def read_history(*, actor: User, dialogue: Dialogue) -> list[Entry]:
    """The dialogue's timeline, newest first: its events, and the comments on it, that the actor may see.

    In a blind stage it says what happened when, not who did it or why.
    """
    titles = stage_titles(dialogue.project)
    blind = blind_to(actor=actor, dialogues=[dialogue.pk])
    rows = Event.objects.visible_to(actor).filter(dialogue=dialogue).select_related("actor").order_by("-number")
    events = list(rows[:LIMIT])
    for event in events if blind else ():
        if event.actor_id != actor.pk:
            event.after = {name: value for name, value in event.after.items() if name not in _REASONS}
    events = veil(events, actor=actor, blind=blind, people=["actor"])
    entries = [Entry(event.created_at, event.actor, event_words(event, titles), event.kind) for event in events]
    for comment in visible_comments(actor=actor, dialogue=dialogue)[-LIMIT:]:
        verb = "Commented" if comment.parent_id is None else "Answered"
        entries.append(Entry(comment.created_at, comment.author, f"{verb}: {comment.text[:200]}", "comment.added"))
        if comment.resolved_at is not None:
            words = f"Dealt with: {comment.text[:200]}"
            entries.append(Entry(comment.resolved_at, comment.resolved_by, words, "comment.resolved"))
    return sorted(entries, key=lambda entry: entry.at, reverse=True)[:LIMIT]


def event_words(event: Event, titles: dict[str, str]) -> str:
    """What an event says, as a sentence without its actor. ``titles``: of the project's stages."""
    write = _SENTENCES.get(event.kind)
    if write is None:
        name, _, what = event.kind.partition(".")
        return f"{name.replace('_', ' ').capitalize()} {what.replace('_', ' ')}"
    return write(event.after, titles)


def _title(after: dict[str, Any], titles: dict[str, str]) -> str:
    key = str(after.get("stage", ""))
    title = titles.get(key, key)
    return title if after.get("round", 1) == 1 else f"{title}, round {after['round']}"


def _reviewed(after: dict[str, Any], titles: dict[str, str]) -> str:
    verdict = str(Verdict(after["verdict"]).label).lower() if after.get("verdict") in Verdict.values else "reviewed"
    return f"{_title(after, titles)}: {verdict}"


_OUTCOMES = {
    "pass": "passed",
    "pass_with_fix": "passed with changes",
    "rejected": "rejected",
    "escalate": "escalated to an expert",
    "back_to_author": "sent back to the author",
    "restart": "to be reviewed anew",
    "return": "settled, and back to where it was escalated",
    "confirm": "approved; another person looks at the same version",
    "not_drawn": "not in the random sample",
}


def _settled(after: dict[str, Any], titles: dict[str, str]) -> str:
    words = f"{_title(after, titles)}: {_OUTCOMES.get(str(after.get('outcome')), 'settled')}"
    count = after.get("discrepancies")
    return words if not count else f"{words}, {count} {'discrepancy' if count == 1 else 'discrepancies'}"


def _because(words: str, after: dict[str, Any]) -> str:
    return f"{words}: {after['reason']}" if after.get("reason") else words


def _keys(words: str) -> Callable[[dict[str, Any], dict[str, str]], str]:
    """“Settings changed: name, time zone”."""
    return lambda after, titles: f"{words}: {', '.join(key.replace('_', ' ') for key in after)}" if after else words


def _job(words: str) -> Callable[[dict[str, Any], dict[str, str]], str]:
    return lambda after, titles: f"{kind_title(str(after.get('kind', 'job')))} {words}"


_ABSENT = {"left": "has left", "paused": "is paused", "away": "is away", "role": "has no role for it any more"}


def _discrepant(after: dict[str, Any]) -> str:
    return f"reviewers differed on {after.get('discrepant')} of {counted(after.get('compared', 0), 'item')}"


def _round_ended(after: dict[str, Any], titles: dict[str, str]) -> str:
    stage = titles.get(str(after.get("stage")), "a stage")
    found = f"errors in {after.get('errors')}, conflicts on {after.get('conflicts')}"
    return f"Round {after.get('round')} of {stage} ended: {after.get('seen')} seen, {found}"


_SENTENCES: dict[str, Callable[[dict[str, Any], dict[str, str]], str]] = {
    "project.created": lambda after, titles: f"Project created: {after.get('name', '')}",
    "project.changed": _keys("Settings changed"),
    "project.checkpoint": lambda after, titles: f"Checkpoint over {counted(after.get('events', 0), 'event')}",
    "guideline.published": lambda after, titles: f"Guideline {after.get('number')} published",
    "guideline.flagged": lambda after, titles: _because(
        f"Guideline {after.get('number')}: {counted(after.get('dialogues', 0), 'dialogue')} marked as outdated", after
    ),
    "guideline.flag_withdrawn": lambda after, titles: f"Guideline {after.get('number')}: mark withdrawn",
    "protocol.adopted": lambda after, titles: f"Protocol {after.get('number')} adopted",
    "protocol.migration_started": lambda after, titles: _because(
        f"What is under way moves to protocol {after.get('number')}", after
    ),
    "protocol.discrepancy_alarm": lambda after, titles: f"{_title(after, titles)}: {_discrepant(after)}, too many",
    "protocol.discrepancy_cleared": lambda after, titles: (
        f"{_title(after, titles)}: {_discrepant(after)}, within the limit again"
    ),
    "membership.granted": lambda after, titles: f"Role given: {str(after.get('role', '')).replace('_', ' ')}",
    "membership.ended": lambda after, titles: "Role ended",
    "invitation.created": lambda after, titles: "Invitation made",
    "invitation.accepted": lambda after, titles: "Invitation accepted",
    "invitation.revoked": lambda after, titles: "Invitation closed",
    "token.created": lambda after, titles: "API token made",
    "token.revoked": lambda after, titles: "API token revoked",
    "toolset.added": lambda after, titles: f"Toolset added: {after.get('toolset', '')}",
    "toolset.imported": lambda after, titles: f"New toolsets came with an import: {after.get('count', 0)}",
    "import.published": lambda after, titles: f"Import published: {counted(after.get('created', 0), 'new dialogue')}",
    "release.frozen": lambda after, titles: f"Release {after.get('version', '')} frozen",
    "job.started": _job("started"),
    "job.done": _job("done"),
    "job.failed": _job("failed"),
    "job.cancelled": _job("cancelled"),
    "draw.closed": lambda after, titles: f"Drawn: {after.get('sample')} of {after.get('population')}",
    "round.ended": _round_ended,
    "stratum.sent_back": lambda after, titles: (
        f"{counted(after.get('items', 0), 'dialogue')} of one owner sent back: errors in {after.get('errors')} of "
        f"{after.get('audited')} that were audited"
    ),
    "dialogue.variant_matched": lambda after, titles: f"Says the same as its variant {after.get('variant', '')}",
    "dialogue.joined_variants": lambda after, titles: "Its variants in other languages were imported",
    "dialogue.imported": lambda after, titles: "Imported",
    "dialogue.revised_by_import": lambda after, titles: "A revised version was imported",
    "dialogue.owner_changed": lambda after, titles: _because("Handed over to another owner", after),
    "dialogue.prioritised": lambda after, titles: f"Priority set to {after.get('priority', 'normal')}",
    "cycle.begun": lambda after, titles: _because(
        f"Review began (cycle {after.get('cycle', 1)}, protocol {after.get('protocol', 1)})", after
    ),
    "cycle.verified": lambda after, titles: str(DialogueStatus.VERIFIED.label),
    "cycle.rejected": lambda after, titles: str(DialogueStatus.REJECTED.label),
    "cycle.superseded": lambda after, titles: _because(f"Cycle {after.get('cycle', 1)} was set aside", after),
    "cycle.migrated": lambda after, titles: _because(f"Moved to protocol {after.get('protocol', 1)}", after),
    "review.submitted": _reviewed,
    "stage.settled": _settled,
    "slot.reassigned": lambda after, titles: _because(f"{_title(after, titles)}: reassigned", after),
    "slot.freed": lambda after, titles: _because(f"{_title(after, titles)}: open to everybody", after),
    "slot.opened": lambda after, titles: (
        f"{_title(after, titles)}: open to everybody; who it was reserved for "
        f"{_ABSENT.get(str(after.get('reason')), 'is not there')}"
    ),
    "project.paused": lambda after, titles: _because("Work paused", after),
    "project.resumed": lambda after, titles: "Work given out again",
    "stage.paused": lambda after, titles: _because(f"{_title(after, titles)} paused", after),
    "stage.resumed": lambda after, titles: "A stage given out again",
    "person.paused": lambda after, titles: _because("A person paused", after),
    "person.resumed": lambda after, titles: "A person given work again",
    "assignments.changed": lambda after, titles: _because(f"{after.get('items')} assignments changed together", after),
    "assignment_rules.changed": lambda after, titles: "How work is given out changed",
    "draw.selected": lambda after, titles: f"{_title(after, titles)}: drawn into the random sample",
    "draw.not_drawn": lambda after, titles: f"{_title(after, titles)}: not in the random sample",
    "example.marked": lambda after, titles: "Marked as a gold-standard example",
    "example.withdrawn": lambda after, titles: "No longer a gold-standard example",
    "audit.error": lambda after, titles: "An audit of the random sample found an error",
}
