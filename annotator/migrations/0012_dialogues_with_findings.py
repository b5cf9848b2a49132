"""Lists of dialogues with errors, or with warnings, find them without walking past all others."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0011_kind"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="dialogue",
            index=models.Index(
                condition=models.Q(("error_count__gt", 0), ("published", True)),
                fields=["project", "id"],
                name="dialogue_with_errors",
            ),
        ),
        migrations.AddIndex(
            model_name="dialogue",
            index=models.Index(
                condition=models.Q(("published", True), ("warning_count__gt", 0)),
                fields=["project", "id"],
                name="dialogue_with_warnings",
            ),
        ),
    ]
