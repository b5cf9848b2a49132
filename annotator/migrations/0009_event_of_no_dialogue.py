"""The history of a project's settings, newest first: these events are few among the many of dialogues."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0008_replays"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                fields=["project", "-id"], condition=models.Q(("dialogue", None)), name="event_of_no_dialogue"
            ),
        ),
    ]
