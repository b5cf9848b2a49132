"""The kind of a dialogue is that of its content; constrained ones were listed as dialogues of many turns.

Canonical content has its keys in order, so a constrained document begins with its answer, and no other does.
"""

from django.db import migrations


def forwards(apps, schema_editor):
    revisions = apps.get_model("annotator", "Revision").objects.filter(content__startswith='{"answer":')
    apps.get_model("annotator", "Dialogue").objects.filter(head__in=revisions).update(kind="constrained")


class Migration(migrations.Migration):
    dependencies = [("annotator", "0010_clean_mark")]

    operations = [migrations.RunPython(forwards, migrations.RunPython.noop)]
