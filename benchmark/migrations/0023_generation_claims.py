"""One person at a time works on a generation. Nothing is claimed in an archived project (as ``reviews.0007``)."""

from importlib import import_module

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

_archive = import_module("annotator.migrations.0014_archived_projects")
_TABLE = "benchmark_generationclaim"


def refuse(apps, schema_editor):
    _archive.refuse_in_archive(schema_editor, _TABLE, "TRUE")


def accept(apps, schema_editor):
    _archive.accept_in_archive(schema_editor, _TABLE)


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0029_coverage"),
        ("benchmark", "0022_layers"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="generation",
            index=models.Index(
                condition=models.Q(("status", "waiting")), fields=["project", "updated_at"], name="generation_waiting"
            ),
        ),
        migrations.CreateModel(
            name="GenerationClaim",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("live", "Live"),
                            ("submitted", "Submitted"),
                            ("released", "Released"),
                            ("skipped", "Skipped"),
                            ("expired", "Expired"),
                            ("withdrawn", "Withdrawn"),
                        ],
                        default="live",
                        max_length=10,
                    ),
                ),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "generation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="claims", to="benchmark.generation"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="generation_claims",
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
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "live")), fields=["expires_at"], name="generation_claim_expiry"
                    ),
                    models.Index(
                        condition=models.Q(("state", "live")),
                        fields=["project", "person"],
                        name="generation_claim_live",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "live")), fields=("generation",), name="generation_claimed_once"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["live", "submitted", "released", "skipped", "expired", "withdrawn"])
                        ),
                        name="generation_claim_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state", "live"), ("ended_at__isnull", False), _connector="XOR"),
                        name="generation_claim_ended_has_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("expires_at__gt", models.F("created_at"))), name="generation_claim_lasts"
                    ),
                ],
            },
        ),
        migrations.RunPython(refuse, accept),
    ]
