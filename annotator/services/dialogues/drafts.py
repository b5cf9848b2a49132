"""Drafts: every edit is stored as it is made, can be undone, and is never silently overwritten."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotator.core.comparison import Conflict as MergeConflict
from annotator.core.comparison import merge
from annotator.core.editing import EditProblem, apply, can_rebase
from annotator.core.schema import SchemaProblem, canonical, load_text
from annotator.core.schema.toolsets import CompiledToolset
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Draft, DraftStep, Revision, StepState, User
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import insert

#: Steps that are kept: as far as undo reaches back, and as old as a window may be to have its edit rebased.
KEPT_STEPS = 200
#: Longest document that edits make, in characters: as long as a record of an import. Each edit may bring 200,000 more.
MAX_CONTENT = 16 << 20
#: Of long documents so many steps are kept as have about so many characters in all (each holds two documents), and ten
#: in any case: two hundred of the longest would take 6 GB of disk a draft.
KEPT_CHARACTERS = 64 << 20
_KEPT_ALWAYS = 10


@dataclass(frozen=True)
class Edited:
    """A draft after one edit, and the place to look at."""

    draft: Draft
    anchor: str


def open_draft(
    *,
    actor: User,
    dialogue: Dialogue,
    base: Revision,
    branch: str,
    left: Callable[[], Collection[str]] = tuple,
) -> Draft:
    """The actor's open draft on ``branch``, begun from ``base`` where there is none yet.

    ``left``: branches to which nothing leads any more; where there is no draft yet, the newest of theirs goes on here.
    """
    draft = find_open_draft(actor=actor, dialogue=dialogue, branch=branch)
    if draft is None and (branches := left()):
        draft = _take_along(actor, dialogue, branch, branches)
    draft = draft or _begin(actor, dialogue, base, branch)
    # What the caller has at hand need not be fetched again.
    draft.dialogue = dialogue
    if draft.base_id == base.pk:
        draft.base = base
    if draft.toolset_revision_id == base.toolset_revision_id:
        draft.toolset_revision = base.toolset_revision
    return draft


def find_open_draft(*, actor: User, dialogue: Dialogue, branch: str) -> Draft | None:
    """The actor's open draft on ``branch``, if there is one."""
    return next(iter(_open_drafts(dialogue.pk, actor.pk, branch)), None)


@compiled
def _open_drafts(dialogue_id: int, author_id: int, branch: str) -> QuerySet[Draft]:
    return Draft.objects.filter(dialogue=dialogue_id, author=author_id, branch=branch, closed_at=None)


def _take_along(actor: User, dialogue: Dialogue, branch: str, left: Collection[str]) -> Draft | None:
    drafts = Draft.objects.filter(author=actor, dialogue=dialogue, closed_at=None, branch__in=left)
    # One in which nothing was written is as good as none.
    found = drafts.filter(steps__isnull=False).order_by("-updated_at").first()
    if found is None:
        return None
    try:
        with transaction.atomic():
            Draft.objects.filter(pk=found.pk, closed_at=None).update(branch=branch)
    except IntegrityError:
        # Another window of theirs was quicker.
        pass
    return find_open_draft(actor=actor, dialogue=dialogue, branch=branch)


def _begin(actor: User, dialogue: Dialogue, base: Revision, branch: str) -> Draft:
    draft = Draft(
        dialogue=dialogue,
        author=actor,
        branch=branch,
        base=base,
        toolset_revision_id=base.toolset_revision_id,
        content=base.content,
    )
    try:
        with transaction.atomic():
            insert([draft])
    except IntegrityError:
        # Another window of theirs was quicker.
        return Draft.objects.get(dialogue=dialogue, author=actor, branch=branch, closed_at=None)
    return draft


