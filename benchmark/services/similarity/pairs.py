"""Compare dialogues, and store their bands and the pairs that are alike.

A dialogue is compared with those that share a band. At most ``MAX_IN_BAND`` dialogues are stored with one band, so the
work is bounded even if thousands say the same.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence

from django.db.models import Q

from annotator.core.checks.similarity import Likeness, Traits, bands, compare, dialogue_text, traits_of
from annotator.models import Dialogue
from annotator.services.database import bulk_insert
from benchmark.models import SimilarityBand, SimilarPair

#: The number of dialogues that one is compared with: the same text first, then those that share the most bands. If a
#: template was used a thousand times, a few are enough.
MAX_CANDIDATES = 16
#: The number of dialogues that are stored with one band, and read of it.
MAX_IN_BAND = 64
#: The pairs of a dialogue that are stored: the most alike, from the lowest threshold on that can be chosen.
MAX_PAIRS, LOWEST = 4, 50

#: Sharing the band of the whole text counts more than sharing all others.
_WHOLE = 1000
_KINDS = ("same", "values", "overlap")
#: The key of another dialogue, and how alike it is.
Match = tuple[int, Likeness]


def text_of(dialogue: Dialogue) -> str:
    """Return the text of a dialogue that is compared; blank without content."""
    return dialogue_text(dialogue.head.document()) if dialogue.head is not None else ""


def store_pairs(project_id: int, texts: Mapping[int, str], *, again: bool = False) -> dict[int, list[Match]]:
    """Compare these dialogues (key → text) with those stored, store them too, and return the matches of each.

    ``again``: all dialogues of the project are compared again, in the order of their keys, each with those before it.
    Otherwise these have come in last. The best match is first, and the earlier of two that are equally good.
    """
    own = {pk: found for pk, text in texts.items() if (found := traits_of(text)) is not None}
    own_bands = {pk: bands(found) for pk, found in own.items()}
    SimilarityBand.objects.filter(dialogue__in=texts).delete()
    outdated = Q(dialogue__in=texts) if again else Q(dialogue__in=texts) | Q(other__in=texts)
    SimilarPair.objects.filter(outdated).delete()
    wanted = {band for found in own_bands.values() for band in found}
    stored = _in_bands(project_id, wanted, before=min(texts, default=0) if again else None)
    rows: list[tuple[int, int]] = []
    candidates: dict[int, list[int]] = {}
    for pk, signature in own_bands.items():
        candidates[pk] = _candidates(signature, stored)
        for band in signature:
            if len(stored[band]) < MAX_IN_BAND:
                stored[band].append(pk)
                rows.append((pk, band))
    matches = _matches(own, candidates)
    constants = {"project_id": project_id}
    bulk_insert.insert_rows(SimilarityBand, ("dialogue_id", "band"), rows, constants=constants)
    pairs = [(pk, other, one.percent, one.kind) for pk, found in matches.items() for other, one in found]
    bulk_insert.insert_rows(SimilarPair, ("dialogue_id", "other_id", "percent", "kind"), pairs, constants=constants)
    return matches


def matches_of(project_id: int, texts: Sequence[str]) -> list[list[Match]]:
    """Return the matches of each text with the dialogues stored, the best first; stores nothing."""
    # Dialogues have keys from 1 on.
    own = {-place: found for place, text in enumerate(texts) if (found := traits_of(text)) is not None}
    own_bands = {key: bands(found) for key, found in own.items()}
    stored = _in_bands(project_id, {band for found in own_bands.values() for band in found})
    matches = _matches(own, {key: _candidates(found, stored) for key, found in own_bands.items()})
    return [matches.get(-place, []) for place in range(len(texts))]


def matches_among(project_id: int, text: str, among: Q) -> list[Match]:
    """Return the matches of a text with those stored dialogues that fulfil a condition; stores nothing."""
    own = traits_of(text)
    if own is None:
        return []
    found = bands(own)
    stored = _in_bands(project_id, set(found))
    known = set(
        Dialogue.objects.filter(among, pk__in={pk for keys in stored.values() for pk in keys}).values_list(
            "pk", flat=True
        )
    )
    narrowed = {band: [pk for pk in keys if pk in known] for band, keys in stored.items()}
    return _matches({0: own}, {0: _candidates(found, defaultdict(list, narrowed))})[0]


def _candidates(found: list[int], stored: Mapping[int, list[int]]) -> list[int]:
    shared: Counter[int] = Counter()
    for place, band in enumerate(found):
        for other in stored[band]:
            shared[other] += 1 if place else _WHOLE
    return [other for other, _ in shared.most_common(MAX_CANDIDATES)]


def _matches(own: Mapping[int, Traits], candidates: Mapping[int, list[int]]) -> dict[int, list[Match]]:
    """Compare each text with its candidates. Only the traits of ``own`` and of one more are in memory at a time."""
    wanted_by: dict[int, list[int]] = defaultdict(list)
    for pk, others in candidates.items():
        for other in others:
            wanted_by[other].append(pk)
    out: dict[int, list[Match]] = {pk: [] for pk in candidates}
    for other, traits in _traits_of(wanted_by, own):
        for pk in wanted_by[other]:
            likeness = compare(own[pk], traits)
            if likeness.percent >= LOWEST:
                out[pk].append((other, likeness))
    return {pk: sorted(found, key=_best_first)[:MAX_PAIRS] for pk, found in out.items()}


def _traits_of(pks: Iterable[int], known: Mapping[int, Traits]) -> Iterator[tuple[int, Traits]]:
    yield from ((pk, known[pk]) for pk in pks if pk in known)
    rows = Dialogue.objects.filter(pk__in=[pk for pk in pks if pk not in known]).select_related("head")
    # Few at a time: their contents may be large, and most of it is not kept.
    for dialogue in rows.defer("search_text").iterator(chunk_size=20):
        if (traits := traits_of(text_of(dialogue))) is not None:
            yield dialogue.pk, traits


def _best_first(match: Match) -> tuple[int, int, int]:
    other, likeness = match
    return -likeness.percent, _KINDS.index(likeness.kind), other


def _in_bands(project_id: int, wanted: set[int], *, before: int | None = None) -> dict[int, list[int]]:
    """Return band → the dialogues stored with it, those with the smallest keys first."""
    stored: dict[int, list[int]] = defaultdict(list)
    rows = SimilarityBand.objects.filter(project=project_id, band__in=wanted, dialogue__archived_at=None)
    if before is not None:
        rows = rows.filter(dialogue__lt=before)
    for band, dialogue_id in rows.order_by("dialogue_id").values_list("band", "dialogue_id").iterator():
        if len(stored[band]) < MAX_IN_BAND:
            stored[band].append(dialogue_id)
    return stored
