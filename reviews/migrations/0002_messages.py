"""Feedback is stored as messages, as notices are."""

from importlib import import_module

from django.db import migrations, models

import annotator.models.messages

_annotator = import_module("annotator.migrations.0003_messages")


def forward(apps, schema_editor):
    _annotator.text_to_message(apps.get_model("reviews", "Feedback"), "message")


def back(apps, schema_editor):
    _annotator.message_to_text(apps.get_model("reviews", "Feedback"), "message")


class Migration(migrations.Migration):
    dependencies = [("reviews", "0001_initial"), ("annotator", "0003_messages")]

    operations = [
        migrations.RenameField("feedback", "text", "message"),
        migrations.AlterField("feedback", "message", models.TextField()),
        migrations.RunPython(forward, back),
        migrations.AlterField("feedback", "message", annotator.models.messages.MessageField()),
    ]
