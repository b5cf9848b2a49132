"""The history of a dialogue as one person may see it, and the sentences for its events."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotator.core.text import gettext_noop
from annotator.models import Dialogue, Event, User
from annotator.models.content import DialogueStatus
from annotator.models.events import TAGS_CHANGED
from annotator.presentation.components.labels import words_of
from annotator.services.access.blindness import blind_to, veil
from annotator.services.jobs.jobs import kind_title
from annotator.translation import translated_text
from reviews.models import Verdict
from reviews.services.feedback.comments import visible_comments
from reviews.services.protocols.versions import stage_titles

#: Most entries in one history.
LIMIT = 300
#: Values of an event that a blind stage hides from others.
_REASONS = ("reason", "verdict")


@dataclass(frozen=True)
class Entry:
    """One line of the history. ``actor``: None if Assay did it; ``kind``: the event's."""

    at: datetime
    actor: User | None
    text: str
    kind: str


def read_history(*, actor: User, dialogue: Dialogue) -> list[Entry]:
    """Return the events and comments of a dialogue that the actor may see, newest first.

    In a blind stage the entries do not say who did something or why.
    """
    titles = stage_titles(dialogue.project)
    blind = blind_to(actor=actor, dialogues=[dialogue.pk])
    rows = Event.objects.visible_to(actor).filter(dialogue=dialogue).select_related("actor").order_by("-number")
    events = list((rows.exclude(kind=TAGS_CHANGED) if blind else rows)[:LIMIT])
    for event in events if blind else ():
        if event.actor_id != actor.pk:
            event.after = {name: value for name, value in event.after.items() if name not in _REASONS}
    events = veil(events, actor=actor, blind=blind, people=["actor"])
    entries = [Entry(event.created_at, event.actor, event_words(event, titles), event.kind) for event in events]
    for comment in visible_comments(actor=actor, dialogue=dialogue)[-LIMIT:]:
        sentence = _("Commented: %(text)s") if comment.parent_id is None else _("Replied: %(text)s")
        words = sentence % {"text": comment.text[:200]}
        entries.append(Entry(comment.created_at, comment.author, words, "comment.added"))
        if comment.resolved_at is not None:
            words = _("Resolved: %(text)s") % {"text": comment.text[:200]}
            entries.append(Entry(comment.resolved_at, comment.resolved_by, words, "comment.resolved"))
    return sorted(entries, key=lambda entry: entry.at, reverse=True)[:LIMIT]


def event_words(event: Event, titles: dict[str, str]) -> str:
    """Return an event as a sentence without its actor. ``titles``: those of the project's stages."""
    after = event.after
    if event.kind in _WRITERS:
        return _WRITERS[event.kind](after, titles)
    if event.kind in _SENTENCES:
        values = _Values({"cycle": 1, "protocol": 1} | after | _computed(after, titles))
        return _(_SENTENCES[event.kind]) % values
    name, _dot, what = event.kind.partition(".")
    return f"{name.replace('_', ' ').capitalize()} {what.replace('_', ' ')}"


class _Values(dict[str, Any]):
    """Values of an event; blank if an older event lacks one."""

    def __missing__(self, key: str) -> str:
        return ""


