"""What people see of a gold item: a dialogue beside the verified one, with findings and waivers as any other has."""

from collections.abc import Callable, Sequence
from typing import Any

from annotator.core.checks import Finding as CheckFinding
from annotator.core.schema import content_hash, load_text
from annotator.errors import Invalid
from annotator.models import Dialogue, Revision, Waiver
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.dialogues.revisions import check_document, denormalise, finding_rows
from reviews.models import StageRun
from reviews.services.gold.copied_history import entry_version


class UntriedValidators(Exception):
    """A planted error with which validators stand as they were never tried; ``document`` is what holds it."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document


#: Each says what the jobs after an import find of such a version as it came in, beside the checks; None: nothing.
FOUND_ON_IMPORT: list[Callable[[Revision], CheckFinding | None]] = []


def require_invisible_to_checks(answer: Revision, source: Dialogue, text: str) -> None:
    """Raises Invalid for an error that the checks find, too: no ordinary dialogue comes into the stage with one.

    Raises Untried where that is only that validators are still to be tried.
    """
    tools = answer.toolset_revision
    known, found = (
        {one.check: one for one in check_document(content, tools, project=source.project, stage="submit")
         if one.severity == "error"}
        for content in (answer.document(), load_text(text))
    )  # fmt: skip
    if found.keys() - known.keys() == {"validator.untried"}:
        raise UntriedValidators(load_text(text))
    for check, one in found.items():
        if check not in known:
            raise Invalid(
                f"The checks find this error, with which no ordinary dialogue comes into the stage, so people "
                f"would know the item by it: {one.message} Plant one that only people see.",
                field="document",
            )


def create_shown_dialogue(source: Dialogue, run: StageRun, text: str) -> Dialogue:
    """A dialogue beside the source, as that was when it came into the stage; its content is still to come."""
    came = entry_version(run).created_at
    before = StageRun.objects.filter(cycle=run.cycle_id, pk__lt=run.pk).order_by("pk").last()
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
        updated_at=before.settled_at or came if before else came,
    )


def describe_item(dialogue: Dialogue, head: Revision) -> None:
    """Let the dialogue say what lists and pages read of this version, with what the checks find."""
    document = head.document()
    findings = check_document(document, head.toolset_revision, project=dialogue.project, stage="save")
    findings += [found for ask in FOUND_ON_IMPORT if (found := ask(head)) is not None]
    dialogue.head = head
    fields: Sequence[str] = denormalise(dialogue, document, findings)
    dialogue.save(update_fields=["head", *fields])
    dialogue.findings.bulk_create(finding_rows(dialogue, head, findings))


def copy_waivers(dialogue: Dialogue, source: Dialogue, shown: Revision) -> None:
    """Waive the warnings about what is shown, as whoever handed in an ordinary dialogue had to: with the reasons that
    were given for the verified one. Those of a planted error are read by whoever wrote the version it replaces, as
    their own: so they are in their words, or say no more than anybody would.
    """
    given = {
        (one.check_id, one.anchor, one.value_hash): one
        for one in Waiver.objects.filter(dialogue=source, sealed=False).select_related("author").order_by("-pk")
    }
    author = shown.author or source.owner
    found = check_document(shown.document(), shown.toolset_revision, project=source.project, stage="submit")
    for key in dict.fromkeys((one.check, one.anchor, one.value_hash) for one in found if one.severity == "warning"):
        said = given.get(key)
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
            reason=reason or "It is meant so.",
            author=who,
            created_at=said.created_at if said else shown.created_at,
        )
