"""Each dialogue has what the coverage of a project counts in columns, with indexes that it is counted from."""

from django.db import migrations, models
from django.db.models import OuterRef, Subquery

from annotator.core.coverage import DIFFICULTY, difficulties_of, tally_of
from annotator.core.schema.exact_json import load_stored

#: Rows at a time.
_SLICE = 5000
_COUNTED = {
    "dialogue_by_topologies": ["topology_tally"],
    "dialogue_by_information": ["information_tally"],
    "dialogue_by_toolset": ["toolset", "kind"],
    "dialogue_by_difficulty": ["difficulty_tally", "kind"],
    "dialogue_by_size": ["language", "task_count", "call_count", "kind"],
}


def fill(apps, schema_editor):
    using = schema_editor.connection.alias
    dialogues = apps.get_model("annotator", "Dialogue").objects.using(using)
    revisions = apps.get_model("annotator", "Revision").objects.using(using)
    toolset = revisions.filter(pk=OuterRef("head")).values("toolset_revision__toolset")[:1]
    last = 0
    columns = ("pk", "head", "topologies", "information", "labels")
    while rows := list(dialogues.filter(pk__gt=last).order_by("pk").values_list(*columns)[:_SLICE]):
        asked = {head for _, head, _, _, labels in rows if f"\n{DIFFICULTY}=" in labels}
        difficulties = {
            key: tally_of(difficulties_of(load_stored(content)))
            for start in range(0, len(asked), 500)
            for key, content in revisions.filter(pk__in=sorted(asked)[start : start + 500]).values_list("pk", "content")
        }
        by_columns = {}
        for key, head, topologies, information, _labels in rows:
            counted = (tally_of(topologies.split(",")), tally_of(information.split(",")), difficulties.get(head, ""))
            by_columns.setdefault(counted, []).append(key)
        for (topologies, information, difficulty), keys in by_columns.items():
            for start in range(0, len(keys), 500):
                dialogues.filter(pk__in=keys[start : start + 500]).update(
                    topology_tally=topologies, information_tally=information, difficulty_tally=difficulty
                )
        dialogues.filter(pk__gt=last, pk__lte=rows[-1][0]).update(toolset=Subquery(toolset))
        last = rows[-1][0]


def _column(name, field, sql):
    # Django would build the table again on SQLite, without the triggers of the search index.
    return migrations.SeparateDatabaseAndState(
        database_operations=[
            migrations.RunSQL(
                f"ALTER TABLE annotator_dialogue ADD COLUMN {sql}",
                f"ALTER TABLE annotator_dialogue DROP COLUMN {sql.split()[0]}",
            )
        ],
        state_operations=[migrations.AddField("dialogue", name, field)],
    )


def _text(name):
    field = models.CharField(blank=True, db_default="", default="", max_length=200)
    return _column(name, field, f"{name} varchar(200) DEFAULT '' NOT NULL")


class Migration(migrations.Migration):
    dependencies = [("annotator", "0029_coverage")]

    operations = [
        _text("topology_tally"),
        _text("information_tally"),
        _text("difficulty_tally"),
        _column(
            "toolset",
            models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=models.PROTECT,
                related_name="+",
                to="annotator.toolset",
            ),
            "toolset_id bigint NULL",
        ),
        *(
            migrations.AddIndex(
                "dialogue",
                models.Index(
                    condition=models.Q(("archived_at__isnull", True), ("published", True)),
                    fields=["project", *counted, "status", "gold_role"],
                    name=name,
                ),
            )
            for name, counted in _COUNTED.items()
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
