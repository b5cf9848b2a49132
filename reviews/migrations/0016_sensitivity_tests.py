"""Tests of the sensitivity of audits."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotator.models.keys


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0026_search_by_beginning_of_id"),
        ("reviews", "0015_count_agreement_by_dialogue"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SensitivityTest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("stage", models.CharField(max_length=40)),
                ("known", models.PositiveIntegerField()),
                ("found", models.PositiveIntegerField()),
                ("note", models.CharField(blank=True, max_length=500)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("withdrawn_at", models.DateTimeField(null=True)),
                (
                    "actor",
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
                "indexes": [models.Index(fields=["project", "stage"], name="sensitivity_test_by_stage")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("found__lte", models.F("known")), ("known__gte", 1), ("known__lte", 100000)
                        ),
                        name="sensitivity_test_possible",
                    )
                ],
            },
        ),
    ]