#: Kind of event → its sentence. ``stage`` is the stage's title, ``because`` a colon and the reason, if there is one.
_SENTENCES = {
    "project.created": gettext_noop("Project created: %(name)s"),
    "project.fields_changed": gettext_noop("Custom fields changed"),
    "project.quota_changed": gettext_noop("Quota for stored files changed"),
    "project.view_shared": gettext_noop("Saved view for everybody added: %(name)s"),
    "project.view_renamed": gettext_noop("Saved view for everybody renamed: %(name)s"),
    "project.view_deleted": gettext_noop("Saved view for everybody deleted: %(name)s"),
    "guideline.published": gettext_noop("Guideline %(number)s published"),
    "guideline.flag_withdrawn": gettext_noop("Guideline %(number)s: marks removed"),
    "protocol.adopted": gettext_noop("Protocol %(number)s adopted"),
    "protocol.migration_started": gettext_noop("Active items are moving to protocol %(number)s%(because)s"),
    "membership.granted": gettext_noop("Role added: %(role)s"),
    "membership.ended": gettext_noop("Role removed"),
    "membership.limited": gettext_noop("Last day of a guest changed"),
    "membership.abilities_changed": gettext_noop("Languages and skills of a member changed"),
    "invitation.created": gettext_noop("Invitation created"),
    "invitation.accepted": gettext_noop("Invitation accepted"),
    "invitation.revoked": gettext_noop("Invitation revoked"),
    "token.created": gettext_noop("API token created"),
    "token.revoked": gettext_noop("API token revoked"),
    "toolset.added": gettext_noop("Toolset added: %(toolset)s"),
    "toolset.changed": gettext_noop("Toolset %(toolset)s changed: revision %(number)s, %(dialogues)s dialogues"),
    "toolset_review.chosen": gettext_noop("Project for the review of toolsets changed"),
    "toolset.details_changed": gettext_noop("Details of toolset %(toolset)s changed"),
    "toolset.category_added": gettext_noop("Category of toolsets added: %(category)s"),
    "toolset.category_renamed": gettext_noop("Category of toolsets renamed: %(category)s"),
    "toolset.category_deleted": gettext_noop("Category of toolsets deleted: %(category)s"),
    "toolset.imported": gettext_noop("New toolsets imported: %(count)s"),
    "composites.drawn": gettext_noop("Composites drawn: %(composites)s of %(size)s tasks, seed %(seed)s"),
    "cases.constructed": gettext_noop("Constrained cases made: %(made)s, seed %(seed)s"),
    "prompt_template.saved": gettext_noop("Version %(number)s of the prompt %(purpose)s saved"),
    "sampling.started": gettext_noop("Sampling of trajectories started: %(queries)s queries"),
    "generation.started": gettext_noop("Generation of %(name)s started"),
    "generation.continued": gettext_noop("Generation of %(name)s continued"),
    "generation.paused": gettext_noop("Generation of %(name)s paused"),
    "generation.chosen": gettext_noop("Generation of %(name)s: request chosen"),
    "generation.rejected": gettext_noop("Generation of %(name)s: requests rejected"),
    "generation.written": gettext_noop("Generation of %(name)s: answer written by a person"),
    "generation.retried": gettext_noop("Generation of %(name)s: asked again"),
    "generation.back": gettext_noop("Generation of %(name)s: went back"),
    "generation.accepted": gettext_noop("Generation of %(name)s: texts accepted"),
    "release.frozen": gettext_noop("Release %(version)s frozen"),
    "coverage.target_set": gettext_noop("Target of the coverage set: %(dimension)s %(value)s, %(wanted)s"),
    "coverage.first_on": gettext_noop("Order “coverage first” switched on"),
    "coverage.first_off": gettext_noop("Order “coverage first” switched off"),
    "coverage.target_removed": gettext_noop("Target of the coverage removed: %(dimension)s %(value)s"),
    "similarity.changed": gettext_noop("Threshold for similar dialogues changed"),
    "release_settings.changed": gettext_noop("Licence, authors or texts of releases changed"),
    "webhook.added": gettext_noop("Webhook added: %(host)s"),
    "webhook.changed": gettext_noop("Webhook changed"),
    "webhook.secret_rotated": gettext_noop("Secret of a webhook rotated"),
    "webhook.removed": gettext_noop("Webhook removed"),
    "webhook.switched_off": gettext_noop("Webhook switched off because its messages weren’t delivered"),
    "webhook.tested": gettext_noop("Webhook tested"),
    "webhook.sent_again": gettext_noop("Message to a webhook sent again"),
    "endpoint.added": gettext_noop("Endpoint added: %(name)s"),
    "endpoint.key_replaced": gettext_noop("Key of the endpoint %(name)s replaced"),
    "endpoint.removed": gettext_noop("Endpoint removed: %(name)s"),
    "predictions.scored": gettext_noop("Predictions for release %(version)s scored"),
    "scores.shared": gettext_noop("Scores of release %(version)s made public"),
    "scores.unshared": gettext_noop("Scores of release %(version)s no longer public"),
    "errata.shared": gettext_noop("Public link for error reports of release %(version)s switched on"),
    "errata.unshared": gettext_noop("Public link for error reports of release %(version)s switched off"),
    "erratum.reported": gettext_noop("Error reported in %(item)s of release %(version)s"),
    "erratum.confirmed": gettext_noop("Erratum %(number)s of release %(version)s confirmed: %(item)s"),
    "erratum.declined": gettext_noop("Report about %(item)s of release %(version)s declined"),
    "draw.closed": gettext_noop("Sample drawn: %(sample)s of %(population)s"),
    "round.ended": gettext_noop(
        "Round %(round)s of %(round_stage)s ended: %(seen)s reviewed, %(errors)s with errors, "
        "%(conflicts)s with conflicts"
    ),
    "dialogue.variant_matched": gettext_noop("Same content as its variant %(variant)s"),
    "dialogue.joined_variants": gettext_noop("Variants in other languages added"),
    "dialogue.variant_made": gettext_noop("Copied from its variant %(variant)s, to be translated"),
    "dialogue.imported": gettext_noop("Added to the project"),
    "dialogue.past_taken_over": gettext_noop("First tasks taken over from revision %(number)s of %(past)s"),
    "dialogue.translated_again": gettext_noop("Stale places translated again from its variant %(variant)s"),
    "dialogue.translated": gettext_noop("Translated by models and people"),
    "dialogue.revised_by_import": gettext_noop("Revised by an import"),
    "dialogue.tools_changed": gettext_noop("Moved to revision %(number)s of the toolset %(toolset)s"),
    "dialogue.owner_changed": gettext_noop("Owner changed%(because)s"),
    TAGS_CHANGED: gettext_noop("Tags: %(tag_list)s%(because)s"),
    "dialogue.prioritised": gettext_noop("Priority set to %(priority)s%(because)s"),
    "cycle.begun": gettext_noop("Review began (cycle %(cycle)s, protocol %(protocol)s)%(because)s"),
    "cycle.superseded": gettext_noop("Cycle %(cycle)s superseded%(because)s"),
    "cycle.withdrawn": gettext_noop("Cycle %(cycle)s withdrawn, cycle %(back_to)s counts again%(because)s"),
    "cycle.migrated": gettext_noop("Moved to protocol %(protocol)s%(because)s"),
    "review.taken_back": gettext_noop("%(stage)s: review taken back by its reviewer"),
    "slot.reassigned": gettext_noop("%(stage)s: reassigned%(because)s"),
    "slot.freed": gettext_noop("%(stage)s: opened to everyone%(because)s"),
    "project.paused": gettext_noop("Project paused%(because)s"),
    "project.resumed": gettext_noop("Project resumed"),
    "stage.paused": gettext_noop("%(stage)s paused%(because)s"),
    "stage.resumed": gettext_noop("Stage resumed"),
    "person.paused": gettext_noop("Person paused%(because)s"),
    "person.resumed": gettext_noop("Person resumed"),
    "assignments.undone": gettext_noop("A change of assignments undone: %(items)s items"),
    "assignment_rules.changed": gettext_noop("Assignment settings changed"),
    "draw.selected": gettext_noop("%(stage)s: drawn for the random sample"),
    "draw.not_drawn": gettext_noop("%(stage)s: not drawn for the random sample"),
    "feedback.replied": gettext_noop("Reply to feedback"),
    "feedback.disputed": gettext_noop("Feedback disputed"),
    "feedback.dispute_accepted": gettext_noop("Dispute of feedback accepted"),
    "feedback.dispute_kept": gettext_noop("Dispute of feedback answered: the decision stays"),
    "daily_goal.changed": gettext_noop("Daily goal changed"),
    "sensitivity_test.entered": gettext_noop("Test of an audit’s sensitivity entered"),
    "sensitivity_test.withdrawn": gettext_noop("Test of an audit’s sensitivity taken back"),
    "warning.unwaived": gettext_noop("Waiver of a warning taken back"),
    "comment.edited": gettext_noop("Comment edited"),
    "example.marked": gettext_noop("Marked as an example"),
    "example.withdrawn": gettext_noop("No longer an example"),
    "audit.error": gettext_noop("The audit of the random sample found an error"),
}


