"""Training items: a dialogue to review, made from a verified one, whose verified revision is the known answer.

The dialogue is not published, so it is in no list, search or figure. Its slots and reviews are those of gold items, so
all that leaves gold items out leaves training out, too.
"""

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.db.models import Max, Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.schema import SchemaProblem, canonical, content_hash, read_document
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Project, Revision, User
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.revisions import lock_dialogue
from annotator.services.history.events import append_event
from reviews.core.gold import errors_in
from reviews.core.protocols import Stage
from reviews.models import Cycle, GoldItem, StageRun
from reviews.services.gold.shown_dialogue import copy_waivers, describe_item
from reviews.services.protocols.versions import parse, require_version
from reviews.services.queue.trainees import list_training_items, training_stages
from reviews.services.queue.training_claims import open_attempt

#: Items in use of one project; each is read when a person gets their next one.
MAX_ITEMS = 100


def require_stage(project: Project, key: str) -> Stage:
    """Return a stage in which people can be trained. Raises Invalid."""
    stages = {stage.key: stage for stage in training_stages(project)}
    if key not in stages:
        sentence = _("“%(key)s” isn’t a stage for training. Choose one of: %(stages)s.")
        raise Invalid(sentence % {"key": key[:40], "stages": ", ".join(stages) or _("none yet")}, field="stage")
    return stages[key]


def add_training_item(
    *, actor: User, project: Project, source: Dialogue, stage: str, document: dict[str, Any] | None = None
) -> GoldItem:
    """Add an item to the end of the project's training.

    People see ``document``, the verified revision with a planted error; by default the revision with which the dialogue
    entered its last review. Raises Denied, Conflict for a dialogue that cannot be used, Invalid for a stage or document
    that cannot.
    """
    require_administrator(actor=actor, project=project)
    wanted = require_stage(project, stage)
    with transaction.atomic():
        source = lock_dialogue(source.pk)
        # Also the lock of the order of items, and of their number.
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        answer, entered = _origin_of(source)
        shown = entered.document() if document is None else _planted(document, answer)
        in_use = GoldItem.training.filter(project=project, retired_at=None)
        if in_use.count() >= MAX_ITEMS:
            raise Conflict(_("A training has at most %(most)d items. Retire one first.") % {"most": MAX_ITEMS})
        last = in_use.aggregate(last=Max("training_place"))["last"]
        run = _create_shown(source, answer, wanted, shown)
        item = GoldItem.every.create(
            project=project,
            stage=wanted.key,
            dialogue=run.cycle.dialogue,
            source=source,
            answer=answer,
            stage_run=run,
            planted=document is not None,
            errors=len(errors_in(shown, answer.document())),
            created_by=actor,
            training_place=(last or 0) + 1,
        )
        append_event(
            actor=actor,
            project=project,
            kind="training.item_added",
            after={"item": item.public_id, "dialogue": source.external_id, "errors": item.errors},
            sealed=True,
        )
    return item


def retire_training_item(*, actor: User, project: Project, public_id: str) -> GoldItem:
    """Take an item out of the training; a review in progress can be submitted, but doesn't count.

    A repeated request changes nothing. Raises Denied, Hidden.
    """
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        item = _lock_item(project, public_id)
        if item.live:
            item.retired_at, item.retired_by = timezone.now(), actor
            item.save(update_fields=["retired_at", "retired_by"])
            append_event(
                actor=actor,
                project=project,
                kind="training.item_retired",
                after={"item": item.public_id},
                sealed=True,
            )
    return item


def move_training_item(*, actor: User, project: Project, public_id: str, up: bool) -> None:
    """Swap an item with the one before it (``up``) or after it. The first and the last stay. Raises Denied, Hidden."""
    require_administrator(actor=actor, project=project)
    with transaction.atomic():
        Project.objects.select_for_update(no_key=True).get(pk=project.pk)
        items = list_training_items(project)
        place = next((n for n, one in enumerate(items) if one.public_id == public_id), None)
        if place is None:
            raise Hidden(_("This training item doesn’t exist."))
        other = place + (-1 if up else 1)
        if not 0 <= other < len(items):
            return
        items[place], items[other] = items[other], items[place]
        for number, item in enumerate(items, 1):
            GoldItem.training.filter(pk=item.pk).update(training_place=number)
        append_event(
            actor=actor,
            project=project,
            kind="training.items_ordered",
            after={"items": [item.public_id for item in items]},
            sealed=True,
        )


