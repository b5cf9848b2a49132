import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0020_generation"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Recording",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("content", models.TextField()),
                (
                    "generation",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="recording", to="benchmark.generation"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Proposal",
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
                ("model", models.CharField(blank=True, max_length=120)),
                ("task", models.PositiveSmallIntegerField()),
                ("relation", models.CharField(blank=True, max_length=30)),
                (
                    "outcome",
                    models.CharField(
                        choices=[
                            ("chosen", "Chosen"),
                            ("edited", "Edited and chosen"),
                            ("passed_over", "Not chosen"),
                            ("rejected", "Rejected"),
                            ("accepted", "Accepted"),
                            ("refused", "Refused"),
                        ],
                        max_length=11,
                    ),
                ),
                ("tries", models.PositiveSmallIntegerField(default=1)),
                ("code", models.CharField(blank=True, max_length=40)),
                ("event", models.PositiveIntegerField(default=0)),
                ("superseded", models.BooleanField(default=False)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("reason", models.TextField(blank=True)),
                (
                    "decided_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "generation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="proposals", to="benchmark.generation"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("tries__gt", 0)), name="proposal_tries_from_one")
                ],
            },
        ),
    ]
