"""Say before an import which new dialogues nearly repeat dialogues of the project, so that no time is spent on them.

After an import, a job of its own finds them, also within the file (``benchmark/services/similarity``).
"""

from collections.abc import Sequence

from annotator.core.checks import near_duplicate_finding
from annotator.core.checks.similarity import dialogue_text
from annotator.core.schema import load_text
from annotator.models import Dialogue, Project
from annotator.services.dialogues.revisions import check_settings
from benchmark.services.imports.outcome import Outcome
from benchmark.services.imports.preparing import PreparedRecord
from benchmark.services.imports.report import Note
from benchmark.services.similarity.pairs import Match, matches_of
from benchmark.services.similarity.settings import threshold_of


def repeats_of_sample(project: Project, texts: Sequence[tuple[str, str]]) -> list[tuple[str, str, int]]:
    """Return (id, id of the dialogue that it repeats, overlap in percent) for new dialogues, given (id, text)."""
    known = Dialogue.objects.filter(project=project, external_id__in={name for name, _ in texts})
    there = set(known.values_list("external_id", flat=True))
    new = [(name, text) for name, text in texts if name not in there]
    best = _best(project, [text for _, text in new])
    names = _names(best)
    return [
        (name, names[match[0]], match[1].percent)
        for (name, _), match in zip(new, best, strict=True)
        if match is not None
    ]


def note_repeats(project: Project, records: Sequence[PreparedRecord | Note], outcome: Outcome) -> None:
    """Add the finding that the search after the import would have to each new dialogue of a dry run."""
    documents = [load_text(dialogue.content) for dialogue in outcome.new]
    best = _best(project, [dialogue_text(document) for document in documents])
    names, settings = _names(best), check_settings(project)
    record_of = {
        id(one): record for record in records if isinstance(record, PreparedRecord) for one in record.dialogues
    }
    for dialogue, document, match in zip(outcome.new, documents, best, strict=True):
        if match is None:
            continue
        found = near_duplicate_finding(document, names[match[0]], match[1], settings=settings)
        if found is not None:
            outcome.note(record_of[id(dialogue)], "", found.check, found.severity, found.message, dialogue=dialogue)


def _best(project: Project, texts: Sequence[str]) -> list[Match | None]:
    threshold = threshold_of(project)
    return [found[0] if found and found[0][1].percent >= threshold else None for found in matches_of(project.pk, texts)]


def _names(matches: Sequence[Match | None]) -> dict[int, str]:
    others = Dialogue.objects.filter(pk__in={match[0] for match in matches if match is not None})
    return dict(others.values_list("pk", "external_id"))