def preview(source: Dialogue) -> tuple[Revision, Revision]:
    """Return the revision that people would see, and the known answer. Raises Conflict as adding the item would."""
    answer, entered = _origin_of(source)
    return entered, answer


def suggest_sources(project: Project, *, most: int = 20) -> Sequence[Dialogue]:
    """Return verified dialogues that can become training items, the newest first."""
    used = GoldItem.every.filter(project=project, retired_at=None).values("source")
    fit = Dialogue.objects.filter(
        project=project, published=True, archived_at=None, status=DialogueStatus.VERIFIED, gold_role=""
    )
    return list(fit.exclude(pk__in=used).defer("search_text").order_by("-pk")[:most])


def _lock_item(project: Project, public_id: str) -> GoldItem:
    """Lock an item's row. A claim of it locks the row, too, and so does a submission."""
    rows = GoldItem.training.select_for_update(no_key=True, of=("self",))
    item = rows.filter(project=project, public_id=public_id).first()
    if item is None:
        raise Hidden(_("This training item doesn’t exist."))
    return item


def _origin_of(source: Dialogue) -> tuple[Revision, Revision]:
    """Return a dialogue's verified revision, and the one with which it entered its last review. Raises Conflict."""
    used = Q(source=source.pk)
    if source.variant_group:
        # Variants have the same answer.
        used |= Q(source__project=source.project_id, source__variant_group=source.variant_group, training_place=None)
    if source.gold_role or GoldItem.every.filter(used, retired_at=None).exists():
        sentence = _("%(name)s is already part of a gold item or of the training. Retire that item first.")
        raise Conflict(sentence % {"name": source.external_id})
    cycles = Cycle.objects.in_effect().filter(dialogue=source).select_related("exit_revision", "entry_revision")
    cycle = cycles.order_by("-number").first()
    verified = source.status == DialogueStatus.VERIFIED and source.published and source.archived_at is None
    if not verified or cycle is None or cycle.exit_revision is None:
        raise Conflict(_("%(name)s isn’t verified. Choose a verified dialogue.") % {"name": source.external_id})
    return cycle.exit_revision, cycle.entry_revision


def _planted(document: dict[str, Any], answer: Revision) -> dict[str, Any]:
    try:
        shown: dict[str, Any] = read_document(document)
    except SchemaProblem as problem:
        sentence = _("The changed dialogue can’t be saved: %(problem)s")
        raise Invalid(sentence % {"problem": problem}, field="document") from None
    if not errors_in(shown, answer.document()):
        sentence = _("The changed dialogue has the same content as the verified revision. Add an error.")
        raise Invalid(sentence, field="document")
    return shown


def _create_shown(source: Dialogue, answer: Revision, stage: Stage, shown: dict[str, Any]) -> StageRun:
    """Create what people see: a dialogue without history or owner, and its first run of the stage."""
    text = canonical(shown)
    version = require_version(source.project)
    dialogue = Dialogue.objects.create(
        project=source.project,
        # The same id: nobody who had the item is tested on this dialogue later.
        external_id=source.external_id,
        kind=source.kind,
        native_format=source.native_format,
        status=DialogueStatus.IN_REVIEW,
        stage=stage.key,
        content_hash=content_hash(text),
        title=source.title,
        gold_role=GoldRole.GOLD,
        published=False,
    )
    head = Revision.objects.create(
        dialogue=dialogue,
        number=1,
        toolset_revision=answer.toolset_revision,
        content_hash=content_hash(text),
        content=text,
    )
    cycle = Cycle.objects.create(
        dialogue=dialogue, project=source.project, protocol=version, number=1, entry_revision=head
    )
    describe_item(dialogue, head)
    copy_waivers(dialogue, source, head, training=True)
    return open_attempt(cycle, parse(version).stage(stage.key), attempt=1)
