"""Creates what people see of a gold item: a separate dialogue with findings and waivers like any other."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from django.utils.translation import gettext as _

from annotator.core.checks import Finding as CheckFinding
from annotator.core.checks.of_runs import UNTRIED
from annotator.core.comparison import describe
from annotator.core.schema import content_hash, load_text
from annotator.errors import Invalid
from annotator.models import Dialogue, Event, Revision, ToolsetRevision, Waiver
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.dialogues.revisions import check_document, denormalise, finding_rows
from reviews.models import StageRun
from reviews.services.gold.copied_history import imported_revision


class Untried(Exception):
    """A planted error leaves validators untested; ``document`` contains it."""

    def __init__(self, document: dict[str, Any], toolset_revision: ToolsetRevision) -> None:
        self.document = document
        self.toolset_revision = toolset_revision


#: Each returns what the jobs after an import find in such an original revision, besides the checks; None: nothing.
FOUND_ON_IMPORT: list[Callable[[Revision], CheckFinding | None]] = []


def require_invisible_to_checks(answer: Revision, source: Dialogue, text: str) -> None:
    """Raise Invalid for an error that the checks find too: no ordinary dialogue enters the stage with one.

    Raises Untried if the only finding is that its code has not been run yet.
    """
    tools = answer.toolset_revision
    known, found = (
        {one.check: one for one in check_document(content, tools, project=source.project, stage="submit")
         if one.severity == "error"}
        for content in (answer.document(), load_text(text))
    )  # fmt: skip
    new = found.keys() - known.keys()
    if new and new <= UNTRIED:
        raise Untried(load_text(text), tools)
    for check, one in found.items():
        if check not in known:
            sentence = _(
                "A check finds an error at %(place)s, so the item would stand out: %(finding)s Plant an error that no "
                "check finds."
            )
            place = describe(load_text(text), one.anchor)
            raise Invalid(sentence % {"place": place, "finding": one.message}, field="document")


def create_shown_dialogue(source: Dialogue, run: StageRun, text: str) -> Dialogue:
    """Create a dialogue like the source was when it entered the stage; its content follows."""
    return Dialogue.objects.create(
        project=source.project,
        external_id=source.external_id,
        variant_group=source.variant_group,
        kind=source.kind,
        native_format=source.native_format,
        owner_id=source.owner_id,
        status=DialogueStatus.IN_REVIEW,
        stage=run.stage,
        content_hash=content_hash(text),
        title=source.title,
        gold_role=GoldRole.GOLD,
        created_at=source.created_at,
        updated_at=_entered_at(source, run),
    )


def _entered_at(source: Dialogue, run: StageRun) -> datetime:
    """Return the time that an ordinary dialogue shows as its last change when it is in the stage of ``run``."""
    drawn = Event.objects.filter(dialogue=source, kind="draw.selected", created_at__gte=run.opened_at)
    if run.settled_at is not None:
        drawn = drawn.filter(created_at__lte=run.settled_at)
    found = drawn.order_by("pk").values_list("created_at", flat=True).first()
    if found is not None:
        return found
    before = StageRun.objects.filter(cycle=run.cycle_id, pk__lt=run.pk).order_by("pk").last()
    if before is not None and before.settled_at is not None:
        return before.settled_at
    if source.batch is not None and (source.batch.ended_at is None or run.opened_at <= source.batch.ended_at):
        # The import has started the cycle.
        return imported_revision(run).created_at
    return run.opened_at


def describe_item(dialogue: Dialogue, head: Revision) -> None:
    """Set the dialogue's fields for lists and pages from this revision, with the checks' findings."""
    document = head.document()
    findings = check_document(document, head.toolset_revision, project=dialogue.project, stage="save")
    findings += [found for ask in FOUND_ON_IMPORT if (found := ask(head)) is not None]
    dialogue.head = head
    dialogue.toolset_id = head.toolset_revision.toolset_id
    fields: Sequence[str] = denormalise(dialogue, document, findings)
    dialogue.save(update_fields=["head", "toolset", *fields])
    dialogue.findings.bulk_create(finding_rows(dialogue, head, findings))


def copy_waivers(dialogue: Dialogue, source: Dialogue, shown: Revision, *, training: bool = False) -> None:
    """Waive the shown revision's warnings with the reasons given for the verified one.

    A gold item looks like an ordinary dialogue, in which every warning is waived. The author of the replaced revision
    reads waivers of a planted error as their own, so these use their words or a neutral reason. In ``training`` there
    is nothing to hide, and nobody has waived a planted error.
    """
    given = {
        (one.check_id, one.anchor, one.value_hash): one
        for one in Waiver.objects.in_effect()
        .filter(dialogue=source, sealed=False)
        .select_related("author")
        .order_by("-pk")
    }
    author = shown.author or source.owner
    found = check_document(shown.document(), shown.toolset_revision, project=source.project, stage="submit")
    for key in dict.fromkeys((one.check, one.anchor, one.value_hash) for one in found if one.severity == "warning"):
        said = given.get(key)
        if training and not said:
            continue
        who = said.author if said else author
        if who is None:
            continue
        alike = Waiver.objects.filter(dialogue__project=source.project, author=who, check_id=key[0], sealed=False)
        reason = said.reason if said else alike.order_by("-pk").values_list("reason", flat=True).first()
        Waiver.objects.create(
            dialogue=dialogue,
            check_id=key[0],
            anchor=key[1],
            value_hash=key[2],
            reason=reason or "This is intended.",
            author=who,
            created_at=said.created_at if said else shown.created_at,
        )