def load_draft(*, actor: User, public_id: str, for_update: bool = False) -> Draft:
    """The actor's own open draft, as long as they may see its dialogue. Raises Hidden."""
    drafts = Draft.objects.select_related("dialogue__project", "base", "toolset_revision")
    if for_update:
        drafts = drafts.select_for_update(of=("self",), no_key=True)
    visible = Dialogue.objects.visible_to(actor)
    draft = drafts.filter(author=actor, public_id=public_id, closed_at=None, dialogue__in=visible).first()
    if draft is None:
        raise Hidden("There is no such draft of yours; it may have been submitted in another window.")
    return draft


def edit_draft(*, actor: User, draft: Draft, operation: dict[str, Any], seen: int, edit_id: str = "") -> Edited:
    """Apply one edit operation (see ``core.editing``). One with an ``edit_id`` already applied changes nothing.

    ``seen`` is the version the page showed. Where another window has moved on, the edit is still applied if what it
    touches is as the page saw it; else Conflict, and nothing changes. Raises Invalid with the editor's sentence.
    """
    edit_id = _readable(edit_id)
    with transaction.atomic():
        draft = load_draft(actor=actor, public_id=draft.public_id, for_update=True)
        if edit_id and draft.steps.filter(edit_id=edit_id).exists():
            return Edited(draft, str(operation.get("anchor", "")))
        document = draft.document()
        if seen != draft.version and not _untouched_since(draft, operation, seen, document):
            raise Conflict(
                "This place was changed meanwhile, in another window or another field of this page. Nothing was "
                "overwritten: choose which version stays.",
                version=draft.version,
            )
        toolset = CompiledToolset.of(draft.toolset_revision.content)
        try:
            changed, anchor = apply(document, operation, toolset=toolset)
            after = canonical(changed)
            canonical(operation)
        except EditProblem as problem:
            raise Invalid(problem.message, anchor=problem.anchor, circle=list(problem.circle)) from None
        except SchemaProblem as problem:
            raise Invalid(f"The edit cannot be stored: {problem}") from None
        if after != draft.content:
            _store(draft, operation, after, edit_id=edit_id)
    return Edited(draft, anchor)


def undo(*, actor: User, draft: Draft, edit_id: str = "") -> Edited:
    """Take the last edit back; once for each ``edit_id``. Raises Conflict when there is none."""
    return _step(actor=actor, draft=draft, back=True, edit_id=edit_id)


def redo(*, actor: User, draft: Draft, edit_id: str = "") -> Edited:
    """Make the last undone edit again; once for each ``edit_id``. Raises Conflict when there is none."""
    return _step(actor=actor, draft=draft, back=False, edit_id=edit_id)


def undo_and_redo(draft: Draft) -> tuple[bool, bool]:
    """Whether there is something to undo, and something to do again."""
    there = set(draft.steps.order_by().values_list("state", flat=True).distinct())
    return StepState.DONE in there, StepState.UNDONE in there


def replace_draft(*, actor: User, draft: Draft, document: dict[str, Any], operation: str) -> Draft:
    """Put a whole document into the draft (a merge, a reset), as one step that can be undone."""
    with transaction.atomic():
        draft = load_draft(actor=actor, public_id=draft.public_id, for_update=True)
        after = canonical(document)
        if after != draft.content:
            _store(draft, {"op": operation}, after)
    return draft


def reset_draft(*, actor: User, draft: Draft) -> Draft:
    """Back to the version it was begun from, as one step that can be undone."""
    return replace_draft(actor=actor, draft=draft, document=draft.base.document(), operation="reset")


def rebase_draft(
    *, actor: User, draft: Draft, onto: Revision, choices: dict[str, str] | None = None, otherwise: str = ""
) -> tuple[Draft, list[MergeConflict]]:
    """Merge the draft with a newer revision of its branch: three-way, from the version it was begun from.

    With conflicts left undecided nothing is stored and they are returned. ``choices``: {anchor: "mine" | "theirs"};
    ``otherwise`` is the choice for all the rest, where it is given.
    Undoing the merge also takes back what the draft counts as begun from, so that it has to be merged again.
    """
    with transaction.atomic():
        draft = load_draft(actor=actor, public_id=draft.public_id, for_update=True)
        if draft.base_id == onto.pk:
            return draft, []
        three = (draft.base.document(), draft.document(), onto.document())
        result = merge(*three, choices=choices or {})
        if otherwise and result.conflicts:
            rest = {conflict.anchor: otherwise for conflict in result.conflicts}
            result = merge(*three, choices=rest | (choices or {}))
        if result.conflicts:
            return draft, result.conflicts
        operation = {"op": "merge", "base_before": draft.base_id, "base_after": onto.pk}
        _set_base(draft, onto)
        _store(draft, operation, canonical(result.document))
    return draft, []


