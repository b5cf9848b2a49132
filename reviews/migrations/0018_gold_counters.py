"""Nobody reads how many reviews of gold items were expected and are in: the figures people see are worked out apart."""

from django.db import migrations, models
from django.db.migrations.state import StateApps


def forget(apps: StateApps, schema_editor: object) -> None:
    """Counters without a reader. ``recount_statistics --repair`` makes them again in an older version."""
    for name in ("Counter", "CounterDelta"):
        rows = apps.get_model("reviews", name).objects
        for start in ("gold:left:", "gold:done:"):
            rows.filter(key__startswith=start).delete()


class Migration(migrations.Migration):
    dependencies = [("reviews", "0017_rulings_of_feedback")]

    operations = [
        migrations.RunPython(forget, migrations.RunPython.noop),
        # With a default, so that the way back has something to write.
        migrations.AlterField("golditem", "pool", models.PositiveIntegerField(default=0)),
        migrations.RemoveField("golditem", "pool"),
    ]
