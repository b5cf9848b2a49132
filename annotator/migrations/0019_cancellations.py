"""The wish to stop a job has a row of its own: the job's is locked by whoever works on it."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


def write_rows(apps, schema_editor):
    asked = apps.get_model("annotator", "Job").objects.filter(cancel_requested=True)
    make = apps.get_model("annotator", "Cancellation")
    make.objects.bulk_create((make(job_id=job) for job in asked.values_list("pk", flat=True).iterator()), 1000)


def write_column(apps, schema_editor):
    apps.get_model("annotator", "Job").objects.filter(cancellation__isnull=False).update(cancel_requested=True)


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0018_exact_replays"),
    ]

    operations = [
        migrations.CreateModel(
            name="Cancellation",
            fields=[
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="cancellation",
                        serialize=False,
                        to="annotator.job",
                    ),
                ),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
            ],
        ),
        migrations.RunPython(write_rows, write_column),
        migrations.RemoveField(model_name="job", name="cancel_requested"),
    ]
