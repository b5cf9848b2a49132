"""Two language variants side by side: what does not agree, what is stale, and findings about both.

Findings are not stored, because they follow from the newest revisions of two dialogues.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db.models import prefetch_related_objects
from django.utils.translation import gettext as _

from annotator.core.comparison.anchors import Document
from annotator.core.comparison.variant_staleness import Stale, is_copy, stale_places
from annotator.core.comparison.variant_values import Comparison, compare_variants, untranslated
from annotator.errors import Hidden
from annotator.models import Dialogue, Finding, Revision, User, VariantMatch
from annotator.services.dialogues.variants import Variant, variants_of

CHECK = "dialogue.variant"
UNTRANSLATED = "dialogue.untranslated"
#: Findings about texts of one dialogue; more would tell nothing new.
_MAX_FINDINGS = 100
#: Revisions that are read to find out which variant changed last at a place.
_MAX_LATER = 30


@dataclass(frozen=True, slots=True)
class SideBySide:
    """A dialogue and one of its variants: their newest revisions, the dialogue first.

    ``matched``: the revisions that were last found to say the same; None if one of them has none. ``stale``: blank if
    the two agree.
    """

    dialogue: Dialogue
    variant: Variant
    heads: tuple[Revision, Revision]
    comparison: Comparison
    matched: tuple[Revision, Revision] | None
    stale: list[Stale]

    @property
    def documents(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the content of both."""
        return self.heads[0].document(), self.heads[1].document()


def compare_with_variant(*, actor: User, dialogue: Dialogue, other: str) -> SideBySide:
    """Compare the newest revisions of a dialogue and a variant with the public id ``other``. Raises Hidden."""
    variants = variants_of(actor=actor, dialogue=dialogue)
    variant = next((one for one in variants if one.dialogue.public_id == other), None)
    if variant is None:
        raise Hidden(_("This variant doesn’t exist."))
    heads = _with_tools(dialogue), _with_tools(variant.dialogue)
    matched = last_match(dialogue, variant.dialogue)
    stale: list[Stale] = []
    if matched is not None and variant.why:
        then = matched[0].document(), matched[1].document()
        copy = int(dialogue.pk < variant.dialogue.pk) if is_copy(*then) else None
        now = heads[0].document(), heads[1].document()
        later = _later(matched[0], heads[0]), _later(matched[1], heads[1])
        stale = stale_places(then, now, copy=copy, later=later if all(later) else ((), ()))
    return SideBySide(dialogue, variant, heads, _compared(*heads), matched, stale)


def last_match(one: Dialogue, other: Dialogue) -> tuple[Revision, Revision] | None:
    """Return the revisions of both that were last found to say the same: confirmed, imported together, or the first
    ones. None if one dialogue has no revision that others may see.
    """
    held: list[dict[int, Revision]] = [{}, {}]
    rows = Revision.objects.filter(dialogue__in=[one, other], sealed=False).defer("content").order_by("pk")
    for row in rows:
        held[row.dialogue_id == other.pk][row.pk] = row
    if not (held[0] and held[1]):
        return None
    # {import: its last revision} of each.
    imported = [{row.batch_id: row.pk for row in found.values() if row.batch_id is not None} for found in held]
    pairs = [(imported[0][batch], imported[1][batch]) for batch in imported[0].keys() & imported[1].keys()]
    confirmed = VariantMatch.objects.filter(first__dialogue__in=[one, other], second__dialogue__in=[one, other])
    for first, second in confirmed.values_list("first", "second"):
        pairs.append((first, second) if first in held[0] else (second, first))
    pairs = [pair for pair in pairs if pair[0] in held[0] and pair[1] in held[1]] or [(min(held[0]), min(held[1]))]
    mine, theirs = max(pairs, key=max)
    return held[0][mine], held[1][theirs]


def _later(matched: Revision, head: Revision) -> list[tuple[int, Document]]:
    """Return the main branch after the revision that matched, up to the newest one: (key, content) in order.

    Of more than _MAX_LATER, the last ones; what changed before them counts as changed in the first of these.
    """
    rows = Revision.objects.filter(dialogue=head.dialogue_id, branch=head.branch, sealed=False)
    last = rows.filter(pk__gt=matched.pk, pk__lte=head.pk).order_by("-pk")[:_MAX_LATER]
    return [(row.pk, row.document()) for row in reversed(last)]


def variant_findings(*, actor: User, dialogue: Dialogue) -> list[Finding]:
    """Return unsaved findings: about variants, visible to the actor, that do not agree with the dialogue, and about its
    texts that are not translated yet.
    """
    variants = variants_of(actor=actor, dialogue=dialogue)
    return [*_disagreements(dialogue, variants), *_untranslated(dialogue, variants)]


def untranslated_findings(
    *, dialogue: Dialogue, variants: list[Variant], document: Document | None = None, severity: str = "warning"
) -> list[Finding]:
    """Return unsaved findings about the dialogue's texts that are not translated yet, given its visible variants.

    ``document``: a draft of it, instead of its newest revision.
    """
    return list(_untranslated(dialogue, variants, document, severity))


def _disagreements(dialogue: Dialogue, variants: list[Variant]) -> Iterator[Finding]:
    for one in variants:
        if one.why:
            yield Finding(
                dialogue=dialogue, revision=dialogue.head, check_id=CHECK, severity="warning", message=one.why[:1000]
            )


def _untranslated(
    dialogue: Dialogue, variants: list[Variant], document: Document | None = None, severity: str = "warning"
) -> Iterator[Finding]:
    mine = dialogue.head
    others = (
        [one for one in variants if one.dialogue.language not in ("", dialogue.language)] if dialogue.language else []
    )
    prefetch_related_objects([one.dialogue for one in others], "head__toolset_revision")
    for variant in others:
        theirs = variant.dialogue.head
        if mine is None or theirs is None:
            continue
        sentence = _("This text is the same as in the language variant %(variant)s. Translate it.")
        message = sentence % {"variant": variant.dialogue.external_id}
        for anchor in untranslated(_compared(mine, theirs, document), 0)[:_MAX_FINDINGS]:
            yield Finding(
                dialogue=dialogue,
                revision=mine,
                check_id=UNTRANSLATED,
                severity=severity,
                anchor=anchor,
                message=message[:1000],
            )


def _with_tools(dialogue: Dialogue) -> Revision:
    if dialogue.head_id is None:
        raise Hidden(_("This dialogue has no content yet."))
    return Revision.objects.select_related("toolset_revision").get(pk=dialogue.head_id)


def _compared(one: Revision, other: Revision, draft: Document | None = None) -> Comparison:
    """Compare two revisions; ``draft``: the content of the first one instead."""
    return compare_variants(
        draft or one.document(), other.document(), one.toolset_revision.tools(), other.toolset_revision.tools()
    )
