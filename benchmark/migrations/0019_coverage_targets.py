import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0029_coverage"),
        ("benchmark", "0018_similar_dialogues"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="CoverageTarget",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "dimension",
                    models.CharField(
                        choices=[
                            ("level", "All sequences of a length"),
                            ("cell", "Sequence of policies"),
                            ("switches", "Switches (PTF)"),
                            ("information", "Information"),
                            ("topology", "Topology"),
                            ("calls", "Calls"),
                            ("tasks", "Tasks"),
                            ("language", "Language"),
                            ("category", "Category of the toolset"),
                        ],
                        max_length=12,
                    ),
                ),
                ("value", models.CharField(max_length=60)),
                ("wanted", models.PositiveIntegerField()),
                ("changed_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "changed_by",
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
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="coverage_targets",
                        to="annotator.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("project", "dimension", "value"), name="coverage_target_once"),
                    models.CheckConstraint(condition=models.Q(("wanted__gt", 0)), name="coverage_target_positive"),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "dimension__in",
                                [
                                    "level",
                                    "cell",
                                    "switches",
                                    "information",
                                    "topology",
                                    "calls",
                                    "tasks",
                                    "language",
                                    "category",
                                ],
                            )
                        ),
                        name="coverage_target_dimension_known",
                    ),
                ],
            },
        ),
    ]
