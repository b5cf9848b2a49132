"""Acceptance of the guideline, and who has seen the tour of the workspace."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0021_member_abilities"),
    ]

    operations = [
        migrations.AddField(
            model_name="guideline",
            name="asks_again",
            field=models.BooleanField(null=True),
        ),
        migrations.AddField(
            model_name="project",
            name="requires_acceptance",
            field=models.BooleanField(null=True),
        ),
        migrations.AddField(
            model_name="user",
            name="toured_at",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.CreateModel(
            name="GuidelineAcceptance",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "guideline",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="acceptances",
                        to="annotator.guideline",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("person", "guideline"), name="guideline_accepted_once")
                ],
            },
        ),
    ]
