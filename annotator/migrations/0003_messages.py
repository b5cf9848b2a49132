"""Notices are stored as messages, so that each reader gets them in their language. Earlier texts stay as they are."""

import json

from django.db import migrations, models

import annotator.models.messages
from annotator.core.text import Message


def text_to_message(model, field):
    """Store each text as a message without values."""
    rows = list(model.objects.exclude(**{field: ""}).only(field))
    for row in rows:
        setattr(row, field, json.dumps({"text": getattr(row, field)}, ensure_ascii=False))
    model.objects.bulk_update(rows, [field], batch_size=500)


def message_to_text(model, field, length=None):
    """Store each message as its English text."""
    rows = list(model.objects.exclude(**{field: ""}).only(field))
    for row in rows:
        message = Message.from_json(json.loads(getattr(row, field)))
        text = message.render(lambda text, plural, count: plural if plural and count != 1 else text)
        setattr(row, field, text[:length])
    model.objects.bulk_update(rows, [field], batch_size=500)


def forward(apps, schema_editor):
    text_to_message(apps.get_model("annotator", "Notice"), "message")


def back(apps, schema_editor):
    message_to_text(apps.get_model("annotator", "Notice"), "message", 500)


class Migration(migrations.Migration):
    dependencies = [("annotator", "0002_search_append_only_compression")]

    operations = [
        migrations.AddField("user", "language", models.CharField(blank=True, editable=False, max_length=20)),
        migrations.RenameField("notice", "text", "message"),
        migrations.AlterField("notice", "message", models.TextField()),
        migrations.RunPython(forward, back),
        migrations.AlterField("notice", "message", annotator.models.messages.MessageField()),
    ]
