"""Revisions: create them, move the head, check them. Content is never changed in place."""

from collections.abc import Callable, Iterable
from functools import lru_cache
from threading import Lock
from typing import Any

from django.db.models import Max, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.checks import CheckSettings, CleanMarks, Stage, all_checks, run_checks
from annotator.core.checks import Finding as CheckFinding
from annotator.core.checks.of_runs import OF_RUNS
from annotator.core.checks.settings import LongRangeRule
from annotator.core.dialogue_rows import listed_columns
from annotator.core.schema import SchemaProblem, canonical, content_hash, read_document
from annotator.core.schema.exact_json import dumps, load_stored
from annotator.core.schema.toolsets import CompiledToolset
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Finding, Guideline, Project, Revision, ToolsetRevision, User
from annotator.services.custom_fields import fields_of, refresh_fields
from annotator.services.database.compiled import compiled
from annotator.services.dialogues.composites import check_composites_of, remember_members, singles_of
from annotator.services.dialogues.continuations import mark_own
from annotator.services.dialogues.executions import known_executions_of
from annotator.services.dialogues.metadata import remember_metadata
from annotator.services.dialogues.trials import known_outcomes_of

#: Edit a document before it is stored: (document, previous revision) → document (see `apps`).
BEFORE_STORING: list[Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]]] = []


def check_settings(project: Project) -> CheckSettings:
    """Return the settings of the project's checks."""
    rule: LongRangeRule = "wild" if project.long_range_rule == "wild" else "c3"
    return CheckSettings(long_range_rule=rule, severities=dict(project.check_settings), fields=fields_of(project))


def check_document(
    document: dict[str, Any], toolset_revision: ToolsetRevision, *, project: Project, stage: Stage
) -> list[CheckFinding]:
    """Run the checks on a document, with the known trials of its validators and execution of its trajectory."""
    settings = check_settings(project)
    if document["kind"] == "multi_turn":
        content = dumps(document).decode()
        if len(content) < _LONG:
            return list(_said_of_short(content, toolset_revision.content, settings, stage))
        with _LOCKS[hash(content) % len(_LOCKS)]:
            return list(_said_of_long(content, toolset_revision.content, settings, stage))
    toolset = CompiledToolset.of(toolset_revision.content)
    return run_checks(
        document,
        toolset,
        stage=stage,
        settings=settings,
        trials=known_outcomes_of(document),
        executions=known_executions_of(document, toolset),
        singles=singles_of(document, project),
    )


def _said_of(content: str, tools: str, settings: CheckSettings, stage: Stage) -> tuple[CheckFinding, ...]:
    return tuple(run_checks(load_stored(content), CompiledToolset.of(tools), stage=stage, settings=settings))


#: From this many characters on, checking may take seconds. Parallel requests wait for the first, since each would check
#: the same. Results of few such documents are cached.
_LONG = 200_000
_LOCKS = [Lock() for _ in range(64)]
# Reading, checking and submitting an item are three requests about the same content.
_said_of_short, _said_of_long = lru_cache(maxsize=64)(_said_of), lru_cache(maxsize=4)(_said_of)


def latest_guideline(project: Project) -> Guideline | None:
    """Return the current guideline."""
    return next(iter(_latest_guideline(project.pk)), None)


@compiled
def _latest_guideline(project_id: int) -> QuerySet[Guideline]:
    return Guideline.objects.filter(project=project_id).order_by("-number")[:1]


