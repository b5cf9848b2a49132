"""Conditions by which lists of dialogues are searched, as each database answers them from an index."""

import string
from typing import Any

from django.db import connection
from django.db.models import BooleanField, Func, Q, TextField
from django.db.models.expressions import RawSQL

from annotator.core.search import parse_query, phrases, to_fts5, to_tsquery

_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
#: The last character: every text that begins with X, except X followed by it, is less than X and it.
_LAST = "\U0010ffff"
_FOUND = "SELECT rowid FROM annotator_dialogue_search WHERE annotator_dialogue_search MATCH %s"


class IdKey(Func):
    """An id of a dialogue with small ASCII letters, ordered by its characters whatever the database's language.

    The index ``dialogue_by_id_key`` has it (migration 0026); bare ``lower`` in PostgreSQL depends on the language.
    """

    function = "lower"
    output_field = TextField()

    def as_postgresql(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Any]:
        return self.as_sql(compiler, connection, template='%(function)s(%(expressions)s COLLATE "C")', **context)


def begins_with(text: str) -> Q:
    """Return the condition that the alias ``id_key``, an IdKey, begins with a text, whatever the case of ASCII letters.

    The index has the published dialogues, by project, so ask for both.
    """
    low, high = _range(text)
    # The index says so, too, so that SQLite uses it for nothing else.
    return Q(_condition("annotator_dialogue.external_id <> ''"), id_key__gte=low, id_key__lt=high)


def has_words(query: str) -> list[RawSQL]:
    """Return the conditions that a text has every word of a query; none if there is nothing to search for."""
    terms = parse_query(query)
    if not terms:
        return []
    if connection.vendor == "postgresql":
        has = [_condition("annotator_dialogue.search_vector @@ %s::tsquery", to_tsquery(terms))]
        in_order = "' ' || annotator_dialogue.search_text || ' ' LIKE %s"
        return has + [_condition(in_order, f"% {phrase} %") for phrase in phrases(terms)]
    return [_condition(f"annotator_dialogue.id IN ({_FOUND})", to_fts5(terms))]


def begins_or_has(text: str, project: int) -> Q | None:
    """Return ``begins_with`` or ``has_words`` as one condition on dialogues of a project (its key); None without words.

    In PostgreSQL it needs the alias ``id_key``.
    """
    words = has_words(text)
    if not words:
        return None
    if connection.vendor == "postgresql":
        return begins_with(text) | Q(*words)
    # SQLite would read the whole project for an OR.
    begins = (
        "SELECT id FROM annotator_dialogue WHERE published AND project_id = %s AND external_id <> '' "
        "AND lower(external_id) >= %s AND lower(external_id) < %s"
    )
    found = f"annotator_dialogue.id IN ({begins} UNION ALL {_FOUND})"
    return Q(_condition(found, project, *_range(text), to_fts5(parse_query(text))))


def _range(text: str) -> tuple[str, str]:
    key = text.translate(_LOWER)
    return key, key + _LAST


def _condition(sql: str, *values: Any) -> RawSQL:
    return RawSQL(sql, list(values), output_field=BooleanField())  # noqa: S611 - constant SQL; values are parameters
