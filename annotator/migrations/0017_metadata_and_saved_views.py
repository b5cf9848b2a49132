"""Lists are filtered by the metadata of dialogues; people save views of lists."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotator.models.keys


class Migration(migrations.Migration):
    dependencies = [("annotator", "0016_webhook_claim_indexes")]

    operations = [
        migrations.CreateModel(
            name="DialogueMetadata",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=80)),
                ("value", models.CharField(max_length=200)),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="metadata",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.project",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["project", "key", "value", "dialogue"], name="dialogue_metadata_by_value")
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("dialogue", "key", "value"), name="dialogue_metadata_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("shared", models.BooleanField(default=False)),
                ("name", models.CharField(max_length=80)),
                ("query", models.CharField(blank=True, max_length=2000)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="saved_views",
                        to="annotator.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("shared", False)),
                        fields=("project", "person", "name"),
                        name="saved_view_name_once_per_person",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("shared", True)),
                        fields=("project", "name"),
                        name="shared_view_name_once_per_project",
                    ),
                    models.CheckConstraint(condition=models.Q(("name", ""), _negated=True), name="saved_view_has_name"),
                ],
            },
        ),
    ]
