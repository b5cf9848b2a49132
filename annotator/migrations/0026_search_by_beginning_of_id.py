"""Dialogues are found by the beginning of their id, whatever its case: see ``annotator.models.search.IdKey``.

Django cannot describe an index with a collation that only one of the databases has. No id is empty: the condition keeps
SQLite from using this index for lists, where others have the order.
"""

from django.db import migrations

_INDEX = (
    "CREATE INDEX dialogue_by_id_key ON annotator_dialogue (project_id, lower(external_id%s)) "
    "WHERE published AND external_id <> ''"
)


def add_index(apps, schema_editor):
    postgresql = schema_editor.connection.vendor == "postgresql"
    schema_editor.execute(_INDEX % (' COLLATE "C"' if postgresql else ""))


def drop_index(apps, schema_editor):
    schema_editor.execute("DROP INDEX dialogue_by_id_key")


class Migration(migrations.Migration):
    dependencies = [("annotator", "0025_own_keys")]

    operations = [migrations.RunPython(add_index, drop_index)]
