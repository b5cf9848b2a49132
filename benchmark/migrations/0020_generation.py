from decimal import Decimal

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotator.models.exact
import annotator.models.keys
import annotator.models.messages


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0027_curated_toolsets"),
        ("benchmark", "0019_coverage_targets"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Generation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("name", models.CharField(max_length=200)),
                ("cell", models.CharField(max_length=60)),
                ("language", models.CharField(max_length=2)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("running", "Running"),
                            ("waiting", "Waits for people"),
                            ("paused", "Paused"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="running",
                        max_length=7,
                    ),
                ),
                (
                    "chooser",
                    models.CharField(
                        choices=[("people", "People"), ("first", "The first usable one")],
                        default="people",
                        max_length=6,
                    ),
                ),
                ("reason", annotator.models.messages.MessageField(null=True)),
                ("idempotent", models.BooleanField(default=False)),
                ("token_budget", models.PositiveBigIntegerField(null=True)),
                ("cost_budget", models.DecimalField(decimal_places=4, max_digits=12, null=True)),
                ("requests", models.PositiveIntegerField(default=0)),
                ("input_tokens", models.PositiveBigIntegerField(default=0)),
                ("output_tokens", models.PositiveBigIntegerField(default=0)),
                ("cost", models.DecimalField(decimal_places=6, default=Decimal("0"), max_digits=20)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("templates", models.JSONField(default=dict)),
                ("setup", annotator.models.exact.ExactJSONField()),
                ("state", annotator.models.exact.ExactJSONField()),
                (
                    "dialogue",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="generation",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "job",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="generation",
                        to="annotator.job",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="generations", to="annotator.project"
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
                (
                    "toolset_revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.toolsetrevision"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="PromptTemplate",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("first_task", "first_task"),
                            ("follow_up", "follow_up"),
                            ("reply", "reply"),
                            ("actions", "actions"),
                            ("verdict", "verdict"),
                            ("observations", "observations"),
                            ("question", "question"),
                            ("answer", "answer"),
                        ],
                        max_length=12,
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("sha256", models.CharField(max_length=64)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("content", models.TextField()),
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
                        related_name="prompt_templates",
                        to="annotator.project",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="ModelCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                (
                    "purpose",
                    models.CharField(
                        choices=[
                            ("first_task", "first_task"),
                            ("follow_up", "follow_up"),
                            ("reply", "reply"),
                            ("actions", "actions"),
                            ("verdict", "verdict"),
                            ("observations", "observations"),
                            ("question", "question"),
                            ("answer", "answer"),
                        ],
                        max_length=12,
                    ),
                ),
                ("model", models.CharField(max_length=120)),
                ("answered_as", models.CharField(blank=True, max_length=120)),
                ("parameters", models.JSONField(default=dict)),
                ("request_sha256", models.CharField(max_length=64)),
                (
                    "state",
                    models.CharField(
                        choices=[("asked", "sent"), ("answered", "answered"), ("failed", "failed")],
                        default="asked",
                        max_length=8,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=1)),
                ("replayed", models.BooleanField(default=False)),
                ("failure", annotator.models.messages.MessageField(null=True)),
                ("input_tokens", models.PositiveIntegerField(default=0)),
                ("output_tokens", models.PositiveIntegerField(default=0)),
                ("cost", models.DecimalField(decimal_places=6, default=Decimal("0"), max_digits=20)),
                ("milliseconds", models.PositiveIntegerField(default=0)),
                ("asked_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("answered_at", models.DateTimeField(null=True)),
                ("prompt", models.TextField()),
                ("answer", annotator.models.exact.ExactJSONField(null=True)),
                (
                    "endpoint",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="benchmark.endpoint",
                    ),
                ),
                (
                    "generation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="calls", to="benchmark.generation"
                    ),
                ),
                (
                    "template",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="benchmark.prompttemplate"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="RoleModel",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[
                            ("user", "user"),
                            ("planner", "planner"),
                            ("checker", "checker"),
                            ("tool", "tool"),
                            ("assistant", "assistant"),
                        ],
                        max_length=9,
                    ),
                ),
                ("model", models.CharField(max_length=120)),
                ("options", models.JSONField(default=dict)),
                ("input_price", models.DecimalField(decimal_places=4, default=Decimal("0"), max_digits=9)),
                ("output_price", models.DecimalField(decimal_places=4, default=Decimal("0"), max_digits=9)),
                (
                    "endpoint",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="benchmark.endpoint",
                    ),
                ),
                (
                    "generation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="role_models",
                        to="benchmark.generation",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="generation",
            index=models.Index(fields=["project", "cell", "status"], name="generation_by_cell"),
        ),
        migrations.AddConstraint(
            model_name="generation",
            constraint=models.UniqueConstraint(fields=("project", "name"), name="generation_name_once"),
        ),
        migrations.AddConstraint(
            model_name="generation",
            constraint=models.CheckConstraint(
                condition=models.Q(("status", "done"), ("dialogue__isnull", True), _connector="XOR"),
                name="done_generation_has_dialogue",
            ),
        ),
        migrations.AddConstraint(
            model_name="prompttemplate",
            constraint=models.UniqueConstraint(
                fields=("project", "purpose", "number"), name="prompt_template_number_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="prompttemplate",
            constraint=models.CheckConstraint(
                condition=models.Q(("number__gt", 0)), name="prompt_template_numbers_from_one"
            ),
        ),
        migrations.AddConstraint(
            model_name="modelcall",
            constraint=models.UniqueConstraint(fields=("generation", "number"), name="model_call_number_once"),
        ),
        migrations.AddConstraint(
            model_name="modelcall",
            constraint=models.CheckConstraint(
                condition=models.Q(("state", "answered"), ("answer__isnull", True), _connector="XOR"),
                name="answered_call_has_answer",
            ),
        ),
        migrations.AddConstraint(
            model_name="modelcall",
            constraint=models.CheckConstraint(
                condition=models.Q(("number__gt", 0)), name="model_calls_numbered_from_one"
            ),
        ),
        migrations.AddConstraint(
            model_name="rolemodel",
            constraint=models.UniqueConstraint(fields=("generation", "role"), name="role_model_once"),
        ),
    ]
