"""Tries to sign in are counted in the database, by name and address."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0012_dialogues_with_findings"),
    ]

    operations = [
        migrations.CreateModel(
            name="Attempts",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=64, unique=True)),
                ("count", models.PositiveIntegerField(default=0)),
                ("last_at", models.DateTimeField(db_index=True)),
                ("free_at", models.DateTimeField()),
            ],
        ),
    ]