def _computed(after: dict[str, Any], titles: dict[str, str]) -> dict[str, str]:
    """Return the values of a sentence that an event does not have as it shows them."""
    return {
        "stage": _title(after, titles),
        "round_stage": titles.get(str(after.get("stage")), _("a stage")),
        "tag_list": ", ".join(map(str, after.get("tags", ()))) or _("none"),
        "because": f": {after['reason']}" if after.get("reason") else "",
        "role": str(after.get("role", "")).replace("_", " "),
        "priority": str(after.get("priority", "normal")),
    }


def _title(after: dict[str, Any], titles: dict[str, str]) -> str:
    key = str(after.get("stage", ""))
    title = titles.get(key, key)
    if after.get("round", 1) == 1:
        return title
    return _("%(stage)s, round %(round)s") % {"stage": title, "round": after["round"]}


def _reviewed(after: dict[str, Any], titles: dict[str, str]) -> str:
    known = after.get("verdict") in set(Verdict)
    verdict = words_of("verdict", after["verdict"]).lower() if known else _("reviewed")
    return f"{_title(after, titles)}: {verdict}"


_OUTCOMES = {
    "pass": gettext_noop("passed"),
    "pass_with_fix": gettext_noop("passed with changes"),
    "rejected": gettext_noop("rejected"),
    "escalate": gettext_noop("escalated to a senior reviewer"),
    "back_to_author": gettext_noop("sent back to the author"),
    "restart": gettext_noop("restarted"),
    "return": gettext_noop("finished, returned to the stage that escalated it"),
    "confirm": gettext_noop("approved; somebody else checks the same revision"),
    "not_drawn": gettext_noop("not drawn for the random sample"),
}


