"""Audits are counted by draw: what was counted by owner alone is counted anew."""

from typing import Any

from django.db import migrations


def await_counting(apps: Any, editor: Any) -> None:
    """Put what was drawn from for an audit into the outbox. An earlier program counts it anew in its own way."""
    drawn = apps.get_model("reviews", "DrawItem").objects.filter(draw__algorithm=1)
    items = drawn.values_list("dialogue_id", "draw__project_id").order_by("dialogue_id").distinct()
    pending = apps.get_model("reviews", "CoursePending")
    pending.objects.bulk_create(
        (pending(dialogue_id=dialogue, project_id=project) for dialogue, project in items), batch_size=500
    )


class Migration(migrations.Migration):
    dependencies = [("reviews", "0014_exact_rulings")]

    operations = [migrations.RunPython(await_counting, await_counting)]