def create_revision(
    *,
    actor: User | None,
    dialogue: Dialogue,
    document: dict[str, Any],
    parent: Revision | None,
    message: str = "",
    branch: str = "main",
    sealed: bool = False,
    toolset_revision: ToolsetRevision | None = None,
    stored: bool = False,
) -> Revision:
    """Write a revision. The caller holds the dialogue's row lock. Raises Invalid if the document is not valid.

    The head does not move: see ``move_head``. ``stored``: the document comes from ``as_stored``, called before the lock
    was taken. Raises Conflict if the content equals the parent's, since nobody is an author without a change.
    """
    text = canonical(document) if stored else as_stored(document, parent)
    toolset_revision = toolset_revision or (parent.toolset_revision if parent else None)
    if toolset_revision is None:
        raise ValueError("a first revision needs a toolset")
    if parent is not None and (text, toolset_revision.pk) == (parent.content, parent.toolset_revision_id):
        raise Conflict(_("Nothing was changed, so there is no new revision to save."))
    revision = Revision(
        dialogue=dialogue,
        parent=parent,
        branch=branch,
        number=None if sealed else next_number(dialogue),
        author=actor,
        message=message[:500],
        toolset_revision=toolset_revision,
        guideline_id=Guideline.objects.filter(project=dialogue.project_id)
        .order_by("-number")
        .values_list("pk", flat=True)
        .first(),
        content_hash=content_hash(text),
        content=text,
        sealed=sealed,
    )
    revision.save(force_insert=True)
    return revision


def as_stored(document: dict[str, Any], parent: Revision | None) -> str:
    """Return the canonical text to store for a document that follows ``parent``. Raises Invalid.

    It omits parts of the native record that describe something edited. Compare this text to see whether anything was
    changed.
    """
    try:
        document = read_document(document)
        if parent is not None:
            for drop_outdated in BEFORE_STORING:
                document = drop_outdated(document, parent.document())
        return canonical(document)
    except SchemaProblem as problem:
        raise Invalid(
            _("The dialogue can’t be saved: %(problem)s") % {"problem": problem},
            problems=[{"pointer": p.pointer, "message": p.message} for p in problem.problems],
        ) from None


def next_number(dialogue: Dialogue) -> int:
    """Return the number of the dialogue's next open revision. The caller holds the dialogue's row lock."""
    return (Revision.objects.filter(dialogue=dialogue).aggregate(last=Max("number"))["last"] or 0) + 1


def unseal(revisions: Iterable[Revision]) -> None:
    """Open the revisions of one dialogue's settled blind stage, numbered in order of creation."""
    number = 0
    for revision in sorted(revisions, key=lambda r: r.pk):
        if revision.sealed:
            number = number + 1 if number else next_number(revision.dialogue)
            revision.sealed = False
            revision.number = number
            revision.save(update_fields=["sealed", "number"])


def move_head(*, dialogue: Dialogue, revision: Revision, stage: Stage = "save") -> None:
    """Make ``revision`` the dialogue's head and update denormalised columns and findings.

    The caller holds the dialogue's row lock, and has read the custom fields of the project under it.
    """
    document = revision.document()
    findings = check_document(document, revision.toolset_revision, project=dialogue.project, stage=stage)
    dialogue.head = revision
    dialogue.toolset_id = revision.toolset_revision.toolset_id
    fields = denormalise(dialogue, document, findings)
    dialogue.content_hash = revision.content_hash
    dialogue.updated_at = timezone.now()
    dialogue.save(update_fields=["head", "toolset", "content_hash", "updated_at", *fields])
    Finding.objects.filter(dialogue=dialogue).exclude(revision=revision).delete()
    if not Finding.objects.filter(revision=revision).exists():
        Finding.objects.bulk_create(finding_rows(dialogue, revision, findings))
    _mark(revision, document, findings, dialogue.project)
    remember_members(dialogue, document)
    check_composites_of(dialogue)
    mark_own(dialogue)


def _mark(revision: Revision, document: dict[str, Any], findings: list[CheckFinding], project: Project) -> None:
    marks = CleanMarks(check_settings(project))
    mark = marks.mark_if_clean(document, findings, revision.content_hash, revision.toolset_revision.content_hash)
    if mark != revision.clean_mark:
        revision.clean_mark = mark
        revision.save(update_fields=["clean_mark"])


def _is_of_runs(check: str) -> bool:
    return check in OF_RUNS


