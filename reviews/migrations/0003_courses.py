"""Counts of accuracy; what has ended before waits to be counted like everything after. What cannot be counted says why."""

from typing import Any

import django.db.models.deletion
from django.db import migrations, models


def await_counting(apps: Any, editor: Any) -> None:
    """Put the dialogues that have come to an end into the outbox. Undone by dropping the table."""
    cycles = apps.get_model("reviews", "Cycle").objects.filter(state__in=["verified", "rejected"])
    ended = cycles.values_list("dialogue_id", "project_id").order_by("dialogue_id").distinct()
    pending = apps.get_model("reviews", "CoursePending")
    pending.objects.bulk_create(
        (pending(dialogue_id=dialogue, project_id=project) for dialogue, project in ended), batch_size=500
    )


def copied(to: str) -> Any:
    return models.ForeignKey(
        db_constraint=False,
        db_index=False,
        on_delete=django.db.models.deletion.PROTECT,
        related_name="+",
        to=to,
    )


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0004_compression"),
        ("reviews", "0002_agreement"),
    ]

    operations = [
        migrations.AddField(
            model_name="agreementpending",
            name="problem",
            field=models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
        migrations.CreateModel(
            name="CoursePending",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("problem", models.CharField(blank=True, db_default="", default="", max_length=500)),
                ("dialogue", copied("annotator.dialogue")),
                ("project", copied("annotator.project")),
            ],
        ),
        migrations.CreateModel(
            name="ItemCourse",
            fields=[
                (
                    "dialogue",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="annotator.dialogue",
                    ),
                ),
                ("keys", models.JSONField()),
                ("project", copied("annotator.project")),
            ],
        ),
        migrations.CreateModel(
            name="CourseCount",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("axis", models.CharField(max_length=12)),
                ("point", models.CharField(blank=True, max_length=60)),
                ("stratum", models.CharField(blank=True, max_length=12)),
                ("value", models.CharField(max_length=12)),
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
                        fields=("project", "axis", "point", "stratum", "value"), name="course_count_once"
                    )
                ],
            },
        ),
        migrations.RunPython(await_counting, migrations.RunPython.noop),
    ]
