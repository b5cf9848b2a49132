"""The lines of imported records, compressed as contents are: see annotator 0004."""

import django.db.models.deletion
from django.db import migrations, models


def compress(apps, schema_editor):
    if schema_editor.connection.vendor != "postgresql":
        return
    with schema_editor.connection.cursor() as cursor:
        # PostgreSQL may have been built without it.
        cursor.execute("SELECT 'lz4' = ANY(enumvals) FROM pg_settings WHERE name = 'default_toast_compression'")
        row = cursor.fetchone()
    if row is not None and row[0]:
        schema_editor.execute("ALTER TABLE benchmark_nativeline ALTER COLUMN text SET COMPRESSION lz4")


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0015_lists_by_time"),
        ("benchmark", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="NativeLine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("native_format", models.CharField(max_length=12)),
                ("text", models.TextField()),
                (
                    "revision",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotator.revision"
                    ),
                ),
            ],
        ),
        migrations.RunPython(compress, migrations.RunPython.noop),
    ]
