"""Threads about feedback, disputes of it, daily goals, and the index that reads a person's days."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotator.models.keys


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0020_dialogue_tags"),
        ("reviews", "0011_training"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="DailyGoal",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reviews", models.PositiveSmallIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="FeedbackDispute",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("reason", models.TextField(max_length=2000)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                (
                    "state",
                    models.CharField(
                        choices=[("open", "Disputed"), ("accepted", "Dispute accepted"), ("kept", "Decision kept")],
                        default="open",
                        max_length=8,
                    ),
                ),
                ("answer", models.TextField(blank=True, max_length=2000)),
                ("answered_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="FeedbackReply",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("text", models.TextField(max_length=2000)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
            ],
        ),
        migrations.AddIndex(
            model_name="review",
            index=models.Index(fields=["person", "created_at"], name="review_by_person_and_time"),
        ),
        migrations.AddField(
            model_name="dailygoal",
            name="person",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="dailygoal",
            name="project",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.project"
            ),
        ),
        migrations.AddField(
            model_name="feedbackdispute",
            name="answered_by",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="feedbackdispute",
            name="feedback",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="dispute", to="reviews.feedback"
            ),
        ),
        migrations.AddField(
            model_name="feedbackreply",
            name="author",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddField(
            model_name="feedbackreply",
            name="feedback",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="replies", to="reviews.feedback"
            ),
        ),
        migrations.AddConstraint(
            model_name="dailygoal",
            constraint=models.UniqueConstraint(fields=("project", "person"), name="daily_goal_once"),
        ),
        migrations.AddConstraint(
            model_name="dailygoal",
            constraint=models.CheckConstraint(
                condition=models.Q(("reviews__gte", 1), ("reviews__lte", 500)), name="daily_goal_in_range"
            ),
        ),
        migrations.AddConstraint(
            model_name="feedbackdispute",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True), name="feedback_dispute_has_reason"
            ),
        ),
        migrations.AddConstraint(
            model_name="feedbackdispute",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("answer", ""), ("answered_at__isnull", True), ("answered_by__isnull", True), ("state", "open")
                    ),
                    models.Q(
                        ("answered_at__isnull", False),
                        ("answered_by__isnull", False),
                        ("state__in", ["accepted", "kept"]),
                        models.Q(("answer", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="feedback_dispute_answered_or_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="feedbackreply",
            constraint=models.CheckConstraint(
                condition=models.Q(("text", ""), _negated=True), name="feedback_reply_not_empty"
            ),
        ),
    ]
