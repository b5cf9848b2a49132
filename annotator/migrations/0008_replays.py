"""Trajectories run through the code of a case's tools."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotator.models.keys


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0007_validator_trials"),
    ]

    operations = [
        migrations.CreateModel(
            name="Replay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("key", models.CharField(max_length=64)),
                ("pasted", models.JSONField(null=True)),
                ("record", models.JSONField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replays",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "draft",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.draft",
                    ),
                ),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="replay", to="annotator.job"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replays",
                        to="annotator.project",
                    ),
                ),
                (
                    "requester",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["dialogue", "key", "-id"], name="replay_by_content"),
                    models.Index(fields=["requester", "dialogue", "-id"], name="replay_by_person"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("draft__isnull", False), ("revision", None)),
                            models.Q(("draft", None), ("revision__isnull", False)),
                            _connector="OR",
                        ),
                        name="replay_of_revision_or_draft",
                    )
                ],
            },
        ),
    ]
