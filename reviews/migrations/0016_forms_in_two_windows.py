"""The form of a review has versions: two windows at one form do not overwrite each other."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reviews", "0015_audits_by_draw")]

    operations = [
        migrations.AddField(model_name="reviewdraft", name="version", field=models.PositiveIntegerField(default=0)),
        migrations.AddField(model_name="reviewdraft", name="steps", field=models.JSONField(default=list)),
    ]
