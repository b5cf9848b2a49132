"""Imports, releases, and the bands that near-duplicates are found by."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotator.models.keys


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("annotator", "0001_initial"),
        ("annotator", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="ImportBatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("native_format", models.CharField(max_length=12)),
                ("filename", models.CharField(max_length=255)),
                ("file", models.CharField(max_length=255)),
                ("bytes", models.BigIntegerField(default=0)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("dry_run", models.BooleanField(default=False)),
                ("revise", models.BooleanField(default=False)),
                ("reopen", models.BooleanField(default=False)),
                ("read", models.PositiveIntegerField(default=0)),
                ("created", models.PositiveIntegerField(default=0)),
                ("revised", models.PositiveIntegerField(default=0)),
                ("unchanged", models.PositiveIntegerField(default=0)),
                ("rejected", models.PositiveIntegerField(default=0)),
                ("with_errors", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="import_batch", to="annotator.job"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="imports", to="annotator.project"
                    ),
                ),
                (
                    "requester",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["project", "-id"], name="import_by_project")],
            },
        ),
        migrations.CreateModel(
            name="ImportNote",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("line", models.PositiveIntegerField()),
                ("member", models.CharField(blank=True, max_length=255)),
                ("external_id", models.CharField(blank=True, max_length=200)),
                ("pointer", models.CharField(blank=True, max_length=600)),
                ("check_id", models.CharField(max_length=60)),
                ("severity", models.CharField(max_length=8)),
                ("message", models.CharField(max_length=1000)),
                ("rejects", models.BooleanField(default=False)),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="notes", to="benchmark.importbatch"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["batch", "severity", "id"], name="import_note_by_batch")],
            },
        ),
        migrations.CreateModel(
            name="NativeLine",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("native_format", models.CharField(max_length=12)),
                ("text", models.TextField()),
                (
                    "revision",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="annotator.revision"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Release",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("version", models.CharField(max_length=40)),
                ("native_format", models.CharField(max_length=12)),
                (
                    "state",
                    models.CharField(
                        choices=[("freezing", "Freezing"), ("frozen", "Frozen"), ("failed", "Failed")],
                        default="freezing",
                        max_length=10,
                    ),
                ),
                ("require_all", models.BooleanField(default=False)),
                ("canary", models.CharField(max_length=80)),
                ("item_count", models.PositiveIntegerField(default=0)),
                ("left_out_count", models.PositiveIntegerField(default=0)),
                ("archive", models.CharField(blank=True, max_length=255)),
                ("archive_bytes", models.BigIntegerField(default=0)),
                ("sha256", models.CharField(blank=True, max_length=64)),
                ("frozen", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("frozen_at", models.DateTimeField(null=True)),
                (
                    "job",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.job"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="releases", to="annotator.project"
                    ),
                ),
                (
                    "requester",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["project", "-id"], name="release_by_project")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("state", "failed"), _negated=True),
                        fields=("project", "version"),
                        name="release_version_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["freezing", "frozen", "failed"])), name="release_state_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "frozen"), _negated=True),
                            models.Q(models.Q(("archive", ""), _negated=True), models.Q(("sha256", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="release_frozen_has_archive",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="LeftOutDialogue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reason", models.CharField(max_length=300)),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.dialogue"
                    ),
                ),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="left_out", to="benchmark.release"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("release", "dialogue"), name="left_out_once")],
            },
        ),
        migrations.CreateModel(
            name="ReleaseItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("trail", models.JSONField(default=list)),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.dialogue"
                    ),
                ),
                (
                    "release",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="items", to="benchmark.release"
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.revision"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("release", "dialogue"), name="release_item_once")],
            },
        ),
        migrations.CreateModel(
            name="SimilarityBand",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("band", models.BigIntegerField()),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.dialogue"
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
            options={
                "indexes": [models.Index(fields=["project", "band"], name="similarity_band_lookup")],
            },
        ),
    ]
