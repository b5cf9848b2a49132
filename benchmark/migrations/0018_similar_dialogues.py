import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0026_search_by_beginning_of_id"),
        ("benchmark", "0017_leave_out_gold"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="SimilarDialogue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("size", models.PositiveIntegerField()),
                (
                    "dialogue",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="similar", to="annotator.dialogue"
                    ),
                ),
                (
                    "group",
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
                "indexes": [
                    models.Index(
                        condition=models.Q(("dialogue", models.F("group"))),
                        fields=["project", "-size"],
                        name="similar_group_by_size",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SimilaritySettings",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("threshold", models.PositiveSmallIntegerField(null=True)),
                ("extents", models.JSONField(blank=True, default=list)),
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
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="similarity_settings",
                        to="annotator.project",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("threshold__range", (50, 100))), name="similarity_threshold_in_range"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="SimilarPair",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("percent", models.PositiveSmallIntegerField()),
                (
                    "kind",
                    models.CharField(
                        choices=[("same", "The same"), ("values", "The same but for values"), ("overlap", "Overlap")],
                        max_length=8,
                    ),
                ),
                (
                    "dialogue",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="annotator.dialogue"
                    ),
                ),
                (
                    "other",
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
                "indexes": [models.Index(fields=["project"], name="similar_pair_by_project")],
                "constraints": [
                    models.UniqueConstraint(fields=("dialogue", "other"), name="similar_pair_once"),
                    models.CheckConstraint(
                        condition=models.Q(("dialogue", models.F("other")), _negated=True), name="similar_pair_of_two"
                    ),
                ],
            },
        ),
    ]
