"""Agreement is counted again, with the pairs of tasks of one dialogue; backwards, without them.

All counts are deleted, and all reviews that can be compared wait to be counted. The task that counts does so within
minutes, ``recount_statistics --repair`` at once.
"""

from django.db import migrations

#: Rows of the outbox that one statement writes.
_WRITTEN = 1000


def count_again(apps, schema_editor):
    using = schema_editor.connection.alias
    pending = apps.get_model("reviews", "AgreementPending").objects.using(using)
    runs = apps.get_model("reviews", "StageRun").objects.using(using)
    apps.get_model("reviews", "AgreementCount").objects.using(using).all().delete()
    # Those among them that do not count are sorted out when they are counted.
    compared = runs.filter(state="settled", blind=True, cycle__number=1, discrepancy_count__isnull=False)
    waiting = set(pending.values_list("stage_run_id", flat=True))
    rows = [
        pending.model(stage_run_id=run, project_id=project)
        for run, project in compared.order_by("pk").values_list("pk", "project_id")
        if run not in waiting
    ]
    pending.bulk_create(rows, batch_size=_WRITTEN)


class Migration(migrations.Migration):
    dependencies = [("reviews", "0014_times_of_answers")]

    operations = [migrations.RunPython(count_again, count_again)]
