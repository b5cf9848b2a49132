"""Deletions of projects, which the guard of events lets pass once they have started.

Events of dialogues that people have seen are otherwise kept for good (``annotator.0002``).
"""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

import annotator.models.keys

_FUNCTION = (
    "CREATE OR REPLACE FUNCTION annotator_refuse_event_deletion() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF {started}(OLD.dialogue_id IS NULL OR EXISTS "
    "(SELECT FROM annotator_dialogue WHERE id = OLD.dialogue_id AND published)) "
    "THEN RAISE EXCEPTION 'annotator_event is append-only' USING ERRCODE = 'integrity_constraint_violation'; END IF; "
    "RETURN OLD; END $$"
)
_UNLESS_DELETED = (
    "NOT EXISTS (SELECT FROM annotator_projectdeletion "
    "WHERE project_key = OLD.project_id AND started_at IS NOT NULL) AND "
)


def let_deletions_pass(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(_FUNCTION.format(started=_UNLESS_DELETED), params=None)


def keep_all_events(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(_FUNCTION.format(started=""), params=None)


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0014_archived_projects"),
    ]

    operations = [
        migrations.CreateModel(
            name="ProjectDeletion",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "public_id",
                    models.CharField(
                        default=annotator.models.keys.new_public_id, editable=False, max_length=12, unique=True
                    ),
                ),
                ("project_key", models.BigIntegerField(unique=True)),
                ("project_public_id", models.CharField(max_length=12)),
                ("slug", models.SlugField(db_index=False, max_length=60)),
                ("name", models.CharField(max_length=120)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ("due_at", models.DateTimeField()),
                ("started_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "person",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("started_at", None), ("started_at__gte", models.F("due_at")), _connector="OR"
                        ),
                        name="project_deletion_not_before_it_is_due",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("ended_at", None), ("started_at__isnull", False), _connector="OR"),
                        name="project_deletion_started_before_its_end",
                    ),
                ],
            },
        ),
        migrations.RunPython(let_deletions_pass, keep_all_events),
    ]
