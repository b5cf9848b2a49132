"""Nothing is claimed in an archived project. (Claims write no events, which would be refused.)"""

from importlib import import_module

from django.db import migrations

_archive = import_module("annotator.migrations.0014_archived_projects")
_TABLE = "reviews_claim"


def refuse(apps, schema_editor):
    _archive.refuse_in_archive(schema_editor, _TABLE, "TRUE")


def accept(apps, schema_editor):
    _archive.accept_in_archive(schema_editor, _TABLE)


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0014_archived_projects"),
        ("reviews", "0006_agreement_of_custom_fields"),
    ]

    operations = [migrations.RunPython(refuse, accept)]
