"""The metadata of the dialogues that are there, for filters and for the search."""

from django.db import migrations

from annotator.core.metadata import metadata_entries
from annotator.core.schema import load_text
from annotator.core.search import describe_document

#: Documents in memory at a time.
_SLICE = 20


def fill(apps, schema_editor):
    dialogues = apps.get_model("annotator", "Dialogue").objects.using(schema_editor.connection.alias)
    metadata = apps.get_model("annotator", "DialogueMetadata").objects.using(schema_editor.connection.alias)
    model = metadata.model
    # Documents without unknown fields are not read.
    waiting = dialogues.filter(head__content__contains='"extra":{"').order_by("pk")
    last = 0
    while True:
        rows = list(
            waiting.filter(pk__gt=last).values_list("pk", "project_id", "search_text", "head__content")[:_SLICE]
        )
        if not rows:
            return
        for key, project, search_text, content in rows:
            document = load_text(content)
            entries = metadata_entries(document)
            if not entries:
                continue
            metadata.bulk_create(
                model(dialogue_id=key, project_id=project, key=name, value=value) for name, value in entries
            )
            found = describe_document(document).search_text
            if found != search_text:
                dialogues.filter(pk=key).update(search_text=found)
        last = rows[-1][0]


def empty(apps, schema_editor):
    apps.get_model("annotator", "DialogueMetadata").objects.using(schema_editor.connection.alias).all().delete()


class Migration(migrations.Migration):
    dependencies = [("annotator", "0017_metadata_and_saved_views")]

    operations = [migrations.RunPython(fill, empty)]
