"""What is append-only stays as it was written, whoever asks: the database refuses to change it.

Events, and the contents of dialogue revisions, toolset revisions and guidelines. Unsealing is allowed (``sealed``, and
the ``number`` a revision gets with it). PostgreSQL also refuses to delete events of dialogues that people have seen;
SQLite does not, since there emptying a table is nothing but deleting its rows.
"""

from django.db import migrations

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

_POSTGRESQL = [
    "CREATE FUNCTION annotator_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = 'integrity_constraint_violation'; END $$",
    "CREATE FUNCTION annotator_refuse_event_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF OLD.dialogue_id IS NULL OR EXISTS (SELECT FROM annotator_dialogue WHERE id = OLD.dialogue_id AND published) "
    "THEN RAISE EXCEPTION 'annotator_event is append-only' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
    "RETURN OLD; END $$",
    "CREATE TRIGGER annotator_event_kept BEFORE DELETE ON annotator_event FOR EACH ROW "
    "EXECUTE FUNCTION annotator_refuse_event_deletion()",
]
_POSTGRESQL_BACK = [
    "DROP TRIGGER annotator_event_kept ON annotator_event",
    "DROP FUNCTION annotator_refuse_event_deletion()",
    "DROP FUNCTION annotator_refuse_change()",
]


def forwards(apps, schema_editor):
    postgresql = schema_editor.connection.vendor == "postgresql"
    for statement in _POSTGRESQL if postgresql else []:
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


def backwards(apps, schema_editor):
    postgresql = schema_editor.connection.vendor == "postgresql"
    for table in _FIXED:
        schema_editor.execute(f"DROP TRIGGER {table}_append_only{f' ON {table}' if postgresql else ''}")
    for statement in _POSTGRESQL_BACK if postgresql else []:
        schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("annotator", "0002_search")]

    operations = [migrations.RunPython(forwards, backwards)]
