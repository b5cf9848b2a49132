"""Rounds, approvals in a row, owners whose items go back, alarms that were raised."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0005_notices"),
        ("reviews", "0004_examples_and_joint_sessions"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="DiscrepancyAlarm",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("stage", models.CharField(max_length=40)),
                ("raised_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("cleared_at", models.DateTimeField(null=True)),
            ],
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
            ],
        ),
        migrations.RemoveConstraint(
            model_name="feedback",
            name="feedback_once_per_review",
        ),
        migrations.AddField(
            model_name="draw",
            name="closing",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="draw",
            name="pairs",
            field=models.JSONField(default=list),
        ),
        migrations.AddField(
            model_name="draw",
            name="round_ended_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="drawitem",
            name="seen",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name="slot",
            name="confirms",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name="stagerun",
            name="looks",
            field=models.PositiveSmallIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="stagerun",
            name="seen",
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AlterField(
            model_name="feedback",
            name="kind",
            field=models.CharField(
                choices=[("audit", "Audit"), ("adjudication", "Adjudication"), ("returned", "Sent back")], max_length=14
            ),
        ),
        migrations.AddConstraint(
            model_name="feedback",
            constraint=models.UniqueConstraint(fields=("review", "person", "kind"), name="feedback_once_per_kind"),
        ),
        migrations.AddField(
            model_name="discrepancyalarm",
            name="project",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.project"
            ),
        ),
        migrations.AddField(
            model_name="sentback",
            name="draw",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name="sent_back", to="reviews.draw"
            ),
        ),
        migrations.AddField(
            model_name="sentback",
            name="owner",
            field=models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to=settings.AUTH_USER_MODEL,
            ),
        ),
        migrations.AddConstraint(
            model_name="discrepancyalarm",
            constraint=models.UniqueConstraint(
                condition=models.Q(("cleared_at", None)), fields=("project", "stage"), name="discrepancy_alarm_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="sentback",
            constraint=models.UniqueConstraint(fields=("draw", "owner"), name="sent_back_once_per_draw"),
        ),
    ]