def preview_rebase(*, draft: Draft, onto: Revision) -> list[MergeConflict]:
    """The conflicts that merging the draft with ``onto`` would meet; nothing is stored."""
    return merge(draft.base.document(), draft.document(), onto.document()).conflicts


def _store(draft: Draft, operation: dict[str, Any], after: str, edit_id: str = "") -> None:
    if len(after) > max(MAX_CONTENT, len(draft.content)):
        raise Invalid(
            f"The dialogue would have {len(after):,} characters; {MAX_CONTENT:,} are the most that is kept. Shorten "
            "something else first."
        )
    draft.steps.filter(state=StepState.UNDONE).update(state=StepState.GONE)
    _move(draft, after, operation=operation, edit_id=edit_id)


def _step(*, actor: User, draft: Draft, back: bool, edit_id: str) -> Edited:
    edit_id = _readable(edit_id)
    with transaction.atomic():
        draft = load_draft(actor=actor, public_id=draft.public_id, for_update=True)
        done = draft.steps.filter(edit_id=edit_id).first() if edit_id else None
        if done is not None:
            return Edited(draft, str(done.operation.get("anchor", "")))
        if back:
            step = draft.steps.filter(state=StepState.DONE).order_by("-version").first()
        else:
            step = draft.steps.filter(state=StepState.UNDONE).order_by("version").first()
        if step is None:
            raise Conflict("There is nothing to undo." if back else "There is nothing to do again.")
        step.state = StepState.UNDONE if back else StepState.DONE
        step.save(update_fields=["state"])
        base = step.operation.get("base_before" if back else "base_after")
        if base is not None:
            _set_base(draft, Revision.objects.select_related("toolset_revision").get(pk=base))
        anchor = str(step.operation.get("anchor", ""))
        # Versions only grow, so that another window notices.
        _move(
            draft,
            step.before if back else step.after,
            operation={"op": "undo" if back else "redo", "anchor": anchor},
            edit_id=edit_id,
            state=StepState.MOVE,
        )
    return Edited(draft, anchor)


def _readable(edit_id: str) -> str:
    return edit_id.replace("\x00", "")[:40]


def _set_base(draft: Draft, base: Revision) -> None:
    draft.base, draft.toolset_revision = base, base.toolset_revision


def _move(
    draft: Draft, after: str, *, operation: dict[str, Any], edit_id: str = "", state: StepState = StepState.DONE
) -> None:
    """The next version of the draft. Every version has its step: see ``_untouched_since``."""
    draft.version += 1
    DraftStep.objects.create(
        draft=draft,
        version=draft.version,
        edit_id=edit_id,
        operation=operation,
        before=draft.content,
        after=after,
        state=state,
    )
    kept = min(KEPT_STEPS, max(_KEPT_ALWAYS, KEPT_CHARACTERS // (2 * len(after))))
    draft.steps.filter(version__lte=draft.version - kept).delete()
    draft.content = after
    draft.updated_at = timezone.now()
    draft.save(update_fields=["content", "version", "updated_at", "base", "toolset_revision"])


def _untouched_since(draft: Draft, operation: dict[str, Any], seen: int, current: dict[str, Any]) -> bool:
    """Whether what the operation touches is now as it was in version ``seen``; False where that is not known."""
    step = draft.steps.filter(version=seen + 1).first()
    return step is not None and can_rebase(operation, load_text(step.before), current)
