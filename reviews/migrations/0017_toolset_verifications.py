"""Which item a toolset is, and which contents of toolsets were verified, is remembered."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0028_toolset_review"),
        ("reviews", "0016_sensitivity_tests"),
    ]

    operations = [
        migrations.CreateModel(
            name="ToolsetItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviewed_toolsets",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "toolset",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="item", to="annotator.toolset"
                    ),
                ),
            ],
            options={
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="ToolsetVerification",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("content_hash", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.dialogue"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.project",
                    ),
                ),
                (
                    "revision",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.revision"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["project", "content_hash"], name="toolset_verified_by_content")],
            },
        ),
    ]
