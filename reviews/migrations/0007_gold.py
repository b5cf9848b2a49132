"""Gold items: how often, which, and how people did."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotator.models.keys


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0006_set_apart"),
        ("reviews", "0006_remarks"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="cursor",
            name="taken",
            field=models.PositiveIntegerField(db_default=0, default=0),
        ),
        migrations.CreateModel(
            name="GoldItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("stage", models.CharField(max_length=40)),
                ("planted", models.BooleanField(default=False)),
                ("faults", models.PositiveIntegerField()),
                ("pool", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("retired_at", models.DateTimeField(null=True)),
                ("retired_why", models.CharField(blank=True, max_length=500)),
                (
                    "answer",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "dialogue",
                    models.OneToOneField(
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
                    "retired_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "stage_run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="reviews.stagerun"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="GoldRate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.CharField(max_length=40)),
                ("rate", models.FloatField()),
                ("secret", models.CharField(max_length=64)),
                ("reveal", models.BooleanField(default=False)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="GoldScore",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("verdict_right", models.BooleanField()),
                ("faults", models.PositiveIntegerField()),
                ("found", models.PositiveIntegerField()),
                ("false_changes", models.PositiveIntegerField()),
                ("places", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="scores", to="reviews.golditem"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
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
                (
                    "review",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="reviews.review"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="golditem",
            index=models.Index(fields=["project", "stage", "-id"], name="gold_item_by_stage"),
        ),
        migrations.AddConstraint(
            model_name="golditem",
            constraint=models.UniqueConstraint(
                condition=models.Q(("retired_at__isnull", True)),
                fields=("source",),
                name="gold_item_one_in_use_per_source",
            ),
        ),
        migrations.AddConstraint(
            model_name="goldrate",
            constraint=models.UniqueConstraint(fields=("project", "stage"), name="gold_rate_once_per_stage"),
        ),
        migrations.AddConstraint(
            model_name="goldrate",
            constraint=models.CheckConstraint(
                condition=models.Q(("rate__gte", 0), ("rate__lte", 0.5)), name="gold_rate_is_a_share"
            ),
        ),
        migrations.AddIndex(
            model_name="goldscore",
            index=models.Index(fields=["project", "person"], name="gold_score_by_person"),
        ),
        migrations.AddConstraint(
            model_name="goldscore",
            constraint=models.UniqueConstraint(fields=("item", "person"), name="gold_score_once_per_person"),
        ),
        migrations.AddConstraint(
            model_name="goldscore",
            constraint=models.CheckConstraint(
                condition=models.Q(("found__lte", models.F("faults"))), name="gold_score_finds_what_is_there"
            ),
        ),
    ]
