"""Drafts: every edit is saved at once, can be undone, and is never silently overwritten."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.core.comparison import Conflict as MergeConflict
from annotator.core.comparison import merge
from annotator.core.editing import EditProblem, apply, can_rebase
from annotator.core.schema import SchemaProblem, canonical, load_text
from annotator.core.schema.toolsets import CompiledToolset
from annotator.core.text import message
from annotator.errors import Conflict, Hidden, Invalid
from annotator.models import Dialogue, Draft, DraftStep, Membership, Revision, StepState, User
from annotator.models.content import GoldRole
from annotator.models.people import OVERSEERS
from annotator.services.database.compiled import compiled
from annotator.services.database.statements import insert
from annotator.services.dialogues.composites import with_member

#: Steps kept: the reach of undo, and the oldest version on which a window's edit can be rebased.
MAX_STEPS = 200
#: Characters of the longest document that edits can make, as in imports. One edit adds up to 200,000.
MAX_CONTENT = 16 << 20
#: For long documents, fewer steps are kept, with about this many characters in total (each step has two documents), but
#: at least ten: two hundred steps of the longest document would take 6 GB.
MAX_STEP_CHARACTERS = 64 << 20
_MIN_STEPS = 10


@dataclass(frozen=True)
class Edited:
    """A draft after one edit, and the place that was edited."""

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
    """Return the actor's open draft on ``branch``, created from ``base`` if there is none.

    ``left``: abandoned branches; if there is no draft yet, the newest of theirs moves to ``branch``.
    """
    draft = find_open_draft(actor=actor, dialogue=dialogue, branch=branch)
    if draft is None and (branches := left()):
        draft = _take_along(actor, dialogue, branch, branches)
    draft = draft or _begin(actor, dialogue, base, branch)
    # The caller has these rows already.
    draft.dialogue = dialogue
    if draft.base_id == base.pk:
        draft.base = base
    if draft.toolset_revision_id == base.toolset_revision_id:
        draft.toolset_revision = base.toolset_revision
    return draft


def find_open_draft(*, actor: User, dialogue: Dialogue, branch: str) -> Draft | None:
    """Return the actor's open draft on ``branch``, if any."""
    return next(iter(_open_drafts(dialogue.pk, actor.pk, branch)), None)


@compiled
def _open_drafts(dialogue_id: int, author_id: int, branch: str) -> QuerySet[Draft]:
    return Draft.objects.filter(dialogue=dialogue_id, author=author_id, branch=branch, closed_at=None)


def _take_along(actor: User, dialogue: Dialogue, branch: str, left: Collection[str]) -> Draft | None:
    drafts = Draft.objects.filter(author=actor, dialogue=dialogue, closed_at=None, branch__in=left)
    # Ignore drafts without edits.
    found = drafts.filter(steps__isnull=False).order_by("-updated_at").first()
    if found is None:
        return None
    try:
        with transaction.atomic():
            Draft.objects.filter(pk=found.pk, closed_at=None).update(branch=branch)
    except IntegrityError:
        # Another window of the same person was faster.
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
        # Another window of the same person was faster.
        return Draft.objects.get(dialogue=dialogue, author=actor, branch=branch, closed_at=None)
    return draft


def load_draft(*, actor: User, public_id: str) -> Draft:
    """Lock and return the actor's own open draft of a dialogue that they may see. Raises Hidden."""
    found = _lock_draft(actor.pk, public_id) if actor.is_active else []
    if not found or not actor.reaches(found[0].dialogue.project_id):
        raise Hidden(_("This draft doesn’t exist. You may have submitted it in another window."))
    return found[0]


