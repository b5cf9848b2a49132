"""The lines of imported records are compressed as contents are."""

from importlib import import_module

from django.db import migrations

_annotator = import_module("annotator.migrations.0002_search_append_only_compression")


def compress(apps, schema_editor):
    _annotator.compress_by_lz4(schema_editor, [("benchmark_nativeline", "text")])


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0002_search_append_only_compression"),
        ("benchmark", "0001_initial"),
    ]

    operations = [migrations.RunPython(compress, migrations.RunPython.noop)]
