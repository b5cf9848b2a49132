"""Contents are compressed by lz4 where PostgreSQL has it: a tenth of the default's cost, and imports live on it."""

from django.db import migrations

_COLUMNS = (
    ("annotator_revision", "content"),
    ("annotator_toolsetrevision", "content"),
    ("annotator_dialogue", "search_text"),
    ("annotator_dialogue", "search_vector"),
)


def _compress(schema_editor, method):
    if schema_editor.connection.vendor == "postgresql":
        for table, column in _COLUMNS:
            schema_editor.execute(f"ALTER TABLE {table} ALTER COLUMN {column} SET COMPRESSION {method}")


def forwards(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        # PostgreSQL may have been built without it.
        cursor.execute("SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'")
        row = cursor.fetchone()
    if row is not None and row[0]:
        _compress(schema_editor, "lz4")


def backwards(apps, schema_editor):
    _compress(schema_editor, "default")


class Migration(migrations.Migration):
    dependencies = [("annotator", "0003_append_only")]

    operations = [migrations.RunPython(forwards, backwards)]
