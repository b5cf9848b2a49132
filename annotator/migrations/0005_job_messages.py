"""Why a job failed is stored as a message, as notices are."""

from importlib import import_module

from django.db import migrations, models

import annotator.models.messages

_messages = import_module("annotator.migrations.0003_messages")


def forward(apps, schema_editor):
    jobs = apps.get_model("annotator", "Job")
    _messages.text_to_message(jobs, "error_message")
    jobs.objects.filter(error_message="").update(error_message=None)


def back(apps, schema_editor):
    jobs = apps.get_model("annotator", "Job")
    jobs.objects.filter(error_message=None).update(error_message="")
    _messages.message_to_text(jobs, "error_message")


class Migration(migrations.Migration):
    dependencies = [("annotator", "0004_rename_attempts")]

    operations = [
        migrations.RenameField("job", "error", "error_message"),
        migrations.AlterField("job", "error_message", models.TextField(null=True)),
        migrations.RunPython(forward, back),
        migrations.AlterField("job", "error_message", annotator.models.messages.MessageField(null=True)),
    ]
