"""The metadata of dialogues that lists show and filter by."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from django.db import connection
from django.utils.translation import gettext as _

from annotator.core.metadata import MAX_KEY, MAX_VALUE, metadata_entries
from annotator.models import Dialogue, DialogueMetadata, Project
from annotator.services.database.filters import UnknownFilter

#: Keys of a project that a page offers as columns.
MAX_OFFERED = 60


def remember_metadata(dialogue: Dialogue, document: Mapping[str, Any]) -> None:
    """Store the metadata of a dialogue's head. The caller holds the dialogue's row lock."""
    wanted = dict.fromkeys(metadata_entries(document))
    outdated = []
    for row in DialogueMetadata.objects.filter(dialogue=dialogue):
        if (row.key, row.value) in wanted:
            del wanted[row.key, row.value]
        else:
            outdated.append(row.pk)
    if outdated:
        DialogueMetadata.objects.filter(pk__in=outdated).delete()
    if wanted:
        DialogueMetadata.objects.bulk_create(
            DialogueMetadata(dialogue=dialogue, project_id=dialogue.project_id, key=key, value=value)
            for key, value in wanted
        )


def metadata_filter(query: Mapping[str, Any]) -> str:
    """Return the filter ``meta`` of a query string, “key=value”. Raises UnknownFilter unless it has both."""
    raw = str(query.get("meta", ""))
    key, equals, value = raw.partition("=")
    if not raw.strip():
        return ""
    if not (key and equals and value) or "\x00" in raw or len(key) > MAX_KEY or len(value) > MAX_VALUE:
        sentence = _("“meta” can’t be “%(value)s”. Use a key and its value, like source=web.")
        raise UnknownFilter(sentence % {"value": raw.replace("\x00", "")[:40]}, ["meta"])
    return raw


def metadata_keys(project: Project) -> list[str]:
    """Return the keys of a project's metadata in order, at most MAX_OFFERED."""
    # The ORM can only read every row to find the different keys; this reads one row for each key, from the index.
    table = connection.ops.quote_name(DialogueMetadata._meta.db_table)
    statement = (
        f"WITH RECURSIVE keys(key, number) AS (SELECT (SELECT MIN(key) FROM {table} WHERE project_id = %s), 1 "  # noqa: S608
        f"UNION ALL SELECT (SELECT MIN(key) FROM {table} WHERE project_id = %s AND key > keys.key), number + 1 "
        "FROM keys WHERE key IS NOT NULL AND number < %s) SELECT key FROM keys WHERE key IS NOT NULL"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [project.pk, project.pk, MAX_OFFERED])
        return [key for (key,) in cursor.fetchall()]


def metadata_of(dialogues: Sequence[int], keys: Iterable[str] | None = None) -> dict[int, dict[str, list[str]]]:
    """Return the metadata of dialogues: {dialogue: {key: values}}; only these keys, or all."""
    rows = DialogueMetadata.objects.filter(dialogue__in=dialogues)
    if keys is not None:
        rows = rows.filter(key__in=list(keys))
    found: dict[int, dict[str, list[str]]] = defaultdict(dict)
    for dialogue, key, value in rows.order_by("pk").values_list("dialogue_id", "key", "value"):
        found[dialogue].setdefault(key, []).append(value)
    return found
