"""What Django cannot describe: the search index, the rows that are append-only, and how contents are compressed.

Search goes over ``search_text``, which holds ready tokens (words, and bigrams of Chinese). PostgreSQL gets a generated
tsvector column with a GIN index, SQLite an FTS5 table kept by triggers; ``DialogueQuerySet.matching`` asks them. The
tokens need no parser, so PostgreSQL only casts them, and it indexes them once: when a dialogue is published.

Append-only are events, and the contents of dialogue revisions, toolset revisions and guidelines: the database refuses
to change them. Unsealing is allowed (``sealed``, and the ``number`` a revision gets with it). PostgreSQL also refuses
to delete events of dialogues that people have seen; SQLite does not, since there emptying a table is nothing but
deleting its rows.

Contents are compressed by lz4 where PostgreSQL has it: a tenth of the default's cost, and imports live on it.
"""

from django.db import migrations

_SEARCH_POSTGRESQL = [
    "ALTER TABLE annotator_dialogue ADD COLUMN search_vector tsvector "
    "GENERATED ALWAYS AS (search_text::tsvector) STORED",
    "CREATE INDEX dialogue_search ON annotator_dialogue USING gin (search_vector) WHERE published",
]
_SEARCH_POSTGRESQL_BACK = ["ALTER TABLE annotator_dialogue DROP COLUMN search_vector"]

_SEARCH_SQLITE = [
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
_SEARCH_SQLITE_BACK = [
    "DROP TRIGGER annotator_dialogue_search_update",
    "DROP TRIGGER annotator_dialogue_search_delete",
    "DROP TRIGGER annotator_dialogue_search_insert",
    "DROP TABLE annotator_dialogue_search",
]

_FIXED = {
    "annotator_event": (
        "project_id", "dialogue_id", "number", "actor_id", "kind", "before", "after", "created_at", "previous_hash",
        "hash",
    ),
    "annotator_revision": (
        "public_id", "dialogue_id", "parent_id", "branch", "author_id", "message", "toolset_revision_id",
        "guideline_id", "content_hash", "created_at", "content",
    ),
    "annotator_toolsetrevision": ("toolset_id", "project_id", "number", "content_hash", "content"),
    "annotator_guideline": ("project_id", "number", "text", "author_id", "created_at"),
}  # fmt: skip
_APPEND_ONLY_POSTGRESQL = [
    "CREATE FUNCTION annotator_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation'; END $$",
    "CREATE FUNCTION annotator_refuse_event_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF OLD.dialogue_id IS NULL OR EXISTS (SELECT FROM annotator_dialogue WHERE id = OLD.dialogue_id AND published) "
    "THEN RAISE EXCEPTION 'annotator_event is append-only' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
    "RETURN OLD; END $$",
    "CREATE TRIGGER annotator_event_kept BEFORE DELETE ON annotator_event FOR EACH ROW "
    "EXECUTE FUNCTION annotator_refuse_event_deletion()",
]
_APPEND_ONLY_POSTGRESQL_BACK = [
    "DROP TRIGGER annotator_event_kept ON annotator_event",
    "DROP FUNCTION annotator_refuse_event_deletion()",
    "DROP FUNCTION annotator_refuse_change()",
]

_COMPRESSED = (
    ("annotator_revision", "content"),
    ("annotator_toolsetrevision", "content"),
    ("annotator_dialogue", "search_text"),
    ("annotator_dialogue", "search_vector"),
)


def add_search(apps, schema_editor):
    for statement in _SEARCH_POSTGRESQL if schema_editor.connection.vendor == "postgresql" else _SEARCH_SQLITE:
        schema_editor.execute(statement)


def drop_search(apps, schema_editor):
    postgresql = schema_editor.connection.vendor == "postgresql"
    for statement in _SEARCH_POSTGRESQL_BACK if postgresql else _SEARCH_SQLITE_BACK:
        schema_editor.execute(statement)


def refuse_changes(apps, schema_editor):
    postgresql = schema_editor.connection.vendor == "postgresql"
    for statement in _APPEND_ONLY_POSTGRESQL if postgresql else []:
        schema_editor.execute(statement, params=None)
    for table, columns in _FIXED.items():
        if postgresql:
            old, new = (", ".join(f'{row}."{column}"' for column in columns) for row in ("OLD", "NEW"))
            schema_editor.execute(
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE ON {table} FOR EACH ROW "
                f"WHEN (({old}) IS DISTINCT FROM ({new})) EXECUTE FUNCTION annotator_refuse_change()"
            )
        else:
            changed = " OR ".join(f'OLD."{column}" IS NOT NEW."{column}"' for column in columns)
            schema_editor.execute(
                f"CREATE TRIGGER {table}_append_only BEFORE UPDATE ON {table} WHEN {changed} BEGIN "
                f"SELECT RAISE(ABORT, '{table} is append-only'); END"
            )


def allow_changes(apps, schema_editor):
    postgresql = schema_editor.connection.vendor == "postgresql"
    for table in _FIXED:
        schema_editor.execute(f"DROP TRIGGER {table}_append_only{f' ON {table}' if postgresql else ''}")
    for statement in _APPEND_ONLY_POSTGRESQL_BACK if postgresql else []:
        schema_editor.execute(statement)


def compress(apps, schema_editor):
    compress_by_lz4(schema_editor, _COMPRESSED)


def compress_by_lz4(schema_editor, columns):
    """Compress what is written from now on into these columns, each (table, name); benchmark's migrations ask too."""
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        # PostgreSQL may have been built without it.
        cursor.execute("SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'")
        row = cursor.fetchone()
    if row is None or not row[0]:
        return
    for table, column in columns:
        schema_editor.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET COMPRESSION lz4")


class Migration(migrations.Migration):
    dependencies = [("annotator", "0001_initial")]

    operations = [
        migrations.RunPython(add_search, drop_search),
        migrations.RunPython(refuse_changes, allow_changes),
        # What is compressed is read either way: nothing to undo.
        migrations.RunPython(compress, migrations.RunPython.noop),
    ]
