"""Labels, tones and icons of coded values. Colour alone never carries a meaning."""

from typing import NamedTuple

from django.utils.translation import gettext
from django.utils.translation import gettext_noop as _

from annotator.core.comparison.describing import DEPENDENCY_WORDS


class Label(NamedTuple):
    """``text`` is translated where shown. ``tone``: good, warn, bad, info, special or neutral. ``icon``: its name."""

    text: str
    tone: str = "neutral"
    icon: str = ""


LABELS: dict[str, dict[str, Label]] = {
    "severity": {
        "error": Label(_("Error"), "bad", "error"),
        "warning": Label(_("Warning"), "warn", "warning"),
        "info": Label(_("Note"), "info", "info"),
        "off": Label(_("Off"), "neutral", "stop"),
    },
    "policy": {
        "single_tool": Label(_("Single-tool"), "neutral", "one"),
        "multi_tool": Label(_("Multi-tool"), "neutral", "many"),
        "clarify": Label(_("Clarify"), "special", "question"),
        "chat": Label(_("Chat"), "neutral", "chat"),
    },
    "answer_type": {
        "tool": Label(_("Tool results")),
        "chat": Label(_("Own knowledge")),
    },
    "language": {
        "en": Label(_("English")),
        "zh": Label(_("Chinese")),
    },
    "dependency": {kind: Label(words) for kind, words in DEPENDENCY_WORDS.items()},
    "topology": {
        "single": Label(_("Single"), "neutral", "one"),
        "sequential": Label(_("Sequential"), "neutral", "chain"),
        "parallel": Label(_("Parallel"), "neutral", "parallel"),
        "mixed": Label(_("Mixed"), "neutral", "mixed"),
    },
    "information": {
        "explicit": Label(_("Explicit")),
        "partial_information": Label(_("Partial information")),
        "coreferential_reference": Label(_("Coreferential reference")),
        "long_range_dependency": Label(_("Long-range dependency")),
    },
    "scenario": {
        "single_hop": Label(_("Single-hop"), "neutral", "one"),
        "parallel_single_hop": Label(_("Parallel single-hop"), "neutral", "parallel"),
        "multi_hop": Label(_("Multi-hop"), "neutral", "chain"),
        "parallel_multi_hop": Label(_("Parallel multi-hop"), "neutral", "mixed"),
    },
    "kept": {
        "satisfied": Label(_("Met"), "good", "check"),
        "soft_satisfied": Label(_("Violated, then fixed"), "warn", "redo"),
        "unsatisfied": Label(_("Violated"), "bad", "cross"),
        "unjudged": Label(_("Not judged"), "neutral", "question"),
        "owed": Label(_("Pending"), "neutral", "clock"),
    },
    "right": {
        "True": Label(_("Right"), "good", "check"),
        "False": Label(_("Wrong"), "bad", "cross"),
    },
    "came": {
        "ran": Label(_("Ran"), "good", "check"),
        "failed": Label(_("Failed"), "bad", "error"),
        "refused": Label(_("Refused"), "warn", "stop"),
        "over": Label(_("Not called"), "neutral", "stop"),
    },
    "solved": {
        "perfectly": Label(_("Solved, all constraints met"), "good", "verified"),
        "repaired": Label(_("Solved after fixes"), "warn", "redo"),
        "no": Label(_("Not solved"), "bad", "cross"),
        "unknown": Label(_("Undecided"), "neutral", "question"),
    },
    "verdict": {
        "approve": Label(_("Approve"), "good", "check"),
        "fix": Label(_("Approve with fix"), "info", "pencil"),
        "reject": Label(_("Reject"), "bad", "cross"),
        "escalate": Label(_("Escalate"), "warn", "escalate"),
    },
    "status": {
        "candidate": Label(_("Candidate"), "neutral", "inbox"),
        "in_review": Label(_("In review"), "info", "clock"),
        "escalated": Label(_("Escalated"), "warn", "escalate"),
        "pooled": Label(_("Waiting for the draw"), "special", "sample"),
        "verified": Label(_("Verified"), "good", "verified"),
        "rejected": Label(_("Rejected"), "bad", "cross"),
    },
    "job": {
        "queued": Label(_("Queued"), "neutral", "clock"),
        "running": Label(_("Running"), "info", "running"),
        "done": Label(_("Done"), "good", "check"),
        "failed": Label(_("Failed"), "bad", "error"),
        "cancelled": Label(_("Cancelled"), "neutral", "stop"),
    },
    "generation": {
        "running": Label(_("Running"), "info", "running"),
        "waiting": Label(_("Waits for people"), "warn", "clock"),
        "paused": Label(_("Paused"), "neutral", "stop"),
        "done": Label(_("Done"), "good", "check"),
        "failed": Label(_("Failed"), "bad", "error"),
    },
    # The five roles that generate a dialogue (C3-Bench, A.1.2), and what each is asked for.
    "generation_role": {
        "user": Label(_("User")),
        "planner": Label(_("Planner")),
        "checker": Label(_("Checker")),
        "tool": Label(_("Tool")),
        "assistant": Label(_("Assistant")),
        "writer": Label(_("Writer")),
    },
    "generation_kind": {
        "dialogue": Label(_("Dialogue")),
        "translation": Label(_("Translation")),
        "renewal": Label(_("Translation of stale places")),
        "rewriting": Label(_("Sentences in other words")),
    },
    "prompt": {
        "first_task": Label(_("First requests")),
        "follow_up": Label(_("Further requests")),
        "reply": Label(_("Reply to a question")),
        "actions": Label(_("Next actions")),
        "verdict": Label(_("Verdict on the actions")),
        "observations": Label(_("Results of calls")),
        "question": Label(_("Question to the user")),
        "answer": Label(_("Answer to the user")),
        "translation": Label(_("Translation of texts")),
        "rewriting": Label(_("Sentences in other words")),
    },
    "proposal": {
        "chosen": Label(_("Chosen"), "good", "check"),
        "edited": Label(_("Edited and chosen"), "good", "check"),
        "passed_over": Label(_("Not chosen")),
        "rejected": Label(_("Rejected"), "bad", "error"),
        "accepted": Label(_("Accepted"), "good", "check"),
        "refused": Label(_("Refused"), "bad", "error"),
    },
    "slot": {
        "hidden": Label(_("Not published yet"), "neutral", "blind"),
        "open": Label(_("Unclaimed"), "neutral", "inbox"),
        "claimed": Label(_("Claimed"), "info", "lock"),
        "done": Label(_("Done"), "good", "check"),
        "cancelled": Label(_("Cancelled"), "neutral", "stop"),
    },
    "claim": {
        "live": Label(_("In progress"), "info", "lock"),
        "submitted": Label(_("Submitted"), "good", "check"),
        "released": Label(_("Released"), "neutral", "undo"),
        "skipped": Label(_("Skipped"), "neutral", "arrow-right"),
        "expired": Label(_("Expired"), "warn", "clock"),
        "withdrawn": Label(_("Withdrawn"), "neutral", "stop"),
    },
    "release": {
        "freezing": Label(_("Freezing"), "info", "running"),
        "frozen": Label(_("Frozen"), "good", "verified"),
        "failed": Label(_("Failed"), "bad", "error"),
    },
    "erratum_report": {
        "open": Label(_("Waiting"), "info", "inbox"),
        "confirmed": Label(_("Confirmed"), "warn", "check"),
        "declined": Label(_("Declined"), "neutral", "cross"),
    },
    "erratum_severity": {
        "minor": Label(_("Minor"), "neutral", "info"),
        "major": Label(_("Major"), "warn", "warning"),
        "critical": Label(_("Critical"), "bad", "error"),
    },
    "parameter_type": {
        "string": Label("string"),
        "integer": Label("integer"),
        "number": Label("number"),
        "boolean": Label("boolean"),
        "enum": Label("enum"),
        "array": Label("array"),
        "object": Label("object"),
        "null": Label("null"),
        "several": Label(_("several types")),
        "any": Label(_("any")),
    },
    "change_kind": {
        "added": Label(_("Added")),
        "removed": Label(_("Removed")),
        "changed": Label(_("Changed")),
        "moved": Label(_("Moved")),
    },
    "release_change": {
        "user_message": Label(_("User message")),
        "label": Label(_("Label")),
        "dependency": Label(_("Dependency")),
        "call": Label(_("Call")),
        "argument": Label(_("Argument")),
        "observation": Label(_("Observation")),
        "answer": Label(_("Answer")),
        "constraint": Label(_("Constraint")),
        "tools": Label(_("Tools")),
        "other": Label(_("Other field")),
    },
    "token": {
        "live": Label(_("Active"), "good", "check"),
        "ended": Label(_("Invalidated"), "neutral", "stop"),
        "expired": Label(_("Expired"), "neutral", "clock"),
        "revoked": Label(_("Revoked"), "neutral", "stop"),
    },
    "scope": {
        "read": Label(_("Read")),
        "import": Label(_("Import files, score predictions, compose dialogues")),
        "annotate": Label(_("Claim, submit and run")),
        "administer": Label(_("Everything that you may do")),
    },
    "delivery": {
        "waiting": Label(_("Waiting"), "info", "clock"),
        "delivered": Label(_("Delivered"), "good", "check"),
        "given_up": Label(_("Given up"), "bad", "error"),
    },
    "webhook": {
        "on": Label(_("On"), "good", "check"),
        "off": Label(_("Off"), "neutral", "stop"),
    },
    "notice": {
        "mention": Label(_("Mention"), "info", "person"),
        "reply": Label(_("Reply"), "info", "chat"),
        "comment": Label(_("Comment"), "neutral", "chat"),
        "feedback": Label(_("Feedback"), "warn", "pencil"),
        "assignment": Label(_("Assignment"), "special", "inbox"),
        "escalation": Label(_("Escalation"), "warn", "escalate"),
        "alarm": Label(_("Alarm"), "bad", "warning"),
        "job": Label(_("Job"), "neutral", "running"),
        "guideline": Label(_("Guideline"), "info", "book"),
    },
    "training": {
        "training": Label(_("Needs training"), "info", "book"),
        "passed": Label(_("Passed"), "good", "check"),
        "failed": Label(_("Failed"), "bad", "error"),
        "exempt": Label(_("Exempt"), "neutral", "check"),
    },
    # The answer to a dispute of feedback.
    "dispute": {
        "open": Label(_("Disputed"), "warn", "chat"),
        "accepted": Label(_("Dispute accepted"), "good", "check"),
        "kept": Label(_("Decision kept"), "neutral", "scale"),
    },
    "role": {
        "annotator": Label(_("Annotator"), "neutral", "pencil"),
        "senior_reviewer": Label(_("Senior reviewer"), "special", "scale"),
        "administrator": Label(_("Administrator"), "info", "verified"),
    },
    "field": {
        "text": Label(_("text")),
        "number": Label(_("number")),
        "integer": Label(_("whole number")),
        "boolean": Label(_("true or false")),
        "enum": Label(_("choice")),
        "date": Label(_("date")),
        "json": Label(_("JSON")),
    },
    # Where a value comes from (annotator.core.provenance.SourceKind) …
    "source": {
        "message": Label(_("this message"), "good", "person"),
        "reply": Label(_("the user’s reply"), "good", "person"),
        "question": Label(_("the question asked"), "good", "question"),
        "env_info": Label(_("environment"), "good", "info"),
        "observation": Label(_("observation"), "info", "tool"),
        "earlier_message": Label(_("an earlier message"), "special", "person"),
        "earlier_answer": Label(_("an earlier answer"), "special", "answer"),
        "earlier_observation": Label(_("earlier observation"), "special", "tool"),
        "default": Label(_("the tool’s default"), "neutral", "tool"),
        "enum": Label(_("the tool’s list of values"), "neutral", "list"),
    },
    # … and how it is classified (annotator.core.provenance.Origin).
    "origin": {
        "common": Label(_("needs no source")),
        "inferable": Label(_("inferable"), "special", "pencil"),
        "message": Label(_("this message"), "good", "check"),
        "schema": Label(_("the tool’s schema"), "neutral", "tool"),
        "env_info": Label(_("environment"), "good", "check"),
        "reply": Label(_("the user’s reply"), "good", "check"),
        "observation": Label(_("an observation"), "info", "chain"),
        "earlier": Label(_("earlier in the dialogue"), "special", "clock"),
        "written": Label(_("composed text")),
        "nowhere": Label(_("no source"), "warn", "warning"),
        "unknown": Label(_("unknown"), "neutral", "question"),
    },
    "entered": {
        "regular": Label(_("Regular")),
        "escalated": Label(_("Escalated"), "warn", "escalate"),
        "sampled": Label(_("Sampled"), "special", "sample"),
    },
}


