"""A review whose work cannot be counted is set aside with the reason, so that the others go on."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reviews", "0010_pausing")]

    operations = [
        migrations.AddField(
            model_name="workpending",
            name="problem",
            field=models.CharField(blank=True, db_default="", default="", max_length=500),
        ),
    ]