@compiled
def _lock_draft(author_id: int, public_id: str) -> QuerySet[Draft]:
    """Return the draft if its dialogue may be worked on (``Dialogue.objects.workable_by``)."""
    roles = Membership.objects.reading().filter(project=OuterRef("dialogue__project"), user=author_id)
    shown = ~Q(dialogue__gold_role=GoldRole.ANSWER) | Exists(roles.filter(role__in=OVERSEERS))
    drafts = Draft.objects.filter(Exists(roles), shown, author=author_id, public_id=public_id, closed_at=None)
    drafts = drafts.select_related("dialogue__project", "base", "toolset_revision").defer("dialogue__search_text")
    return drafts.select_for_update(of=("self",), no_key=True)


def edit_draft(*, actor: User, draft: Draft, operation: dict[str, Any], seen: int, edit_id: str = "") -> Edited:
    """Apply one edit operation (see ``core.editing``). A known ``edit_id`` changes nothing.

    ``seen``: the version that the page showed. If the draft has changed since, the edit is applied only if the edited
    place is unchanged; otherwise raises Conflict. Raises Invalid with the editor's sentence.
    """
    edit_id = _readable(edit_id)
    with transaction.atomic():
        draft = load_draft(actor=actor, public_id=draft.public_id)
        if edit_id and draft.steps.filter(edit_id=edit_id).exists():
            return Edited(draft, str(operation.get("anchor", "")))
        document = draft.document()
        if seen != draft.version and not _untouched_since(draft, operation, seen, document):
            raise Conflict(
                _(
                    "This place was changed in another window or in another field of this page. Nothing was "
                    "overwritten. Choose which version to keep."
                ),
                version=draft.version,
            )
        toolset = CompiledToolset.of(draft.toolset_revision.content)
        operation = with_member(actor=actor, dialogue=draft.dialogue, operation=operation)
        try:
            changed, anchor = apply(document, operation, toolset=toolset)
            after = canonical(changed)
            canonical(operation)
        except EditProblem as problem:
            details = {"field": problem.field} if problem.field else {}
            raise Invalid(
                message(problem.message), anchor=problem.anchor, circle=list(problem.circle), **details
            ) from None
        except SchemaProblem as problem:
            raise Invalid(_("The change can’t be saved: %(problem)s") % {"problem": problem}) from None
        if after != draft.content:
            _store(draft, operation, after, edit_id=edit_id)
    return Edited(draft, anchor)


def undo(*, actor: User, draft: Draft, edit_id: str = "") -> Edited:
    """Undo the last edit, once for each ``edit_id``. Raises Conflict if there is none."""
    return _step(actor=actor, draft=draft, back=True, edit_id=edit_id)


def redo(*, actor: User, draft: Draft, edit_id: str = "") -> Edited:
    """Redo the last undone edit, once for each ``edit_id``. Raises Conflict if there is none."""
    return _step(actor=actor, draft=draft, back=False, edit_id=edit_id)


def undo_and_redo(draft: Draft) -> tuple[bool, bool]:
    """Return whether there is something to undo, and something to redo."""
    there = set(draft.steps.order_by().values_list("state", flat=True).distinct())
    return StepState.DONE in there, StepState.UNDONE in there


def replace_draft(*, actor: User, draft: Draft, document: dict[str, Any], operation: str) -> Draft:
    """Replace the whole document of the draft (a merge, a reset) as one step that can be undone."""
    with transaction.atomic():
        draft = load_draft(actor=actor, public_id=draft.public_id)
        after = canonical(document)
        if after != draft.content:
            _store(draft, {"op": operation}, after)
    return draft


def reset_draft(*, actor: User, draft: Draft) -> Draft:
    """Reset the draft to its base version as one step that can be undone."""
    return replace_draft(actor=actor, draft=draft, document=draft.base.document(), operation="reset")


def rebase_draft(
    *, actor: User, draft: Draft, onto: Revision, choices: dict[str, str] | None = None, otherwise: str = ""
) -> tuple[Draft, list[MergeConflict]]:
    """Merge the draft with a newer revision of its branch: three-way, from its base revision.

    ``choices``: {anchor: "mine" | "theirs"}; ``otherwise``: the choice for all other conflicts. If undecided conflicts
    remain, returns them and stores nothing. Undoing the merge restores the base, so that it has to be merged again.
    """
    with transaction.atomic():
        draft = load_draft(actor=actor, public_id=draft.public_id)
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
    """Return the conflicts of merging the draft with ``onto``; stores nothing."""
    return merge(draft.base.document(), draft.document(), onto.document()).conflicts