def _settled(after: dict[str, Any], titles: dict[str, str]) -> str:
    outcome = _OUTCOMES.get(str(after.get("outcome")), gettext_noop("finished"))
    words = f"{_title(after, titles)}: {_(outcome)}"
    count = after.get("discrepancies")
    if not count:
        return words
    return f"{words}, " + ngettext("%(count)s discrepancy", "%(count)s discrepancies", count) % {"count": count}


def _settings_changed(after: dict[str, Any], titles: dict[str, str]) -> str:
    words = _("Settings changed")
    return f"{words}: {', '.join(key.replace('_', ' ') for key in after)}" if after else words


def _job(sentence: str) -> Callable[[dict[str, Any], dict[str, str]], str]:
    return lambda after, titles: _(sentence) % {"job": kind_title(str(after.get("kind", "job")))}


def _counted(one: str, many: str, key: str) -> Callable[[dict[str, Any], dict[str, str]], str]:
    """Return a writer of a sentence whose number is the event's value ``key``."""
    return lambda after, titles: (
        ngettext(one, many, after.get(key, 0)) % _Values(after | _computed(after, titles) | {key: after.get(key, 0)})
    )


_WHY_OPENED = {
    "left": gettext_noop("%(stage)s: opened to everyone because the assigned person left"),
    "paused": gettext_noop("%(stage)s: opened to everyone because the assigned person is paused"),
    "away": gettext_noop("%(stage)s: opened to everyone because the assigned person is away"),
    "role": gettext_noop("%(stage)s: opened to everyone because the assigned person no longer has the role"),
}


def _opened(after: dict[str, Any], titles: dict[str, str]) -> str:
    sentence = _WHY_OPENED.get(str(after.get("reason")), gettext_noop("%(stage)s: opened to everyone"))
    return _(sentence) % {"stage": _title(after, titles)}


