"""What happened to a dialogue, as one person may know it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from annotator.models import Dialogue, Event, User
from annotator.models.content import DialogueStatus
from reviews.models import Comment, Verdict
from reviews.services.protocols import stage_titles

#: Entries of one timeline; a dialogue with more has lived through several cycles.
LIMIT = 300


@dataclass(frozen=True)
class Entry:
    """One thing that happened. ``actor`` is None where the program did it; ``kind`` is the event's."""

    at: datetime
    actor: User | None
    text: str
    kind: str


def read_history(*, actor: User, dialogue: Dialogue) -> list[Entry]:
    """The dialogue's timeline, newest first: its events, and the comments on it, that the actor may see."""
    titles = stage_titles(dialogue.project)
    events = Event.objects.visible_to(actor).filter(dialogue=dialogue).select_related("actor").order_by("-number")
    entries = [Entry(event.created_at, event.actor, _words(event, titles), event.kind) for event in events[:LIMIT]]
    comments = Comment.objects.visible_to(actor).filter(dialogue=dialogue).select_related("author").order_by("-pk")
    entries += [
        Entry(comment.created_at, comment.author, f"Commented: {comment.text[:200]}", "comment.added")
        for comment in comments[:LIMIT]
    ]
    return sorted(entries, key=lambda entry: entry.at, reverse=True)[:LIMIT]


def _words(event: Event, titles: dict[str, str]) -> str:
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
    verdict = Verdict(after["verdict"]).label.lower() if after.get("verdict") in Verdict.values else "reviewed"
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


_SENTENCES: dict[str, Callable[[dict[str, Any], dict[str, str]], str]] = {
    "dialogue.imported": lambda after, titles: "Imported",
    "dialogue.revised_by_import": lambda after, titles: "A revised version was imported",
    "dialogue.handed_over": lambda after, titles: _because("Handed over to another owner", after),
    "dialogue.prioritised": lambda after, titles: f"Priority set to {after.get('priority', 'normal')}",
    "cycle.begun": lambda after, titles: _because(
        f"Review began (cycle {after.get('cycle', 1)}, protocol {after.get('protocol', 1)})", after
    ),
    "cycle.verified": lambda after, titles: DialogueStatus.VERIFIED.label,
    "cycle.rejected": lambda after, titles: DialogueStatus.REJECTED.label,
    "cycle.superseded": lambda after, titles: _because(f"Cycle {after.get('cycle', 1)} was set aside", after),
    "cycle.migrated": lambda after, titles: _because(f"Moved to protocol {after.get('protocol', 1)}", after),
    "review.submitted": _reviewed,
    "stage.settled": _settled,
    "slot.reassigned": lambda after, titles: _because(f"{_title(after, titles)}: reassigned", after),
    "draw.selected": lambda after, titles: f"{_title(after, titles)}: drawn into the random sample",
    "draw.passed_over": lambda after, titles: f"{_title(after, titles)}: not in the random sample",
    "example.marked": lambda after, titles: "Marked as a gold-standard example",
    "example.withdrawn": lambda after, titles: "No longer a gold-standard example",
    "audit.error": lambda after, titles: "An audit of the random sample found an error",
}
