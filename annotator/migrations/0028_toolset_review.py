"""A project may name the project in which its toolsets are reviewed."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0027_curated_toolsets"),
    ]

    operations = [
        migrations.AddField(
            model_name="project",
            name="toolset_review",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="annotator.project",
            ),
        ),
    ]
