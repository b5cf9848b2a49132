"""Training: settings, people's standing, results, and the place of gold items in it."""

import django.db.models.deletion
import django.db.models.manager
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone


def retire_training(apps, schema_editor):
    """Take the items of trainings out of use: earlier code would mix them into people's work."""
    items = apps.get_model("reviews", "GoldItem")._default_manager.filter(training_place__isnull=False, retired_at=None)
    items.update(retired_at=timezone.now())
    schema_editor.connection.check_constraints()


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0022_acceptance_and_tour"),
        ("reviews", "0010_skipped_claims"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AlterModelManagers(
            name="golditem",
            managers=[
                ("every", django.db.models.manager.Manager()),
            ],
        ),
        migrations.AddField(
            model_name="golditem",
            name="training_place",
            field=models.PositiveSmallIntegerField(null=True),
        ),
        migrations.RunPython(migrations.RunPython.noop, retire_training),
        migrations.CreateModel(
            name="Trainee",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("training", "Needs training"),
                            ("passed", "Passed"),
                            ("failed", "Failed"),
                            ("exempt", "Exempt"),
                        ],
                        default="training",
                        max_length=10,
                    ),
                ),
                ("attempt", models.PositiveSmallIntegerField(default=1)),
                ("first_attempt", models.PositiveSmallIntegerField(default=1)),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
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
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "person"), name="trainee_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["training", "passed", "failed", "exempt"])),
                        name="trainee_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("attempt__gte", models.F("first_attempt")), ("first_attempt__gte", 1)),
                        name="trainee_attempts_in_order",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Training",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.CharField(max_length=40)),
                ("length", models.PositiveSmallIntegerField()),
                ("pass_mark", models.PositiveSmallIntegerField()),
                ("attempts", models.PositiveSmallIntegerField(default=2)),
                ("enabled", models.BooleanField(default=False)),
                (
                    "project",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.project"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("attempts__gte", 1), ("pass_mark__gte", 1), ("pass_mark__lte", models.F("length"))
                        ),
                        name="training_can_be_passed",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="TrainingResult",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("attempt", models.PositiveSmallIntegerField()),
                ("right", models.BooleanField()),
                ("verdict_right", models.BooleanField()),
                ("errors", models.PositiveIntegerField()),
                ("found", models.PositiveIntegerField()),
                ("false_changes", models.PositiveIntegerField()),
                ("places", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="training_results",
                        to="reviews.golditem",
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
            options={
                "indexes": [models.Index(fields=["project", "person", "attempt"], name="training_result_by_person")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("item", "person", "attempt"), name="training_result_once_per_attempt"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("found__lte", models.F("errors"))),
                        name="training_result_finds_what_is_there",
                    ),
                ],
            },
        ),
    ]
