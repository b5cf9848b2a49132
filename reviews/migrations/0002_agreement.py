"""Pattern counts of agreement; what has settled before waits to be counted like everything after."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def await_counting(apps: Any, editor: Any) -> None:
    """Put the runs that have settled into the outbox. Undone by dropping the table."""
    runs = apps.get_model("reviews", "StageRun").objects.filter(
        state="settled", blind=True, round=1, cycle__number=1, discrepancy_count__isnull=False
    )
    pending = apps.get_model("reviews", "AgreementPending")
    pending.objects.bulk_create(
        (pending(stage_run_id=key, project_id=project) for key, project in runs.values_list("pk", "project_id")),
        batch_size=500,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0004_compression"),
        ("reviews", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="AgreementPending",
            fields=[
                (
                    "stage_run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="reviews.stagerun",
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
        ),
        migrations.CreateModel(
            name="AgreementCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.CharField(max_length=40)),
                ("label", models.CharField(max_length=20)),
                ("pair", models.CharField(blank=True, max_length=41)),
                ("week", models.DateField()),
                ("pattern", models.CharField(max_length=400)),
                ("count", models.BigIntegerField()),
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
                    models.UniqueConstraint(
                        fields=("project", "stage", "label", "pair", "week", "pattern"), name="agreement_count_once"
                    )
                ],
            },
        ),
        migrations.RunPython(await_counting, migrations.RunPython.noop),
    ]
