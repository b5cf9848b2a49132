"""Archived projects, and the refusal of events and jobs in them.

Every change writes an event, so without events nothing changes. What ends, restores or checks an archived project
writes its events all the same, and so do people's tokens, which belong to no project.
"""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

_EVENTS = (
    "project.archived",
    "project.restored",
    "project.checkpoint",
    "project.deletion_planned",
    "project.deletion_cancelled",
)
_JOBS = ("project_export", "history")


def _quoted(names):
    return ", ".join(f"'{name}'" for name in names)


#: Table → when a new row is refused in an archived project.
_REFUSED = {
    "annotator_event": f"NEW.kind NOT LIKE 'job.%' AND NEW.kind NOT LIKE 'token.%' AND NEW.kind NOT IN ({_quoted(_EVENTS)})",
    "annotator_job": f"NEW.kind NOT IN ({_quoted(_JOBS)})",
}
_ARCHIVED = "SELECT 1 FROM annotator_archivedproject WHERE project_id = NEW.project_id"
#: A job waits while its project is being archived, which waits for jobs. Others do not: so many people would lock the
#: row of one project that they would slow each other down.
_FUNCTION = (
    "CREATE FUNCTION annotator_refuse_in_archive() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN "
    "IF TG_TABLE_NAME = 'annotator_job' THEN "
    "PERFORM 1 FROM annotator_project WHERE id = NEW.project_id FOR KEY SHARE; END IF; "
    f"IF EXISTS ({_ARCHIVED}) THEN RAISE EXCEPTION 'the project is archived' "
    "USING ERRCODE = 'integrity_constraint_violation'; END IF; RETURN NEW; END $$"
)


def refuse_in_archive(schema_editor, table, condition):
    """Refuse new rows of a table in archived projects; reviews' migrations ask too."""
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(
            f"CREATE TRIGGER {table}_archive BEFORE INSERT ON {table} FOR EACH ROW WHEN ({condition}) "
            "EXECUTE FUNCTION annotator_refuse_in_archive()",
            params=None,
        )
    else:
        schema_editor.execute(
            f"CREATE TRIGGER {table}_archive BEFORE INSERT ON {table} WHEN ({condition}) AND EXISTS ({_ARCHIVED}) "
            "BEGIN SELECT RAISE(ABORT, 'the project is archived'); END",
            params=None,
        )


def accept_in_archive(schema_editor, table):
    """Undo ``refuse_in_archive``."""
    on_table = f" ON {table}" if schema_editor.connection.vendor == "postgresql" else ""
    schema_editor.execute(f"DROP TRIGGER {table}_archive{on_table}")


def refuse(apps, schema_editor):
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute(_FUNCTION, params=None)
    for table, condition in _REFUSED.items():
        refuse_in_archive(schema_editor, table, condition)


def accept(apps, schema_editor):
    for table in _REFUSED:
        accept_in_archive(schema_editor, table)
    if schema_editor.connection.vendor == "postgresql":
        schema_editor.execute("DROP FUNCTION annotator_refuse_in_archive()")


class Migration(migrations.Migration):
    dependencies = [("annotator", "0013_dialogue_labels")]

    operations = [
        migrations.CreateModel(
            name="ArchivedProject",
            fields=[
                (
                    "project",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="archived",
                        serialize=False,
                        to="annotator.project",
                    ),
                ),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now, editable=False)),
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
        ),
        migrations.RunPython(refuse, accept),
    ]