def refresh_findings(*, revision: Revision, stage: Stage = "save", only: Callable[[str], bool] = _is_of_runs) -> None:
    """Update a head's findings of the checks for which ``only`` is true, and its mark, in the caller's transaction.

    Without ``only``: those about what its code came to when it ran, and about a composite's single tasks.
    """
    dialogue = lock_dialogue(revision.dialogue_id)
    if dialogue.head_id != revision.pk:
        return
    document = revision.document()
    remember_members(dialogue, document)
    found = check_document(document, revision.toolset_revision, project=dialogue.project, stage=stage)
    stored = Finding.objects.filter(revision=revision)
    stored.filter(check_id__in=[check.id for check in all_checks() if only(check.id)]).delete()
    Finding.objects.bulk_create(finding_rows(dialogue, revision, [one for one in found if only(one.check)]))
    _mark(revision, document, found, dialogue.project)
    severities = list(stored.values_list("severity", flat=True))
    dialogue.error_count, dialogue.warning_count = severities.count("error"), severities.count("warning")
    dialogue.save(update_fields=["error_count", "warning_count"])


def denormalise(dialogue: Dialogue, document: dict[str, Any], findings: list[CheckFinding]) -> list[str]:
    """Set the columns that lists and counters read, and return their names; store the metadata."""
    columns = listed_columns(document) | {
        "error_count": sum(1 for f in findings if f.severity == "error"),
        "warning_count": sum(1 for f in findings if f.severity == "warning"),
    }
    for name, value in columns.items():
        setattr(dialogue, name, value)
    remember_metadata(dialogue, document)
    return list(columns)


def finding_rows(dialogue: Dialogue, revision: Revision, findings: list[CheckFinding]) -> list[Finding]:
    """Return unsaved rows for findings."""
    return [
        Finding(
            dialogue=dialogue,
            revision=revision,
            check_id=f.check,
            severity=f.severity,
            anchor=f.anchor,
            value_hash=f.value_hash,
            message=f.message[:1000],
        )
        for f in findings
    ]


def load_revision(*, actor: User, dialogue: Dialogue, public_id: str) -> Revision:
    """Return a revision that the actor may see. Raises Hidden."""
    revision = Revision.objects.visible_to(actor).filter(dialogue=dialogue, public_id=public_id).first()
    if revision is None:
        raise Hidden(_("This revision doesn’t exist, or you can’t see it yet."))
    return revision


def load_revision_or_head(*, actor: User, dialogue: Dialogue, public_id: str) -> Revision:
    """Return the revision with this public id, or the newest one if the id is blank. Raises Hidden."""
    revision = load_revision(actor=actor, dialogue=dialogue, public_id=public_id) if public_id else dialogue.head
    if revision is None:
        raise Hidden(_("This dialogue has no content yet."))
    return revision


def lock_dialogue(dialogue_id: int) -> Dialogue:
    """Return the dialogue's row, locked until the caller's transaction ends."""
    # Without its key, so that rows that refer to the dialogue can be written meanwhile.
    return Dialogue.objects.select_for_update(of=("self",), no_key=True).select_related("project").get(pk=dialogue_id)


def lock_dialogues(dialogues: QuerySet[Dialogue]) -> list[int]:
    """Lock these rows as ``lock_dialogue`` does; return their keys, in whose order everybody locks several."""
    rows = dialogues.select_for_update(of=("self",), no_key=True).order_by("pk")
    return list(rows.values_list("pk", flat=True))


def hold_dialogue(dialogue_id: int) -> None:
    """Lock the dialogue's row as ``lock_dialogue`` does, without reading it."""
    Dialogue.objects.select_for_update(no_key=True).only("pk").get(pk=dialogue_id)


def revise(
    *,
    actor: User | None,
    dialogue: Dialogue,
    seen: Revision,
    document: dict[str, Any],
    message: str,
    toolset_revision: ToolsetRevision | None = None,
) -> Revision:
    """Write a new head on the main branch. The caller holds the lock. Raises Conflict if the head is not ``seen``."""
    if dialogue.head_id != seen.pk:
        raise Conflict(_("The dialogue has a newer revision than the one you edited. Merge your changes with it."))
    revision = create_revision(
        actor=actor,
        dialogue=dialogue,
        document=document,
        parent=seen,
        message=message,
        toolset_revision=toolset_revision,
    )
    refresh_fields(dialogue.project)
    move_head(dialogue=dialogue, revision=revision)
    return revision
