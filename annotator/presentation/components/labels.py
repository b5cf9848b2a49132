"""How a coded value is shown: its word, its tone and its icon. A meaning never rests on colour alone."""

from typing import NamedTuple


class Label(NamedTuple):
    """``tone`` is good, warn, bad, info, special or neutral; ``icon`` a name of ``components.icons``."""

    text: str
    tone: str = "neutral"
    icon: str = ""


LABELS: dict[str, dict[str, Label]] = {
    "severity": {
        "error": Label("Error", "bad", "error"),
        "warning": Label("Warning", "warn", "warning"),
        "info": Label("Note", "info", "info"),
        "off": Label("Off", "neutral", "stop"),
    },
    "policy": {
        "single_tool": Label("Single tool", "neutral", "one"),
        "multi_tool": Label("Multi tool", "neutral", "many"),
        "clarify": Label("Clarify", "special", "question"),
        "chat": Label("Chat", "neutral", "chat"),
    },
    "topology": {
        "single": Label("Single", "neutral", "one"),
        "sequential": Label("Sequential", "neutral", "chain"),
        "parallel": Label("Parallel", "neutral", "parallel"),
        "mixed": Label("Mixed", "neutral", "mixed"),
    },
    "information": {
        "explicit": Label("Explicit"),
        "partial_information": Label("Partial information"),
        "coreferential_reference": Label("Coreferential reference"),
        "long_range_dependency": Label("Long-range dependency"),
    },
    "scenario": {
        "single_hop": Label("Single hop", "neutral", "one"),
        "parallel_single_hop": Label("Parallel single hop", "neutral", "parallel"),
        "multi_hop": Label("Multi hop", "neutral", "chain"),
        "parallel_multi_hop": Label("Parallel multi hop", "neutral", "mixed"),
    },
    "kept": {
        "satisfied": Label("Kept", "good", "check"),
        "soft_satisfied": Label("Broken, then repaired", "warn", "redo"),
        "unsatisfied": Label("Broken", "bad", "cross"),
        "unjudged": Label("Not judged here", "neutral", "question"),
        "owed": Label("Still owed", "neutral", "clock"),
    },
    "came": {
        "ran": Label("Ran", "good", "check"),
        "failed": Label("Failed", "bad", "error"),
        "refused": Label("Refused", "warn", "stop"),
        "over": Label("Not made", "neutral", "stop"),
    },
    "solved": {
        "perfectly": Label("Solved, every constraint kept", "good", "verified"),
        "repaired": Label("Solved, after repairs", "warn", "redo"),
        "no": Label("Not solved", "bad", "cross"),
        "unknown": Label("Not decided", "neutral", "question"),
    },
    "verdict": {
        "approve": Label("Approve", "good", "check"),
        "fix": Label("Fix", "info", "pencil"),
        "reject": Label("Reject", "bad", "cross"),
        "escalate": Label("Escalate", "warn", "escalate"),
    },
    "status": {
        "candidate": Label("Candidate", "neutral", "inbox"),
        "in_review": Label("In review", "info", "clock"),
        "escalated": Label("Escalated", "warn", "escalate"),
        "pooled": Label("Waiting for the draw", "special", "sample"),
        "verified": Label("Verified", "good", "verified"),
        "rejected": Label("Rejected", "bad", "cross"),
    },
    "job": {
        "queued": Label("Waiting for a worker", "neutral", "clock"),
        "running": Label("Running", "info", "running"),
        "done": Label("Done", "good", "check"),
        "failed": Label("Failed", "bad", "error"),
        "cancelled": Label("Cancelled", "neutral", "stop"),
    },
    "slot": {
        "hidden": Label("Not published yet", "neutral", "blind"),
        "open": Label("Open", "neutral", "inbox"),
        "claimed": Label("Claimed", "info", "lock"),
        "done": Label("Done", "good", "check"),
        "cancelled": Label("Cancelled", "neutral", "stop"),
    },
    "claim": {
        "live": Label("Live", "info", "lock"),
        "submitted": Label("Submitted", "good", "check"),
        "released": Label("Released", "neutral", "undo"),
        "skipped": Label("Skipped", "neutral", "arrow-right"),
        "expired": Label("Expired", "warn", "clock"),
        "withdrawn": Label("Withdrawn", "neutral", "stop"),
    },
    "release": {
        "freezing": Label("Being frozen", "info", "running"),
        "frozen": Label("Frozen", "good", "verified"),
        "failed": Label("Failed", "bad", "error"),
    },
    "token": {
        "live": Label("Active", "good", "check"),
        "ended": Label("Invalidated", "neutral", "stop"),
        "expired": Label("Expired", "neutral", "clock"),
        "revoked": Label("Revoked", "neutral", "stop"),
    },
    "notice": {
        "mention": Label("Mention", "info", "person"),
        "reply": Label("Reply", "info", "chat"),
        "comment": Label("Comment", "neutral", "chat"),
        "feedback": Label("Feedback", "warn", "pencil"),
        "assignment": Label("Assignment", "special", "inbox"),
        "escalation": Label("Escalation", "warn", "escalate"),
        "alarm": Label("Alarm", "bad", "warning"),
        "job": Label("Job", "neutral", "running"),
        "guideline": Label("Guideline", "info", "book"),
    },
    "role": {
        "annotator": Label("Annotator", "neutral", "pencil"),
        "senior_reviewer": Label("Senior reviewer", "special", "scale"),
        "administrator": Label("Administrator", "info", "verified"),
    },
    "field": {
        "text": Label("text"),
        "number": Label("number"),
        "integer": Label("whole number"),
        "boolean": Label("true or false"),
        "enum": Label("one of a list"),
        "date": Label("date"),
        "json": Label("JSON"),
    },
    # Where a value stands (annotator.core.provenance.SourceKind) …
    "source": {
        "message": Label("this message", "good", "person"),
        "reply": Label("the user’s reply", "good", "person"),
        "question": Label("the question asked", "good", "question"),
        "env_info": Label("environment", "good", "info"),
        "observation": Label("observation", "info", "tool"),
        "earlier_message": Label("an earlier message", "special", "person"),
        "earlier_answer": Label("an earlier answer", "special", "answer"),
        "earlier_observation": Label("earlier observation", "special", "tool"),
        "default": Label("the tool’s default", "neutral", "tool"),
        "enum": Label("the tool’s list of values", "neutral", "list"),
    },
    # … and what that makes of it (annotator.core.provenance.Origin).
    "origin": {
        "common": Label("needs no source"),
        "inferable": Label("inferable", "special", "pencil"),
        "message": Label("this message", "good", "check"),
        "schema": Label("the tool’s schema", "neutral", "tool"),
        "env_info": Label("environment", "good", "check"),
        "reply": Label("the user’s reply", "good", "check"),
        "observation": Label("an observation", "info", "chain"),
        "earlier": Label("earlier in the dialogue", "special", "clock"),
        "written": Label("composed text"),
        "nowhere": Label("no source", "warn", "warning"),
        "unknown": Label("not known yet", "neutral", "question"),
    },
    "entered": {
        "regular": Label("In turn"),
        "escalated": Label("Escalated", "warn", "escalate"),
        "sampled": Label("Sampled", "special", "sample"),
    },
}


def label_of(kind: str, value: object) -> Label:
    """The label of ``value``; for one nobody has described, its own words. Empty and null are not annotated yet."""
    if value is None or value == "":
        return Label(f"{kind.capitalize()} not annotated", "warn", "question")
    known = LABELS.get(kind, {}).get(str(value))
    return known or Label(str(value).replace("_", " ").capitalize())
