"""Full-text search over ``search_text``, which holds ready tokens (words, and bigrams of Chinese).

PostgreSQL gets a generated tsvector column with a GIN index, SQLite an FTS5 table kept by triggers. Django does not
know of either; ``DialogueQuerySet.matching`` asks them. The tokens need no parser, so PostgreSQL only casts them, and
it indexes them once: when a dialogue is published.
"""

from django.db import migrations

_POSTGRESQL = [
    "ALTER TABLE annotator_dialogue ADD COLUMN search_vector tsvector "
    "GENERATED ALWAYS AS (search_text::tsvector) STORED",
    "CREATE INDEX dialogue_search ON annotator_dialogue USING gin (search_vector) WHERE published",
]
_POSTGRESQL_BACK = ["ALTER TABLE annotator_dialogue DROP COLUMN search_vector"]

_SQLITE = [
    "CREATE VIRTUAL TABLE annotator_dialogue_search USING fts5("
    "search_text, content='annotator_dialogue', content_rowid='id', tokenize='unicode61 remove_diacritics 0')",
    "CREATE TRIGGER annotator_dialogue_search_insert AFTER INSERT ON annotator_dialogue BEGIN "
    "INSERT INTO annotator_dialogue_search(rowid, search_text) VALUES (new.id, new.search_text); END",
    "CREATE TRIGGER annotator_dialogue_search_delete AFTER DELETE ON annotator_dialogue BEGIN "
    "INSERT INTO annotator_dialogue_search(annotator_dialogue_search, rowid, search_text) "
    "VALUES ('delete', old.id, old.search_text); END",
    "CREATE TRIGGER annotator_dialogue_search_update AFTER UPDATE OF search_text ON annotator_dialogue BEGIN "
    "INSERT INTO annotator_dialogue_search(annotator_dialogue_search, rowid, search_text) "
    "VALUES ('delete', old.id, old.search_text); "
    "INSERT INTO annotator_dialogue_search(rowid, search_text) VALUES (new.id, new.search_text); END",
    "INSERT INTO annotator_dialogue_search(annotator_dialogue_search) VALUES ('rebuild')",
]
_SQLITE_BACK = [
    "DROP TRIGGER annotator_dialogue_search_update",
    "DROP TRIGGER annotator_dialogue_search_delete",
    "DROP TRIGGER annotator_dialogue_search_insert",
    "DROP TABLE annotator_dialogue_search",
]


def forwards(apps, schema_editor):
    statements = _POSTGRESQL if schema_editor.connection.vendor == "postgresql" else _SQLITE
    for statement in statements:
        schema_editor.execute(statement)


def backwards(apps, schema_editor):
    statements = _POSTGRESQL_BACK if schema_editor.connection.vendor == "postgresql" else _SQLITE_BACK
    for statement in statements:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("annotator", "0001_initial")]

    operations = [migrations.RunPython(forwards, backwards)]