def _constructed(after: dict[str, Any], titles: dict[str, str]) -> str:
    sentences = [_("Made from %(source)s with seed %(seed)s and probability %(probability)s.") % after]
    if after.get("rewritten"):
        sentences.append(_("Sentences in other words: %(names)s.") % {"names": ", ".join(after["rewritten"])})
    heads = (
        (_("Left out:"), "left_out"), (_("Changed by the filter:"), "changes"),
        (_("Sentences that stay as they were:"), "not_rewritten"),
    )  # fmt: skip
    for head, key in heads:
        parts = [one.partition(": ") for one in after.get(key, ())]
        sentences += [head] * bool(parts) + [f"{category}: {translated_text(why)}" for category, _mark, why in parts]
    return " ".join(sentences)


def _generated(after: dict[str, Any], titles: dict[str, str]) -> str:
    if "past" not in after:
        return _("Generated by models and people")
    sentence = _("Generated by models and people, continuing revision %(number)s of %(past)s (tasks: %(tasks)s)")
    return str(sentence % after["past"])


def _layers(after: dict[str, Any], titles: dict[str, str]) -> str:
    return _("Dialogues are built in layers") if after["layers"] else _("Dialogues are no longer built in layers")


_WRITERS: dict[str, Callable[[dict[str, Any], dict[str, str]], str]] = {
    "project.changed": _settings_changed,
    "dialogue.constructed": _constructed,
    "project.checkpoint": _counted(
        gettext_noop("Checkpoint for %(events)s event"), gettext_noop("Checkpoint for %(events)s events"), "events"
    ),
    "guideline.flagged": _counted(
        gettext_noop("Guideline %(number)s: %(dialogues)s dialogue marked as outdated%(because)s"),
        gettext_noop("Guideline %(number)s: %(dialogues)s dialogues marked as outdated%(because)s"),
        "dialogues",
    ),
    "protocol.discrepancy_alarm": _counted(
        gettext_noop("%(stage)s: reviewers differed on %(discrepant)s of %(compared)s item, above the limit"),
        gettext_noop("%(stage)s: reviewers differed on %(discrepant)s of %(compared)s items, above the limit"),
        "compared",
    ),
    "protocol.discrepancy_cleared": _counted(
        gettext_noop("%(stage)s: reviewers differed on %(discrepant)s of %(compared)s item, within the limit again"),
        gettext_noop("%(stage)s: reviewers differed on %(discrepant)s of %(compared)s items, within the limit again"),
        "compared",
    ),
    "import.published": _counted(
        gettext_noop("Import published: %(created)s new dialogue"),
        gettext_noop("Import published: %(created)s new dialogues"),
        "created",
    ),
    "suggestions.posted": _counted(
        gettext_noop("%(suggestions)s suggestion of a model or script posted"),
        gettext_noop("%(suggestions)s suggestions of models and scripts posted"),
        "suggestions",
    ),
    "assignments.changed": _counted(
        gettext_noop("%(items)s assignment changed%(because)s"),
        gettext_noop("%(items)s assignments changed%(because)s"),
        "items",
    ),
    "job.started": _job(gettext_noop("%(job)s started")),
    "job.done": _job(gettext_noop("%(job)s done")),
    "job.failed": _job(gettext_noop("%(job)s failed")),
    "job.cancelled": _job(gettext_noop("%(job)s cancelled")),
    "stratum.sent_back": _counted(
        gettext_noop("%(items)s dialogue of one owner sent back: errors in %(errors)s of %(audited)s audited"),
        gettext_noop("%(items)s dialogues of one owner sent back: errors in %(errors)s of %(audited)s audited"),
        "items",
    ),
    "cycle.verified": lambda after, titles: str(DialogueStatus.VERIFIED.label),
    "dialogue.generated": _generated,
    "generation_settings.changed": _layers,
    "cycle.waits_for_tools": lambda after, titles: _("Waits until its toolset is verified"),
    "cycle.rejected": lambda after, titles: str(DialogueStatus.REJECTED.label),
    "review.submitted": _reviewed,
    "stage.settled": _settled,
    "slot.opened": _opened,
}
