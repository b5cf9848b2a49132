"""A dialogue as a database row: its text, and the columns that lists and filters read. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from annotator.core.coverage import difficulties_of, sequence_of, tally_of
from annotator.core.findings import Finding
from annotator.core.schema.labels import MAX_VALUE, labelled_parts
from annotator.core.search import describe_document

#: Different labels of one dialogue by which it is found.
MAX_TOKENS = 200


@dataclass(slots=True, kw_only=True)
class DialogueRow:
    """A dialogue to be written: its content as canonical text, and the values that lists read."""

    external_id: str
    variant_group: str
    content: str
    content_hash: str
    findings: Sequence[Finding]
    clean_mark: str | None = None
    #: 0 until the key of the stored toolset is known.
    toolset_revision_id: int = 0
    kind: str
    language: str
    title: str
    policies: str
    sequence: str = ""
    topologies: str
    information: str
    topology_tally: str = ""
    information_tally: str = ""
    difficulty_tally: str = ""
    labels: str = ""
    task_count: int
    call_count: int
    switches: int
    search_text: str
    #: Keys and values, see ``annotator.core.metadata``.
    metadata: Sequence[tuple[str, str]] = ()


def listed_columns(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return the columns that are derived from a document, by name."""
    labels = describe_document(document)
    return {
        "kind": document["kind"],
        "language": labels.language or "",
        "title": labels.title,
        "policies": _listed(labels.policies),
        "sequence": sequence_of(labels.policies),
        "topologies": _listed(labels.topologies),
        "information": _listed(labels.information),
        "topology_tally": tally_of(labels.topologies),
        "information_tally": tally_of(labels.information),
        "difficulty_tally": tally_of(difficulties_of(document)),
        "labels": label_tokens(document),
        "task_count": labels.task_count,
        "call_count": labels.call_count,
        "switches": labels.switches,
        "search_text": labels.search_text,
    }


def label_tokens(document: Mapping[str, Any]) -> str:
    """Return the labels of custom fields as lines “key=value”, each once, so that lists can filter by them.

    Numbers and single lines only; long texts and spans are left out.
    """
    tokens: dict[str, None] = {}
    for _, _, part in labelled_parts(dict(document)):
        for key, value in part.get("labels", {}).items():
            for one in value if isinstance(value, list) else [value]:
                if isinstance(one, int) or (isinstance(one, str) and len(one) <= MAX_VALUE and "\n" not in one):
                    tokens[f"{key}={one}"] = None
    listed = list(tokens)[:MAX_TOKENS]
    return "\n" + "\n".join(listed) + "\n" if listed else ""


def _listed(values: Iterable[str | None]) -> str:
    listed = [value or "" for value in values]
    return f",{','.join(listed)}," if listed else ""
