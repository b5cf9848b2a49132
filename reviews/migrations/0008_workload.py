"""Counts of the work done; what has been reviewed before waits to be counted like everything after."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Exists, OuterRef


def await_counting(apps: Any, editor: Any) -> None:
    """Put the reviews there are into the outbox. Undone by dropping the table."""
    reviews = apps.get_model("reviews", "Review").objects.order_by("pk")
    findings, rulings = apps.get_model("reviews", "ReviewFinding"), apps.get_model("reviews", "Ruling")
    pending = apps.get_model("reviews", "WorkPending")
    of_review = {"review": OuterRef("pk")}
    faulty = reviews.filter(Exists(findings.objects.filter(**of_review)) | Exists(rulings.objects.filter(**of_review)))
    for faults, rows in ((False, reviews), (True, faulty)):
        pending.objects.bulk_create(
            (
                pending(review_id=key, project_id=project, faults=faults)
                for key, project in rows.values_list("pk", "project_id")
            ),
            batch_size=500,
        )


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0006_set_apart"),
        ("reviews", "0007_gold"),
    ]

    operations = [
        migrations.CreateModel(
            name="WorkPending",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("faults", models.BooleanField(db_default=False, default=False)),
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
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.review",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WorkCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("what", models.CharField(max_length=10)),
                ("stage", models.CharField(max_length=40)),
                ("person", models.CharField(blank=True, max_length=12)),
                ("key", models.CharField(max_length=40)),
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
                        fields=("project", "what", "stage", "person", "key"), name="work_count_once"
                    )
                ],
            },
        ),
        migrations.RunPython(await_counting, migrations.RunPython.noop),
    ]
