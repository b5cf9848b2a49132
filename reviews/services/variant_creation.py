"""Make a language variant of a dialogue: a copy to be translated, which is reviewed like any other candidate."""

from typing import Any

from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Invalid
from annotator.models import Dialogue, Project, Revision, User, VariantMatch
from annotator.models.content import DialogueStatus, GoldRole
from annotator.services.access.permissions import require_administrator
from annotator.services.dialogues.creation import Written
from annotator.services.dialogues.revisions import lock_dialogue, lock_dialogues
from annotator.services.history.events import append_event
from reviews.services.cycles.candidates import NewDialogue, add_dialogues
from reviews.services.gold.settings import retire_with
from reviews.services.queue.gold_claims import language_variants

LANGUAGES = ("en", "zh")
_KINDS = ("multi_turn", "single_task", "constrained")
_MAX_ID = 200
#: Names that are tried for a group.
_MAX_GROUPS = 99


def variant_languages(dialogue: Dialogue) -> list[str]:
    """Return the languages in which a variant of the dialogue can be made: known ones that its group does not have."""
    if dialogue.language not in LANGUAGES or dialogue.kind not in _KINDS or dialogue.gold_role == GoldRole.GOLD:
        return []
    if dialogue.status == DialogueStatus.REJECTED or dialogue.archived_at is not None:
        return []
    held = {dialogue.language}
    if dialogue.variant_group:
        group = Dialogue.objects.filter(project=dialogue.project_id, variant_group=dialogue.variant_group).counted()
        held |= set(group.filter(archived_at=None).values_list("language", flat=True))
    return [language for language in LANGUAGES if language not in held]


def make_variant(*, actor: User, dialogue: Dialogue, language: str) -> Dialogue:
    """Create a copy of the dialogue's newest revision in another language, with the id “ID-LANGUAGE”; return it.

    It joins the dialogue's group, which is made if there is none, and enters the first stage of the protocol. The two
    revisions count as matching, so that later changes are found; the texts are still to be translated. Raises Denied,
    Invalid for another language, Conflict if the group has that language, the id is taken or too long, or the dialogue
    is rejected, archived, a gold item or a composite.
    """
    require_administrator(actor=actor, project=dialogue.project)
    return create_variant(actor=actor, dialogue=dialogue, language=language)


def create_variant(
    *,
    actor: User,
    dialogue: Dialogue,
    language: str,
    of: Revision | None = None,
    document: dict[str, Any] | None = None,
    co_authors: frozenset[int] = frozenset(),
) -> Dialogue:
    """Create a variant as ``make_variant`` does, for a caller that has checked the permission.

    ``of``: the revision that was translated, if it is not the newest one, and ``document``: the translation. What has
    changed since that revision is stale in the variant. ``co_authors``: the keys of people who may not review it.
    """
    if language not in LANGUAGES:
        raise Invalid(_("Choose a language: %(languages)s.") % {"languages": ", ".join(LANGUAGES)}, field="language")
    with transaction.atomic():
        # Two dialogues must not choose the same name for their groups.
        Project.objects.select_for_update(no_key=True).get(pk=dialogue.project_id)
        lock_dialogues(Dialogue.objects.filter(pk__in=language_variants(dialogue)))
        source = lock_dialogue(dialogue.pk)
        if source.variant_group != dialogue.variant_group:
            # The group that is locked is not the one that the dialogue is in now.
            raise Conflict(_("This dialogue has joined other variants meanwhile. Reload the page and try again."))
        if language not in variant_languages(source):
            raise Conflict(_refusal(source, language))
        retire_with(actor=actor, dialogue_ids=[source.pk], reason="Another variant of the known answer was made.")
        group = _join(actor, source)
        head = _revision(source, of)
        translated = (document or head.document()) | {"language": language}
        name = f"{source.external_id}-{language}"
        written = _write(actor, source, NewDialogue(name, translated, head.toolset_revision, group, co_authors))
        made = Dialogue.objects.select_related("project", "head").get(pk=written.dialogue_id)
        VariantMatch.objects.create(first=head, second_id=written.revision_id, author=actor)
        append_event(
            actor=actor,
            project=source.project,
            dialogue=made,
            kind="dialogue.variant_made",
            after={"variant": source.external_id, "language": language, "variant_revision": head.public_id},
        )
    return made


def _refusal(source: Dialogue, language: str) -> str:
    if source.gold_role == GoldRole.GOLD:
        return _("%(id)s is a gold item. Make a variant of an ordinary dialogue.") % {"id": source.external_id}
    if source.status == DialogueStatus.REJECTED:
        return _("%(id)s is rejected. Make a variant of a dialogue that may be released.") % {"id": source.external_id}
    if source.archived_at is not None:
        return _("%(id)s is archived. Make a variant of a dialogue in use.") % {"id": source.external_id}
    if source.kind not in _KINDS:
        sentence = _("%(id)s is a composite. Make variants of its single tasks, and draw a composite from these.")
        return sentence % {"id": source.external_id}
    if source.language not in LANGUAGES:
        return _("%(id)s has no language. Set its language first.") % {"id": source.external_id}
    sentence = _("%(id)s already has a variant in this language (%(language)s). Edit that one.")
    return sentence % {"id": source.external_id, "language": language}


def _join(actor: User, source: Dialogue) -> str:
    """Return the group of the dialogue; it gets one if it has none."""
    if source.variant_group:
        return source.variant_group
    group = _free_group(source)
    Dialogue.objects.filter(pk=source.pk).update(variant_group=group)
    append_event(
        actor=actor,
        project=source.project,
        dialogue=source,
        kind="dialogue.joined_variants",
        before={"variant_group": ""},
        after={"variant_group": group},
    )
    return group


def _free_group(source: Dialogue) -> str:
    """Return a name that no group has yet: the id of the dialogue if possible. Raises Conflict if many are in use."""
    name = source.external_id
    names = [name, *(f"{name[: _MAX_ID - 3]}-{number}" for number in range(2, _MAX_GROUPS + 1))]
    there = Dialogue.objects.filter(project=source.project_id, variant_group__in=names)
    used = set(there.values_list("variant_group", flat=True))
    free = next((one for one in names if one not in used), None)
    if free is None:
        sentence = _("Other dialogues use “%(id)s” as the name of their group. Import the variant instead.")
        raise Conflict(sentence % {"id": name})
    return free


def _revision(source: Dialogue, of: Revision | None) -> Revision:
    """Return the revision that the variant is made from."""
    if source.head_id is None:
        raise Conflict(_("This dialogue has no content yet."))
    return Revision.objects.select_related("toolset_revision").get(pk=of.pk if of else source.head_id)


def _write(actor: User, source: Dialogue, new: NewDialogue) -> Written:
    """Store the copy or the translation and begin its review; return its keys."""
    name = new.external_id
    if len(name) > _MAX_ID:
        raise Conflict(_("The id “%(id)s” would be too long. Import the variant with an id of its own.") % {"id": name})
    try:
        with transaction.atomic():
            [written] = add_dialogues(
                actor=actor, project=source.project, dialogues=[new], native_format=source.native_format
            )
    except IntegrityError:
        sentence = _("The project already has a dialogue with the id “%(id)s”. Import the variant with another id.")
        raise Conflict(sentence % {"id": name}) from None
    return written
