"""What came of trying validators, kept by content."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0006_set_apart"),
    ]

    operations = [
        migrations.CreateModel(
            name="ValidatorTrial",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=64, unique=True)),
                ("row_count", models.PositiveIntegerField()),
                ("error_count", models.PositiveIntegerField()),
                ("warning_count", models.PositiveIntegerField()),
                ("errors", models.JSONField(default=list)),
                ("warnings", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
        ),
        migrations.CreateModel(
            name="TrialRows",
            fields=[
                (
                    "trial",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="matrix",
                        serialize=False,
                        to="annotator.validatortrial",
                    ),
                ),
                ("rows", models.JSONField()),
            ],
        ),
    ]