#: Fields of a dialogue with codes; their labels have the same names.
_CODED = frozenset({"policy", "information", "scenario", "answer_type", "language"})

_NOT_ANNOTATED = {
    "policy": _("Policy not annotated"),
    "information": _("Information not annotated"),
    "topology": _("Topology not annotated"),
    "scenario": _("Scenario not annotated"),
}


def texts_of(kind: str) -> dict[str, str]:
    """Return the labels of a kind as texts, untranslated, by their values."""
    return {value: label.text for value, label in LABELS[kind].items()}


def labels_at(name: str) -> dict[str, str]:
    """Return the labels, untranslated, of the codes that a field of a dialogue takes; none if it takes no codes."""
    return texts_of(name) if name in _CODED else {}


def words_of(kind: str, value: object) -> str:
    """Return the label of ``value`` as text in the reader's language."""
    return gettext(label_of(kind, value).text)


def label_of(kind: str, value: object) -> Label:
    """Return the label of ``value``; an unknown value is its own label. Empty and null are not annotated yet."""
    if value is None or value == "":
        return Label(_NOT_ANNOTATED.get(kind, _("Not annotated")), "warn", "question")
    known = LABELS.get(kind, {}).get(str(value))
    return known or Label(str(value).replace("_", " ").capitalize())
