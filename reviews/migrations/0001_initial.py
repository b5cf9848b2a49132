"""Protocols, cycles, slots, reviews, samples, gold items, comments and feedback, and what is counted of them."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotator.models.exact
import annotator.models.keys


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("annotator", "0001_initial"),
        ("annotator", "__first__"),
    ]

    operations = [
        migrations.CreateModel(
            name="Cycle",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("active", "Active"),
                            ("verified", "Verified"),
                            ("rejected", "Rejected"),
                            ("superseded", "Superseded"),
                        ],
                        default="active",
                        max_length=12,
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=500)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cycles",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "entry_revision",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
                (
                    "exit_revision",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cycles",
                        to="annotator.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("dialogue", "number"), name="cycle_number_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "active")), fields=("dialogue",), name="cycle_one_active"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["active", "verified", "rejected", "superseded"])),
                        name="cycle_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "verified"), _negated=True),
                            ("exit_revision__isnull", False),
                            _connector="OR",
                        ),
                        name="cycle_verified_has_revision",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("state", "active")),
                            models.Q(models.Q(("state", "active"), _negated=True), ("ended_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="cycle_ended_has_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AssignmentRules",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("most_held", models.PositiveSmallIntegerField(null=True)),
                ("absent_days", models.PositiveSmallIntegerField(null=True)),
                (
                    "project",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="assignment_rules",
                        to="annotator.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="StageRun",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.CharField(max_length=40)),
                ("round", models.PositiveIntegerField(default=1)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("pooled", "Waiting for the draw"),
                            ("drawn", "Drawn"),
                            ("settled", "Settled"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                ("entered_as", models.CharField(default="regular", max_length=12)),
                ("blind", models.BooleanField(default=False)),
                ("outcome", models.CharField(blank=True, max_length=20)),
                ("discrepancy_count", models.PositiveIntegerField(null=True)),
                ("looks", models.PositiveSmallIntegerField(null=True)),
                ("seen", models.BooleanField(db_default=False, default=False)),
                ("opened_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("settled_at", models.DateTimeField(null=True)),
                (
                    "entry_revision",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
                (
                    "escalated_from",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.stagerun",
                    ),
                ),
                (
                    "exit_revision",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
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
                    "cycle",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="stage_runs",
                        to="reviews.cycle",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "pooled")),
                        fields=["project", "stage", "id"],
                        name="stage_run_pooled",
                    ),
                    models.Index(
                        condition=models.Q(("state", "open")), fields=["project", "stage"], name="stage_run_open"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("cycle", "stage", "round"), name="stage_run_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["open", "pooled", "drawn", "settled", "cancelled"])),
                        name="stage_run_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("entered_as__in", ["regular", "escalated", "sampled"])),
                        name="stage_run_entry_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("state", "settled"), _negated=True),
                            models.Q(models.Q(("outcome", ""), _negated=True), ("settled_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="stage_run_settled_has_outcome",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DiscrepancyAlarm",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.CharField(max_length=40)),
                ("raised_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("cleared_at", models.DateTimeField(null=True)),
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
                        condition=models.Q(("cleared_at", None)),
                        fields=("project", "stage"),
                        name="discrepancy_alarm_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Draw",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("stage", models.CharField(max_length=40)),
                ("number", models.PositiveIntegerField()),
                ("fraction", models.FloatField()),
                ("algorithm", models.PositiveSmallIntegerField(default=1)),
                ("seed", models.CharField(max_length=64)),
                ("population_hash", models.CharField(max_length=64)),
                ("population_size", models.PositiveIntegerField()),
                ("sample_size", models.PositiveIntegerField()),
                ("strata", models.JSONField(default=dict)),
                ("pairs", models.JSONField(default=list)),
                ("closing", models.BooleanField(default=False)),
                ("round_ended_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("carried_out_at", models.DateTimeField(null=True)),
                (
                    "actor",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="draws", to="annotator.project"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "stage", "number"), name="draw_number_once"),
                    models.CheckConstraint(
                        condition=models.Q(("sample_size__lte", models.F("population_size"))), name="draw_sample_fits"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="DrawItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stratum", models.CharField(blank=True, max_length=12)),
                ("seen", models.BooleanField(db_default=False, default=False)),
                ("selected", models.BooleanField()),
                ("pair", models.PositiveSmallIntegerField(null=True)),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.dialogue"
                    ),
                ),
                (
                    "draw",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="items",
                        to="reviews.draw",
                    ),
                ),
                (
                    "stage_run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="draw_item", to="reviews.stagerun"
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("draw", "dialogue"), name="draw_item_once")],
            },
        ),
        migrations.CreateModel(
            name="Example",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("task", models.CharField(blank=True, max_length=100)),
                ("comment", models.TextField(max_length=4000)),
                ("stages", models.JSONField(default=list)),
                ("policies", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("withdrawn_at", models.DateTimeField(null=True)),
                (
                    "author",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="examples", to="annotator.dialogue"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="examples",
                        to="annotator.project",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
                (
                    "withdrawn_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("withdrawn_at__isnull", True)),
                        fields=["project", "-id"],
                        name="example_in_use",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("withdrawn_at__isnull", True)),
                        fields=("dialogue", "task"),
                        name="example_once_per_place",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("comment", ""), _negated=True), name="example_says_what_it_shows"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("withdrawn_at__isnull", True), ("withdrawn_by__isnull", True)),
                            models.Q(("withdrawn_at__isnull", False), ("withdrawn_by__isnull", False)),
                            _connector="OR",
                        ),
                        name="example_withdrawn_by_somebody",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GoldItem",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("stage", models.CharField(max_length=40)),
                ("planted", models.BooleanField(default=False)),
                ("errors", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("retired_at", models.DateTimeField(null=True)),
                ("retired_why", models.CharField(blank=True, max_length=500)),
                (
                    "answer",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "dialogue",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.dialogue"
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
                (
                    "retired_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "source",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "stage_run",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="reviews.stagerun"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["project", "stage", "-id"], name="gold_item_by_stage")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("retired_at__isnull", True)),
                        fields=("source",),
                        name="gold_item_one_in_use_per_source",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="GoldRate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.CharField(max_length=40)),
                ("rate", models.FloatField()),
                ("secret", models.CharField(max_length=64)),
                ("reveal", models.BooleanField(default=False)),
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
                    models.UniqueConstraint(fields=("project", "stage"), name="gold_rate_once_per_stage"),
                    models.CheckConstraint(
                        condition=models.Q(("rate__gte", 0), ("rate__lte", 0.5)), name="gold_rate_is_a_share"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ItemHistory",
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
            name="ItemHistoryCount",
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
                        fields=("project", "axis", "point", "stratum", "value"), name="item_history_count_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="ItemHistoryPending",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("problem", models.CharField(blank=True, db_default="", default="", max_length=500)),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.dialogue",
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
            name="Pause",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("stage", models.CharField(blank=True, max_length=40)),
                ("reason", models.CharField(blank=True, max_length=300)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("ended_at", models.DateTimeField(null=True)),
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
                    "ended_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
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
                        related_name="pauses",
                        to="annotator.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("person__isnull", True), ("stage", ""), _connector="OR"),
                        name="pause_of_one_kind",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None), ("person__isnull", True)),
                        fields=("project", "stage"),
                        name="pause_once_per_stage",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None), ("person__isnull", False)),
                        fields=("project", "person"),
                        name="pause_once_per_person",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProtocolVersion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("preset", models.CharField(blank=True, max_length=20)),
                ("definition", models.TextField()),
                ("content_hash", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "author",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="protocol_versions",
                        to="annotator.project",
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "constraints": [models.UniqueConstraint(fields=("project", "number"), name="protocol_number_once")],
            },
        ),
        migrations.AddField(
            model_name="cycle",
            name="protocol",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="cycles",
                to="reviews.protocolversion",
            ),
        ),
        migrations.CreateModel(
            name="QueueCursor",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.CharField(max_length=40)),
                ("position", models.BigIntegerField(default=0)),
                ("taken", models.PositiveIntegerField(db_default=0, default=0)),
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
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("person", "project", "stage"), name="queue_cursor_once")
                ],
            },
        ),
        migrations.CreateModel(
            name="Review",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(default=annotator.models.keys.new_public_id, editable=False, max_length=12),
                ),
                ("stage_kind", models.CharField(max_length=20)),
                (
                    "verdict",
                    models.CharField(
                        max_length=10,
                    ),
                ),
                ("labels", models.JSONField(default=dict)),
                ("checklist", models.JSONField(default=dict)),
                ("checklist_notes", models.JSONField(default=dict)),
                ("reason", models.TextField(blank=True, max_length=4000)),
                ("submission_hash", models.CharField(editable=False, max_length=64, null=True)),
                ("seconds", models.PositiveIntegerField(default=0)),
                ("sealed", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField()),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "guideline",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.guideline",
                    ),
                ),
                (
                    "made_revision",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
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
                    "seen_author",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "seen_revision",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
                (
                    "stage_run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reviews",
                        to="reviews.stagerun",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["project", "person", "-id"], name="review_by_person")],
                "constraints": [
                    models.UniqueConstraint(fields=("public_id",), name="review_public_id_once"),
                    models.UniqueConstraint(fields=("stage_run", "person"), name="review_once_per_person_and_round"),
                    models.CheckConstraint(
                        condition=models.Q(("verdict__in", ["approve", "fix", "reject", "escalate"])),
                        name="review_verdict_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("stage_kind", "self_check"),
                            ("seen_author__isnull", True),
                            models.Q(("person", models.F("seen_author")), _negated=True),
                            _connector="OR",
                        ),
                        name="reviewer_is_not_author",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("verdict", "fix"), _negated=True),
                            ("made_revision__isnull", False),
                            _connector="OR",
                        ),
                        name="review_fix_has_revision",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("verdict", "approve"), _negated=True),
                            ("made_revision__isnull", True),
                            _connector="OR",
                        ),
                        name="review_approval_changes_nothing",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("verdict__in", ["approve", "fix"]),
                            models.Q(("reason", ""), _negated=True),
                            _connector="OR",
                        ),
                        name="review_refusal_has_reason",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="GoldScore",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("verdict_right", models.BooleanField()),
                ("errors", models.PositiveIntegerField()),
                ("found", models.PositiveIntegerField()),
                ("false_changes", models.PositiveIntegerField()),
                ("places", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "item",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="scores", to="reviews.golditem"
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
                "indexes": [models.Index(fields=["project", "person"], name="gold_score_by_person")],
                "constraints": [
                    models.UniqueConstraint(fields=("item", "person"), name="gold_score_once_per_person"),
                    models.CheckConstraint(
                        condition=models.Q(("found__lte", models.F("errors"))), name="gold_score_finds_what_is_there"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewError",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("kind", models.CharField(max_length=40)),
                ("anchor", models.CharField(blank=True, max_length=600)),
                ("value_hash", models.CharField(blank=True, max_length=16)),
                ("note", models.CharField(blank=True, max_length=1000)),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="errors", to="reviews.review"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ReviewSession",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.CharField(max_length=40)),
                ("round", models.PositiveIntegerField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "opened_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("participants", models.ManyToManyField(related_name="+", to=settings.AUTH_USER_MODEL)),
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
                    models.UniqueConstraint(fields=("project", "stage", "round"), name="review_session_once_per_round")
                ],
            },
        ),
        migrations.CreateModel(
            name="Ruling",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("anchor", models.CharField(max_length=600)),
                ("choice", models.CharField(max_length=8)),
                ("value", annotator.models.exact.ExactJSONField(null=True)),
                ("reason_kind", models.CharField(max_length=40)),
                ("reason", models.CharField(blank=True, max_length=1000)),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="rulings", to="reviews.review"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("review", "anchor"), name="ruling_once_per_place"),
                    models.CheckConstraint(
                        condition=models.Q(("choice__in", ["left", "right", "third", "none"])),
                        name="ruling_choice_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason_kind", ""), _negated=True), name="ruling_has_reason"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Feedback",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("audit", "Audit"),
                            ("adjudication", "Dispute"),
                            ("overruled", "Overruled"),
                            ("returned", "Sent back"),
                        ],
                        max_length=14,
                    ),
                ),
                ("text", models.TextField(max_length=4000)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="feedback", to="annotator.dialogue"
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="feedback",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "review",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="feedback", to="reviews.review"
                    ),
                ),
                ("rulings", models.ManyToManyField(related_name="feedback", to="reviews.ruling")),
            ],
            options={
                "indexes": [models.Index(fields=["person", "-created_at", "-public_id"], name="feedback_by_person")],
                "constraints": [
                    models.UniqueConstraint(fields=("review", "person", "kind"), name="feedback_once_per_kind")
                ],
            },
        ),
        migrations.CreateModel(
            name="SentBack",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("audited", models.PositiveIntegerField()),
                ("errors", models.PositiveIntegerField()),
                ("items", models.PositiveIntegerField()),
                ("returned", models.PositiveIntegerField(default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "draw",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="sent_back",
                        to="reviews.draw",
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("draw", "owner"), name="sent_back_once_per_draw")],
            },
        ),
        migrations.CreateModel(
            name="SessionDecision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("note", models.TextField(blank=True, max_length=4000)),
                ("participants", models.ManyToManyField(related_name="+", to=settings.AUTH_USER_MODEL)),
                (
                    "review",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="session_decision",
                        to="reviews.review",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="reviews.reviewsession",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Slot",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(default=annotator.models.keys.new_public_id, editable=False, max_length=12),
                ),
                ("index", models.PositiveSmallIntegerField(default=0)),
                ("stage", models.CharField(max_length=40)),
                ("stage_kind", models.CharField(max_length=20)),
                ("round", models.PositiveIntegerField(default=1)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("hidden", "Not published yet"),
                            ("open", "Open"),
                            ("claimed", "Claimed"),
                            ("done", "Done"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="open",
                        max_length=10,
                    ),
                ),
                (
                    "priority",
                    models.PositiveSmallIntegerField(choices=[(0, "High"), (1, "Normal"), (2, "Low")], default=1),
                ),
                ("position", models.BigIntegerField()),
                ("is_gold", models.BooleanField(db_default=False, default=False)),
                ("confirms", models.PositiveSmallIntegerField(db_default=0, default=0)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "cycle",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="slots",
                        to="reviews.cycle",
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="slots",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "holder",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "owner",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
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
                        related_name="slots",
                        to="annotator.project",
                    ),
                ),
                (
                    "protocol",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reviews.protocolversion",
                    ),
                ),
                (
                    "reserved_for",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
                (
                    "revision_author",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "stage_run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="slots",
                        to="reviews.stagerun",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("priority", 1), ("reserved_for__isnull", True), ("state", "open")),
                        fields=["project", "stage", "position"],
                        name="slot_queue",
                    ),
                    models.Index(
                        condition=models.Q(
                            ("reserved_for__isnull", True), ("state", "open"), models.Q(("priority", 1), _negated=True)
                        ),
                        fields=["project", "priority", "position"],
                        name="slot_out_of_turn",
                    ),
                    models.Index(
                        condition=models.Q(("reserved_for__isnull", False), ("state", "open")),
                        fields=["reserved_for", "project", "priority", "position"],
                        name="slot_reserved",
                    ),
                    models.Index(
                        condition=models.Q(("holder__isnull", False)), fields=["holder", "-id"], name="slot_by_holder"
                    ),
                    models.Index(fields=["dialogue", "-id"], name="slot_by_dialogue"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("public_id",), name="slot_public_id_once"),
                    models.UniqueConstraint(fields=("stage_run", "index"), name="slot_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("holder__isnull", False)),
                        fields=("stage_run", "holder"),
                        name="slot_once_per_person_and_run",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["hidden", "open", "claimed", "done", "cancelled"])),
                        name="slot_state_known",
                    ),
                    models.CheckConstraint(condition=models.Q(("priority__in", [0, 1, 2])), name="slot_priority_known"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("holder__isnull", False), ("state__in", ["claimed", "done"])),
                            models.Q(("holder__isnull", True), ("state__in", ["hidden", "open", "cancelled"])),
                            _connector="OR",
                        ),
                        name="slot_held_when_claimed_or_done",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("stage_kind", "self_check"),
                            ("holder__isnull", True),
                            ("revision_author__isnull", True),
                            models.Q(("holder", models.F("revision_author")), _negated=True),
                            _connector="OR",
                        ),
                        name="slot_holder_is_not_author",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("stage_kind", "self_check"),
                            ("holder__isnull", True),
                            ("owner__isnull", True),
                            models.Q(("holder", models.F("owner")), _negated=True),
                            _connector="OR",
                        ),
                        name="slot_holder_is_not_owner",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ReviewDraft",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("form", models.JSONField(default=dict)),
                ("version", models.PositiveIntegerField(default=0)),
                ("steps", models.JSONField(default=list)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
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
                    "slot",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="review_drafts",
                        to="reviews.slot",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("slot", "person"), name="review_draft_once")],
            },
        ),
        migrations.AddField(
            model_name="review",
            name="slot",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="review", to="reviews.slot"
            ),
        ),
        migrations.CreateModel(
            name="Claim",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.CharField(max_length=40)),
                ("token", models.CharField(default=annotator.models.keys.new_public_id, max_length=12)),
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
                ("lease", models.DurationField()),
                ("created_at", models.DateTimeField()),
                ("heartbeat_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(null=True)),
                ("active_seconds", models.PositiveIntegerField(default=0)),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="claims",
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
                    "slot",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="claims", to="reviews.slot"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "live")), fields=["project", "stage"], name="claim_live_by_stage"
                    ),
                    models.Index(
                        condition=models.Q(("state", "live")), fields=["expires_at"], name="claim_live_by_expiry"
                    ),
                    models.Index(fields=["person", "-id"], name="claim_by_person"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("token",), name="claim_token_once"),
                    models.UniqueConstraint(
                        condition=models.Q(("state", "live")), fields=("slot",), name="claim_one_live_per_slot"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("state__in", ["live", "submitted", "released", "skipped", "expired", "withdrawn"])
                        ),
                        name="claim_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("state", "live")),
                            models.Q(models.Q(("state", "live"), _negated=True), ("ended_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="claim_ended_has_time",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="WorkloadCount",
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
                        fields=("project", "what", "stage", "person", "key"), name="workload_count_once"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="WorkloadPending",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("errors", models.BooleanField(db_default=False, default=False)),
                ("problem", models.CharField(blank=True, db_default="", default="", max_length=500)),
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
                ("problem", models.CharField(blank=True, db_default="", default="", max_length=500)),
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
            name="AssignmentPlan",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("reassign", "Reassign"),
                            ("free", "Open to everyone"),
                            ("prioritise", "Set priority"),
                            ("hand_over", "Change owner"),
                        ],
                        max_length=12,
                    ),
                ),
                ("parameters", models.JSONField(default=dict)),
                ("items", models.JSONField(default=list)),
                ("refused", models.JSONField(default=list)),
                ("result", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("confirmed_at", models.DateTimeField(null=True)),
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
                    "job",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.job",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.project"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("action__in", ["reassign", "free", "prioritise", "hand_over"])),
                        name="assignment_plan_action_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Comment",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("anchor", models.CharField(blank=True, max_length=600)),
                ("value_hash", models.CharField(blank=True, max_length=16)),
                ("text", models.TextField(max_length=4000)),
                ("sealed", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("resolved_at", models.DateTimeField(blank=True, null=True)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="comments", to="annotator.dialogue"
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replies",
                        to="reviews.comment",
                    ),
                ),
                (
                    "resolved_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "stage_run",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="comments",
                        to="reviews.stagerun",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("text", ""), _negated=True), name="comment_not_empty"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("resolved_at__isnull", True), ("resolved_by__isnull", False), _connector="OR"
                        ),
                        name="comment_resolved_by_somebody",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Counter",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=80)),
                ("value", models.BigIntegerField(default=0)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="counters",
                        to="annotator.project",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "key"), name="counter_once")],
            },
        ),
        migrations.CreateModel(
            name="CounterDelta",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=80)),
                ("delta", models.BigIntegerField()),
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
                "indexes": [models.Index(fields=["project", "key"], name="counter_delta_by_key")],
            },
        ),
    ]
