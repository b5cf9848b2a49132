"""Send toolsets to review: each becomes an item of the project in which toolsets are reviewed."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain, count
from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from annotator.core.schema import SchemaProblem, canonical, load_text, read_document
from annotator.core.schema.exact_json import load_stored
from annotator.core.schema.toolset_documents import document_of
from annotator.errors import Conflict, DomainError
from annotator.models import Dialogue, Project, Revision, Toolset, User
from annotator.models.content import DialogueStatus
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.revisions import as_stored, lock_dialogue, revise
from annotator.services.toolsets.storing import MAX_NAME, ensure_toolset_revision, lock_toolsets
from reviews.models import Cycle, ToolsetItem
from reviews.services.cycles.candidates import NewDialogue, add_dialogues
from reviews.services.cycles.start import supersede_cycle
from reviews.services.toolset_review.settings import review_project, reviews_toolsets
from reviews.services.transitions.verified_tools import content_hash_of, verified_in

#: Toolsets that are sent at once.
MAX_SENT = 200
#: The name of the toolset that items have whose content is a toolset itself.
NO_TOOLS = "No tools"


@dataclass
class Sent:
    """What happened to the toolsets: names of those new in review, of those in review again, and of those that are
    there already; and the reasons why others were refused.
    """

    new: list[str] = field(default_factory=list)
    again: list[str] = field(default_factory=list)
    there: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def send_to_review(*, actor: User, project: Project, toolsets: Sequence[Toolset]) -> Sent:
    """Send the newest revisions of toolsets to review.

    A toolset that was changed since, or rejected, gets a new revision there, and its review starts again. One that is
    there with these tools, in review or verified, stays as it is, also if reviewers have changed it. Equal toolsets of
    several projects are reviewed once. Raises Denied; Conflict if the project has no toolset review, or if that is
    archived, and for more than ``MAX_SENT``.
    """
    require_administrator(actor=actor, project=project)
    review = review_project(project)
    if review is None:
        raise Conflict(_("The toolsets of this project aren’t reviewed. Start the review of toolsets first."))
    require_administrator(actor=actor, project=review)
    if review.archived_at is not None or not reviews_toolsets(review):
        sentence = _("“%(project)s” is archived, or has a protocol for dialogues now. Choose another project.")
        raise Conflict(sentence % {"project": review.name})
    if len(toolsets) > MAX_SENT:
        raise Conflict(_("Send at most %(limit)s toolsets at once.") % {"limit": MAX_SENT})
    sent = Sent()
    with transaction.atomic():
        # Sending to one project takes turns, so that no toolset becomes two items.
        lock_toolsets(review)
        new: dict[int, tuple[Toolset, str]] = {}
        for toolset in toolsets:
            try:
                with transaction.atomic():
                    names = _send(actor, review, toolset, sent)
                    if names is None:
                        new[toolset.pk] = toolset, _content_of(toolset)
            except DomainError as refusal:
                sent.refused.append(refusal.sentence)
                continue
            except SchemaProblem as problem:
                sentence = _("“%(name)s” can’t be an item: %(problem)s")
                sent.refused.append(sentence % {"name": toolset.name, "problem": problem})
                continue
            if names is not None:
                names.append(toolset.name)
        _add(actor, review, list(new.values()))
        sent.new += [toolset.name for toolset, _text in new.values()]
    return sent


def _send(actor: User, review: Project, toolset: Toolset, sent: Sent) -> list[str] | None:
    """Send a toolset that has an item, and return the list to which its name belongs; None if it needs a new item."""
    if toolset.head is None or not toolset.head.tool_count:
        raise Conflict(_("“%(name)s” has no functions, so there is nothing to review.") % {"name": toolset.name})
    link = ToolsetItem.objects.filter(toolset=toolset, dialogue__project=review, dialogue__archived_at=None).first()
    if link is None:
        same = verified_in(review.pk).filter(content_hash=toolset.head.content_hash).first()
        if same is None:
            return None
        _link(toolset, same.dialogue_id)
        return sent.there
    item = lock_dialogue(link.dialogue_id)
    head = item.head
    if head is None:
        raise ValueError("an item has content")
    rejected = item.status == DialogueStatus.REJECTED
    if toolset.head.content_hash in _reviewed_contents(item) and not rejected:
        return sent.there
    if ToolsetItem.objects.filter(dialogue=item).exclude(pk=link.pk).exists():
        # Another toolset, which had these tools as well, keeps the item.
        return None
    reason = _("Revision %(number)s of the toolset.") % {"number": toolset.head.number}
    document = _following(document_of(load_stored(toolset.head.content)), head.document())
    if as_stored(document, head) != head.content:
        revise(actor=actor, dialogue=item, seen=head, document=document, message=reason)
    supersede_cycle(actor=actor, dialogue=item, reason=reason)
    return sent.again


def _content_of(toolset: Toolset) -> str:
    """Return the text of the item of a toolset. Raises SchemaProblem."""
    if toolset.head is None:
        raise ValueError("an empty toolset can't be sent")
    return canonical(read_document(document_of(load_stored(toolset.head.content))))


def _add(actor: User, review: Project, toolsets: Sequence[tuple[Toolset, str]]) -> None:
    """Make an item for each toolset, one for all that are equal, with its text, and begin its review."""
    empty = ensure_toolset_revision(actor=actor, project=review, tools=[], name=NO_TOOLS)
    taken: set[str] = set()
    by_content: dict[str, list[Toolset]] = {}
    new = []
    for toolset, text in toolsets:
        equal = by_content.setdefault(text, [])
        equal.append(toolset)
        if len(equal) > 1:
            continue
        name = _free_name(review, toolset, taken)
        taken.add(name)
        new.append(NewDialogue(name, load_text(text), empty))
    written = add_dialogues(actor=actor, project=review, dialogues=new)
    for one, equal in zip(written, by_content.values(), strict=True):
        for toolset in equal:
            _link(toolset, one.dialogue_id)


def _free_name(review: Project, toolset: Toolset, taken: set[str]) -> str:
    """Return the name of the toolset, with that of its project or a number if an item has it already."""
    base = toolset.name[:MAX_NAME]
    names = chain(
        (toolset.name, f"{base} ({toolset.project.name[:60]})"),
        (f"{base} ({number})" for number in count(2)),
    )
    return next(
        name
        for name in names
        if name not in taken and not Dialogue.objects.filter(project=review, external_id=name).exists()
    )


def _link(toolset: Toolset, dialogue_id: int) -> None:
    ToolsetItem.objects.update_or_create(toolset=toolset, defaults={"dialogue_id": dialogue_id})


def _reviewed_contents(item: Dialogue) -> set[str]:
    """Return the hashes of the tools that the item has now, and of those with which its last review began."""
    cycles = Cycle.objects.in_effect().filter(dialogue=item).select_related("entry_revision").order_by("-number")
    began: list[Revision | None] = [cycle.entry_revision for cycle in cycles[:1]]
    return {content_hash_of(one) for one in [item.head, *began] if one is not None}


def _following(document: dict[str, Any], before: dict[str, Any]) -> dict[str, Any]:
    """Return the item with these tools. Functions keep the ids that those of the same name had, to be compared."""
    known: dict[str, str] = {}
    for one in before["tools"]:
        known.setdefault(_name(one["tool"]), one["id"])
    used = set(known.values())
    free = (key for number in count(1) if (key := f"f{number}") not in used)
    for one in document["tools"]:
        # A second function of the same name gets an id of its own.
        one["id"] = known.pop(_name(one["tool"]), None) or next(free)
    return before | {"tools": document["tools"], "implementation": document["implementation"]}


def _name(tool: dict[str, Any]) -> str:
    name: str = tool.get("function", tool)["name"]
    return name
