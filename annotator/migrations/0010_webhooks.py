import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotator.models.keys
import annotator.models.messages


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0009_dialogues_by_update"),
    ]

    operations = [
        migrations.CreateModel(
            name="Webhook",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("url", models.CharField(max_length=1000)),
                ("description", models.CharField(blank=True, max_length=200)),
                ("events", models.JSONField(default=list)),
                ("active", models.BooleanField(default=True)),
                ("secret", models.TextField(blank=True)),
                ("old_secret", models.TextField(blank=True)),
                ("old_secret_until", models.DateTimeField(null=True)),
                ("failures", models.PositiveIntegerField(default=0)),
                ("hold_until", models.DateTimeField(null=True)),
                ("given_up", models.PositiveIntegerField(default=0)),
                ("tried_at", models.DateTimeField(null=True)),
                ("off_message", annotator.models.messages.MessageField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("removed_at", models.DateTimeField(null=True)),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="webhooks",
                        to="annotator.project",
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
        ),
        migrations.CreateModel(
            name="WebhookDelivery",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                (
                    "event",
                    models.CharField(
                        choices=[
                            ("import.finished", "An import is finished"),
                            ("import.failed", "An import failed"),
                            ("dialogue.verified", "A dialogue is verified"),
                            ("dialogue.escalated", "A dialogue is escalated to a senior reviewer"),
                            ("alarm.raised", "There is an alarm for administrators"),
                            ("release.frozen", "A release is frozen"),
                            ("release.failed", "A release failed"),
                            ("erratum.confirmed", "An erratum of a release is confirmed"),
                            ("ping", "Test"),
                        ],
                        max_length=24,
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[("waiting", "Waiting"), ("delivered", "Delivered"), ("given_up", "Given up")],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("fence", models.PositiveIntegerField(default=0)),
                ("next_try_at", models.DateTimeField(null=True)),
                ("leased_until", models.DateTimeField(null=True)),
                ("tried_at", models.DateTimeField(null=True)),
                ("status", models.PositiveIntegerField(null=True)),
                ("milliseconds", models.PositiveIntegerField(null=True)),
                ("reply", models.TextField(blank=True)),
                ("error_message", annotator.models.messages.MessageField(null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("body", models.TextField()),
                (
                    "webhook",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="annotator.webhook",
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="webhook",
            index=models.Index(condition=models.Q(("removed_at", None)), fields=["project"], name="webhook_by_project"),
        ),
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("removed_at", None),
                    models.Q(("active", False), ("old_secret", ""), ("secret", "")),
                    _connector="OR",
                ),
                name="removed_webhook_has_no_secret",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhook",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("old_secret", ""), ("old_secret_until", None)),
                    models.Q(models.Q(("old_secret", ""), _negated=True), ("old_secret_until__isnull", False)),
                    _connector="OR",
                ),
                name="old_webhook_secret_has_an_end",
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(fields=["webhook", "-id"], name="webhook_delivery_log"),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                condition=models.Q(("state", "waiting")),
                fields=["webhook", "next_try_at"],
                name="webhook_delivery_waiting",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhookdelivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["waiting", "delivered", "given_up"])),
                name="webhook_delivery_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="webhookdelivery",
            constraint=models.CheckConstraint(
                condition=models.Q(("state", "waiting"), ("next_try_at", None), _connector="XOR"),
                name="waiting_webhook_delivery_is_due",
            ),
        ),
    ]
