"""Lists of dialogues can be sorted; each order has an index."""

from django.db import migrations, models

_ORDERS = {
    "dialogue_by_change": "updated_at",
    "dialogue_by_external_id": "external_id",
    "dialogue_by_title": "title",
    "dialogue_by_tasks": "task_count",
    "dialogue_by_calls": "call_count",
    "dialogue_by_errors": "error_count",
    "dialogue_by_warnings": "warning_count",
}


class Migration(migrations.Migration):
    dependencies = [("annotator", "0018_fill_metadata")]

    operations = [
        *(
            migrations.AddIndex(
                "dialogue",
                models.Index(
                    condition=models.Q(("published", True)),
                    fields=["project", first, "created_at", "public_id"],
                    name=name,
                ),
            )
            for name, first in _ORDERS.items()
        ),
        # The index by change begins like this one.
        migrations.RemoveIndex("dialogue", "dialogue_by_update"),
    ]
