"""Each dialogue has the sequence of its first policies, which the coverage of a project counts."""

from django.db import migrations, models

from annotator.core.coverage import sequence_of

#: Rows at a time.
_SLICE = 5000


def fill(apps, schema_editor):
    dialogues = apps.get_model("annotator", "Dialogue").objects.using(schema_editor.connection.alias)
    last = 0
    while rows := list(dialogues.filter(pk__gt=last).order_by("pk").values_list("pk", "policies")[:_SLICE]):
        by_sequence = {}
        for key, policies in rows:
            by_sequence.setdefault(sequence_of(policies[1:-1].split(",")), []).append(key)
        by_sequence.pop("", None)
        for sequence, keys in by_sequence.items():
            for start in range(0, len(keys), 500):
                dialogues.filter(pk__in=keys[start : start + 500]).update(sequence=sequence)
        last = rows[-1][0]


class Migration(migrations.Migration):
    dependencies = [("annotator", "0028_toolset_review")]

    operations = [
        migrations.SeparateDatabaseAndState(
            # Django would build the table again on SQLite, without the triggers of the search index.
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE annotator_dialogue ADD COLUMN sequence varchar(60) DEFAULT '' NOT NULL",
                    "ALTER TABLE annotator_dialogue DROP COLUMN sequence",
                )
            ],
            state_operations=[
                migrations.AddField(
                    model_name="dialogue",
                    name="sequence",
                    field=models.CharField(blank=True, db_default="", default="", max_length=60),
                )
            ],
        ),
        migrations.AddIndex(
            "dialogue",
            models.Index(
                condition=models.Q(("archived_at__isnull", True), ("published", True)),
                fields=["project", "sequence", "status", "gold_role"],
                name="dialogue_by_sequence",
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
