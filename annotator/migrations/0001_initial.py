"""Users, projects, guidelines, dialogues and their revisions, drafts, findings, jobs, notices, events."""

import django.contrib.auth.models
import django.contrib.auth.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotator.models.exact
import annotator.models.keys


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
    ]

    operations = [
        migrations.CreateModel(
            name="Attempts",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=64, unique=True)),
                ("count", models.PositiveIntegerField(default=0)),
                ("last_at", models.DateTimeField(db_index=True)),
                ("free_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="Job",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("kind", models.CharField(max_length=40)),
                ("parameters", models.JSONField(default=dict)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("queued", "Queued"),
                            ("running", "Running"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                            ("cancelled", "Cancelled"),
                        ],
                        default="queued",
                        max_length=12,
                    ),
                ),
                ("attempt", models.PositiveIntegerField(default=0)),
                ("heartbeat_at", models.DateTimeField(null=True)),
                ("checkpoint", models.JSONField(default=dict)),
                ("progress_done", models.BigIntegerField(default=0)),
                ("progress_total", models.BigIntegerField(null=True)),
                ("progress_note", models.CharField(blank=True, max_length=200)),
                ("result", models.JSONField(default=dict)),
                ("error", models.TextField(blank=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state__in", ["queued", "running"])),
                        fields=["heartbeat_at"],
                        name="job_not_ended",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["queued", "running", "done", "failed", "cancelled"])),
                        name="job_state_known",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="PeriodicTask",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40, unique=True)),
                ("ran_at", models.DateTimeField()),
                ("outcome", models.JSONField(default=dict)),
            ],
        ),
        migrations.CreateModel(
            name="Project",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("slug", models.SlugField(max_length=60, unique=True)),
                ("name", models.CharField(max_length=120)),
                ("description", models.TextField(blank=True, max_length=2000)),
                ("time_zone", models.CharField(default="UTC", max_length=60)),
                ("check_settings", models.JSONField(blank=True, default=dict)),
                (
                    "long_range_rule",
                    models.CharField(
                        choices=[("c3", "C3-Bench"), ("wild", "WildToolBench")], default="c3", max_length=8
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
            ],
        ),
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
            name="User",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("password", models.CharField(max_length=128, verbose_name="password")),
                ("last_login", models.DateTimeField(blank=True, null=True, verbose_name="last login")),
                (
                    "is_superuser",
                    models.BooleanField(
                        default=False,
                        help_text="Designates that this user has all permissions without explicitly assigning them.",
                        verbose_name="superuser status",
                    ),
                ),
                (
                    "username",
                    models.CharField(
                        error_messages={"unique": "A user with that username already exists."},
                        help_text="Required. 150 characters or fewer. Letters, digits and @/./+/-/_ only.",
                        max_length=150,
                        unique=True,
                        validators=[django.contrib.auth.validators.UnicodeUsernameValidator()],
                        verbose_name="username",
                    ),
                ),
                ("first_name", models.CharField(blank=True, max_length=150, verbose_name="first name")),
                ("last_name", models.CharField(blank=True, max_length=150, verbose_name="last name")),
                ("email", models.EmailField(blank=True, max_length=254, verbose_name="email address")),
                (
                    "is_staff",
                    models.BooleanField(
                        default=False,
                        help_text="Designates whether the user can log into this admin site.",
                        verbose_name="staff status",
                    ),
                ),
                (
                    "is_active",
                    models.BooleanField(
                        default=True,
                        help_text="Designates whether this user should be treated as active. Unselect this instead of deleting accounts.",
                        verbose_name="active",
                    ),
                ),
                ("date_joined", models.DateTimeField(default=django.utils.timezone.now, verbose_name="date joined")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                (
                    "pseudonym",
                    models.CharField(
                        default=annotator.models.keys.new_pseudonym, editable=False, max_length=12, unique=True
                    ),
                ),
                ("display_name", models.CharField(blank=True, max_length=80)),
                ("demo_note", models.CharField(blank=True, max_length=160)),
                ("tokens_since", models.DateTimeField(blank=True, editable=False, null=True)),
                (
                    "groups",
                    models.ManyToManyField(
                        blank=True,
                        help_text="The groups this user belongs to. A user will get all permissions granted to each of their groups.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.group",
                        verbose_name="groups",
                    ),
                ),
                (
                    "user_permissions",
                    models.ManyToManyField(
                        blank=True,
                        help_text="Specific permissions for this user.",
                        related_name="user_set",
                        related_query_name="user",
                        to="auth.permission",
                        verbose_name="user permissions",
                    ),
                ),
            ],
            options={
                "verbose_name": "user",
                "verbose_name_plural": "users",
                "abstract": False,
            },
            managers=[
                ("objects", django.contrib.auth.models.UserManager()),
            ],
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("name", models.CharField(max_length=80)),
                ("secret_hash", models.CharField(max_length=64, unique=True)),
                ("hint", models.CharField(max_length=12)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                ("last_used_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="api_tokens",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["-created_at"],
            },
        ),
        migrations.CreateModel(
            name="Dialogue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(default=annotator.models.keys.new_public_id, editable=False, max_length=12),
                ),
                ("external_id", models.CharField(max_length=200)),
                ("kind", models.CharField(default="multi_turn", max_length=20)),
                ("language", models.CharField(blank=True, max_length=8)),
                ("variant_group", models.CharField(blank=True, max_length=200)),
                ("native_format", models.CharField(blank=True, max_length=12)),
                (
                    "status",
                    models.CharField(
                        choices=[
                            ("candidate", "Candidate"),
                            ("in_review", "In review"),
                            ("escalated", "Escalated"),
                            ("pooled", "Waiting for the draw"),
                            ("verified", "Verified"),
                            ("rejected", "Rejected"),
                        ],
                        default="candidate",
                        max_length=12,
                    ),
                ),
                ("stage", models.CharField(blank=True, max_length=40)),
                ("content_hash", models.CharField(max_length=64)),
                ("title", models.CharField(max_length=160)),
                ("policies", models.TextField(blank=True)),
                ("topologies", models.TextField(blank=True)),
                ("information", models.TextField(blank=True)),
                ("task_count", models.PositiveSmallIntegerField(default=0)),
                ("call_count", models.PositiveIntegerField(default=0)),
                ("switches", models.PositiveSmallIntegerField(default=0)),
                ("error_count", models.PositiveIntegerField(default=0)),
                ("warning_count", models.PositiveIntegerField(default=0)),
                ("search_text", models.TextField(blank=True)),
                ("published", models.BooleanField(default=True)),
                ("archived_at", models.DateTimeField(blank=True, null=True)),
                (
                    "gold_role",
                    models.CharField(
                        blank=True,
                        choices=[("gold", "Gold item"), ("answer", "Known answer")],
                        db_default="",
                        default="",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "owner",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("public_id",), name="dialogue_public_id_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status__in", ["candidate", "in_review", "escalated", "pooled", "verified", "rejected"])
                        ),
                        name="dialogue_status_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Digest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("day", models.DateField()),
                ("taken_at", models.DateTimeField(null=True)),
                ("attempts", models.PositiveSmallIntegerField(default=0)),
                ("sent_at", models.DateTimeField(null=True)),
                ("error", models.CharField(blank=True, max_length=300)),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="digests",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(condition=models.Q(("sent_at", None)), fields=["day"], name="digest_not_sent")
                ],
                "constraints": [models.UniqueConstraint(fields=("person", "day"), name="digest_once_a_day")],
            },
        ),
        migrations.CreateModel(
            name="Draft",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("branch", models.CharField(default="main", max_length=40)),
                ("version", models.PositiveIntegerField(default=0)),
                ("content", models.TextField()),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("closed_at", models.DateTimeField(null=True)),
                ("outcome", models.CharField(blank=True, max_length=12)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="drafts", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="drafts", to="annotator.dialogue"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("closed_at", None)),
                        fields=("dialogue", "author", "branch"),
                        name="draft_one_open",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="DraftStep",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.PositiveIntegerField()),
                ("edit_id", models.CharField(blank=True, max_length=40)),
                ("operation", models.JSONField()),
                ("before", models.TextField()),
                ("after", models.TextField()),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("done", "Done"),
                            ("undone", "Undone"),
                            ("gone", "Undone and replaced by other edits"),
                            ("move", "Undo or redo"),
                        ],
                        default="done",
                        max_length=8,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "draft",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="steps", to="annotator.draft"
                    ),
                ),
            ],
            options={
                "ordering": ["version"],
                "constraints": [
                    models.UniqueConstraint(fields=("draft", "version"), name="draft_step_version_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["done", "undone", "gone", "move"])),
                        name="draft_step_state_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Guideline",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("text", models.TextField(max_length=200000)),
                ("note", models.CharField(blank=True, max_length=200)),
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="guidelines", to="annotator.project"
                    ),
                ),
            ],
            options={
                "ordering": ["-number"],
                "constraints": [models.UniqueConstraint(fields=("project", "number"), name="guideline_number_once")],
            },
        ),
        migrations.CreateModel(
            name="GuidelineChange",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("policies", models.JSONField(default=list)),
                ("error_types", models.JSONField(default=list)),
                ("reason", models.CharField(max_length=500)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "guideline",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="changes", to="annotator.guideline"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="JobCancellation",
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
        migrations.AddField(
            model_name="job",
            name="requester",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="dialogue",
            name="batch",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotator.job",
            ),
        ),
        migrations.CreateModel(
            name="NoticeSettings",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("daily", models.JSONField(default=list)),
                ("time_zone", models.CharField(blank=True, max_length=60)),
                ("updated_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "person",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="notice_settings",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="OutdatedDialogue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("cleared_at", models.DateTimeField(null=True)),
                (
                    "change",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="dialogues",
                        to="annotator.guidelinechange",
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="outdated_flags",
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
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("cleared_at", None)), fields=["project", "dialogue"], name="outdated_open"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("dialogue", "change"), name="outdated_once_per_change")
                ],
            },
        ),
        migrations.CreateModel(
            name="Notice",
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
                            ("mention", "Mentions of you in comments"),
                            ("reply", "Replies to your comments"),
                            ("comment", "Comments on your dialogues"),
                            ("feedback", "Feedback on your work"),
                            ("assignment", "Items assigned to you"),
                            ("escalation", "Escalations for senior reviewers"),
                            ("alarm", "Alarms for administrators"),
                            ("job", "Your finished jobs"),
                            ("guideline", "New guideline versions"),
                        ],
                        max_length=12,
                    ),
                ),
                ("subject", models.CharField(blank=True, max_length=40)),
                ("key", models.CharField(blank=True, max_length=80)),
                ("text", models.CharField(max_length=500)),
                ("target", models.CharField(max_length=300)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("read_at", models.DateTimeField(blank=True, null=True)),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "digest",
                    models.ForeignKey(
                        blank=True,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="notices",
                        to="annotator.digest",
                    ),
                ),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="notices",
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
                    models.Index(fields=["person", "-created_at", "-public_id"], name="notice_by_person"),
                    models.Index(
                        condition=models.Q(("read_at", None)), fields=["person", "project"], name="notice_unread"
                    ),
                    models.Index(
                        condition=models.Q(("subject", ""), _negated=True), fields=["subject"], name="notice_by_subject"
                    ),
                    models.Index(
                        condition=models.Q(("digest__isnull", False)), fields=["digest"], name="notice_by_digest"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("read_at", None), models.Q(("key", ""), _negated=True)),
                        fields=("person", "key"),
                        name="notice_key_once_unread",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "kind__in",
                                [
                                    "mention",
                                    "reply",
                                    "comment",
                                    "feedback",
                                    "assignment",
                                    "escalation",
                                    "alarm",
                                    "job",
                                    "guideline",
                                ],
                            )
                        ),
                        name="notice_kind_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Membership",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        max_length=20,
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="memberships",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="memberships", to="annotator.project"
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("ended_at", None)),
                        fields=["user", "project"],
                        name="membership_live_by_user",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("ended_at", None)),
                        fields=("project", "user", "role"),
                        name="membership_once_per_role",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["annotator", "senior_reviewer", "administrator"])),
                        name="membership_role_known",
                    ),
                ],
            },
        ),
        migrations.AddField(
            model_name="job",
            name="project",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="jobs", to="annotator.project"
            ),
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("roles", models.JSONField()),
                ("note", models.CharField(blank=True, max_length=120)),
                ("secret_hash", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("expires_at", models.DateTimeField()),
                ("accepted_at", models.DateTimeField(blank=True, null=True)),
                ("revoked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "accepted_by",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "created_by",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="invitations", to="annotator.project"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField(null=True)),
                ("kind", models.CharField(max_length=60)),
                ("before", models.JSONField(default=dict)),
                ("after", models.JSONField(default=dict)),
                ("created_at", models.DateTimeField()),
                ("sealed", models.BooleanField(default=False)),
                ("previous_hash", models.CharField(blank=True, max_length=64)),
                ("hash", models.CharField(max_length=64)),
                (
                    "actor",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="annotator.project",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["project", "-id"], name="event_by_project"),
                    models.Index(
                        condition=models.Q(("dialogue", None)),
                        fields=["project", "kind", "-id"],
                        name="event_of_project",
                    ),
                    models.Index(
                        condition=models.Q(("dialogue", None)), fields=["project", "-id"], name="event_of_no_dialogue"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("dialogue", "number"), name="event_number_once_per_dialogue")
                ],
            },
        ),
        migrations.AddField(
            model_name="dialogue",
            name="project",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="dialogues",
                to="annotator.project",
            ),
        ),
        migrations.CreateModel(
            name="Revision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(default=annotator.models.keys.new_public_id, editable=False, max_length=12),
                ),
                ("branch", models.CharField(default="main", max_length=40)),
                ("number", models.PositiveIntegerField(null=True)),
                ("message", models.CharField(blank=True, max_length=500)),
                ("content_hash", models.CharField(max_length=64)),
                ("sealed", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("clean_mark", models.CharField(editable=False, max_length=64, null=True)),
                ("content", models.TextField()),
                (
                    "author",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "batch",
                    models.ForeignKey(
                        db_constraint=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.job",
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="revisions",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "guideline",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.guideline",
                    ),
                ),
                (
                    "parent",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="children",
                        to="annotator.revision",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("parent__isnull", False)), fields=["parent"], name="revision_by_parent"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("public_id",), name="revision_public_id_once"),
                    models.UniqueConstraint(fields=("dialogue", "number"), name="revision_number_once"),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("number__isnull", True), ("sealed", True)),
                            models.Q(("number__isnull", False), ("sealed", False)),
                            _connector="OR",
                        ),
                        name="revision_numbered_when_open",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Replay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("key", models.CharField(max_length=64)),
                ("trajectory", annotator.models.exact.ExactJSONField(null=True)),
                ("record", annotator.models.exact.ExactJSONField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replays",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "draft",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.draft",
                    ),
                ),
                (
                    "job",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="replay", to="annotator.job"
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="replays",
                        to="annotator.project",
                    ),
                ),
                (
                    "requester",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["dialogue", "key", "-id"], name="replay_by_content"),
                    models.Index(fields=["requester", "dialogue", "-id"], name="replay_by_person"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("draft__isnull", False), ("revision", None)),
                            models.Q(("draft", None), ("revision__isnull", False)),
                            _connector="OR",
                        ),
                        name="replay_of_revision_or_draft",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Finding",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("check_id", models.CharField(max_length=60)),
                ("severity", models.CharField(max_length=8)),
                ("anchor", models.CharField(blank=True, max_length=600)),
                ("value_hash", models.CharField(blank=True, max_length=16)),
                ("message", models.CharField(max_length=1000)),
                (
                    "dialogue",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="findings",
                        to="annotator.dialogue",
                    ),
                ),
                (
                    "revision",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="findings", to="annotator.revision"
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["check_id", "dialogue"], name="finding_by_check")],
            },
        ),
        migrations.AddField(
            model_name="draft",
            name="base",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.revision"
            ),
        ),
        migrations.AddField(
            model_name="dialogue",
            name="head",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.revision"
            ),
        ),
        migrations.CreateModel(
            name="Toolset",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("name", models.CharField(max_length=120)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="toolsets", to="annotator.project"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "name"), name="toolset_name_once_per_project")
                ],
            },
        ),
        migrations.CreateModel(
            name="ToolsetRevision",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("tool_count", models.PositiveIntegerField(default=0)),
                ("content_hash", models.CharField(max_length=64)),
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
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.project"
                    ),
                ),
                (
                    "toolset",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="revisions", to="annotator.toolset"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("toolset", "number"), name="toolset_revision_number_once"),
                    models.UniqueConstraint(fields=("project", "content_hash"), name="toolset_revision_content_once"),
                ],
            },
        ),
        migrations.AddField(
            model_name="revision",
            name="toolset_revision",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.toolsetrevision"
            ),
        ),
        migrations.AddField(
            model_name="draft",
            name="toolset_revision",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.toolsetrevision"
            ),
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
        migrations.CreateModel(
            name="VariantMatch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
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
                    "first",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="annotator.revision",
                    ),
                ),
                (
                    "second",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.revision"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("first", "second"), name="variant_match_once"),
                    models.CheckConstraint(
                        condition=models.Q(("first", models.F("second")), _negated=True), name="variant_match_of_two"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Waiver",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("check_id", models.CharField(max_length=60)),
                ("anchor", models.CharField(blank=True, max_length=600)),
                ("value_hash", models.CharField(blank=True, max_length=16)),
                ("reason", models.CharField(max_length=500)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("sealed", models.BooleanField(default=False)),
                (
                    "author",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="waivers", to="annotator.dialogue"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("reason", ""), _negated=True), name="waiver_has_reason")
                ],
            },
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["project", "-id"], name="job_by_project"),
        ),
        migrations.AddIndex(
            model_name="dialogue",
            index=models.Index(
                condition=models.Q(("published", True)),
                fields=["project", "created_at", "public_id"],
                name="dialogue_by_project",
            ),
        ),
        migrations.AddIndex(
            model_name="dialogue",
            index=models.Index(
                condition=models.Q(("published", True)),
                fields=["project", "status", "created_at", "public_id"],
                name="dialogue_by_status",
            ),
        ),
        migrations.AddIndex(
            model_name="dialogue",
            index=models.Index(
                condition=models.Q(("published", True)),
                fields=["project", "stage", "created_at", "public_id"],
                name="dialogue_by_stage",
            ),
        ),
        migrations.AddIndex(
            model_name="dialogue",
            index=models.Index(
                condition=models.Q(("published", True)),
                fields=["project", "owner", "created_at", "public_id"],
                name="dialogue_by_owner",
            ),
        ),
        migrations.AddIndex(
            model_name="dialogue",
            index=models.Index(
                condition=models.Q(("published", True)),
                fields=["project", "language", "created_at", "public_id"],
                name="dialogue_by_language",
            ),
        ),
        migrations.AddIndex(
            model_name="dialogue",
            index=models.Index(
                condition=models.Q(("published", True), ("error_count__gt", 0)),
                fields=["project", "created_at", "public_id"],
                name="dialogue_with_errors",
            ),
        ),
        migrations.AddIndex(
            model_name="dialogue",
            index=models.Index(
                condition=models.Q(("published", True), ("warning_count__gt", 0)),
                fields=["project", "created_at", "public_id"],
                name="dialogue_with_warnings",
            ),
        ),
        migrations.AddIndex(
            model_name="dialogue",
            index=models.Index(
                condition=models.Q(("variant_group", ""), _negated=True),
                fields=["project", "variant_group"],
                name="dialogue_by_variant",
            ),
        ),
        migrations.AddIndex(
            model_name="dialogue",
            index=models.Index(condition=models.Q(("published", False)), fields=["batch"], name="dialogue_unpublished"),
        ),
        migrations.AddConstraint(
            model_name="dialogue",
            constraint=models.UniqueConstraint(
                models.F("project"),
                models.F("external_id"),
                models.Case(models.When(gold_role="gold", then="id"), default=0, output_field=models.BigIntegerField()),
                name="dialogue_external_id_once",
            ),
        ),
    ]
