"""Lists are in the order of when things came in, and a gold item bears the id of the dialogue it stands for.

To take a constraint away, Django makes SQLite's table anew, and its triggers go with the old one: those that keep the
search index are written again.
"""

from importlib import import_module

from django.db import migrations, models

_TRIGGERS = [
    statement
    for statement in import_module("annotator.migrations.0002_search")._SQLITE
    if statement.startswith("CREATE TRIGGER")
]
_LISTS = {
    "dialogue_by_project": [],
    "dialogue_by_status": ["status"],
    "dialogue_by_stage": ["stage"],
    "dialogue_by_owner": ["owner"],
    "dialogue_by_language": ["language"],
}
_PUBLISHED = models.Q(published=True)
_FOUND = {
    f"dialogue_with_{severity}s": models.Q(("published", True), (f"{severity}_count__gt", 0))
    for severity in ("error", "warning")
}


def write_triggers(apps, schema_editor):
    if schema_editor.connection.vendor == "sqlite":
        for statement in _TRIGGERS:
            schema_editor.execute(statement)


class Migration(migrations.Migration):
    dependencies = [("annotator", "0014_tokens_since")]

    operations = [
        *(migrations.RemoveIndex(model_name="dialogue", name=name) for name in (*_LISTS, *_FOUND)),
        migrations.RunPython(migrations.RunPython.noop, write_triggers),
        migrations.RemoveConstraint(model_name="dialogue", name="dialogue_external_id_once"),
        migrations.RunPython(write_triggers, migrations.RunPython.noop),
        migrations.AddConstraint(
            model_name="dialogue",
            constraint=models.UniqueConstraint(
                models.F("project"),
                models.F("external_id"),
                models.Case(models.When(set_apart="gold", then="id"), default=0, output_field=models.BigIntegerField()),
                name="dialogue_external_id_once",
            ),
        ),
        *(
            migrations.AddIndex(
                model_name="dialogue",
                index=models.Index(
                    fields=["project", *more, "created_at", "public_id"], condition=_PUBLISHED, name=name
                ),
            )
            for name, more in _LISTS.items()
        ),
        *(
            migrations.AddIndex(
                model_name="dialogue",
                index=models.Index(fields=["project", "created_at", "public_id"], condition=condition, name=name),
            )
            for name, condition in _FOUND.items()
        ),
        migrations.RemoveIndex(model_name="notice", name="notice_by_person"),
        migrations.AddIndex(
            model_name="notice",
            index=models.Index(fields=["person", "-created_at", "-public_id"], name="notice_by_person"),
        ),
    ]
