"""What was checked and found clean is marked, so that a release need not check it again. Nothing has a mark at first."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0009_event_of_no_dialogue"),
    ]

    operations = [
        migrations.AddField(
            model_name="revision",
            name="clean_mark",
            field=models.CharField(editable=False, max_length=64, null=True),
        ),
    ]