def _store(draft: Draft, operation: dict[str, Any], after: str, edit_id: str = "") -> None:
    if len(after) > max(MAX_CONTENT, len(draft.content)):
        raise Invalid(
            _(
                "With this change, the dialogue would have %(count)s characters. At most %(most)s are allowed. Shorten "
                "another part first."
            )
            % {"count": f"{len(after):,}", "most": f"{MAX_CONTENT:,}"}
        )
    draft.steps.filter(state=StepState.UNDONE).update(state=StepState.GONE)
    _move(draft, after, operation=operation, edit_id=edit_id)


def _step(*, actor: User, draft: Draft, back: bool, edit_id: str) -> Edited:
    edit_id = _readable(edit_id)
    with transaction.atomic():
        draft = load_draft(actor=actor, public_id=draft.public_id)
        done = draft.steps.filter(edit_id=edit_id).first() if edit_id else None
        if done is not None:
            return Edited(draft, str(done.operation.get("anchor", "")))
        if back:
            step = draft.steps.filter(state=StepState.DONE).order_by("-version").first()
        else:
            step = draft.steps.filter(state=StepState.UNDONE).order_by("version").first()
        if step is None:
            raise Conflict(_("There is nothing to undo.") if back else _("There is nothing to redo."))
        step.state = StepState.UNDONE if back else StepState.DONE
        step.save(update_fields=["state"])
        base = step.operation.get("base_before" if back else "base_after")
        if base is not None:
            _set_base(draft, Revision.objects.select_related("toolset_revision").get(pk=base))
        anchor = str(step.operation.get("anchor", ""))
        # Versions only increase, so that other windows notice.
        _move(
            draft,
            step.before if back else step.after,
            operation={"op": "undo" if back else "redo", "anchor": anchor},
            edit_id=edit_id,
            state=StepState.MOVE,
        )
    return Edited(draft, anchor)


def note_move(*, actor: User, draft: Draft, operation: dict[str, Any], edit_id: str) -> Edited | None:
    """Add a step that leaves the content as it is, for what is undone beside the content, such as a waiver.

    Once for each ``edit_id``: returns None the second time. The caller is in a transaction.
    """
    edit_id = _readable(edit_id)
    draft = load_draft(actor=actor, public_id=draft.public_id)
    if edit_id and draft.steps.filter(edit_id=edit_id).exists():
        return None
    _move(draft, draft.content, operation=operation, edit_id=edit_id, state=StepState.MOVE)
    return Edited(draft, str(operation["anchor"]))


def _readable(edit_id: str) -> str:
    return edit_id.replace("\x00", "")[:40]


def _set_base(draft: Draft, base: Revision) -> None:
    draft.base, draft.toolset_revision = base, base.toolset_revision


def _move(
    draft: Draft, after: str, *, operation: dict[str, Any], edit_id: str = "", state: StepState = StepState.DONE
) -> None:
    """Store the next version of the draft. Every version has its step: see ``_untouched_since``."""
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
    kept = min(MAX_STEPS, max(_MIN_STEPS, MAX_STEP_CHARACTERS // (2 * len(after))))
    draft.steps.filter(version__lte=draft.version - kept).delete()
    draft.content = after
    draft.updated_at = timezone.now()
    draft.save(update_fields=["content", "version", "updated_at", "base", "toolset_revision"])


def _untouched_since(draft: Draft, operation: dict[str, Any], seen: int, current: dict[str, Any]) -> bool:
    """Return whether the edited place is unchanged since version ``seen``; False if that is no longer known."""
    step = draft.steps.filter(version=seen + 1).first()
    return step is not None and can_rebase(operation, load_text(step.before), current)
