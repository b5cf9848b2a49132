"""A third value keeps the kind of its numbers: they are text now, for jsonb makes an integer of 1e20."""

from django.db import migrations

from annotator.models.exact import ExactJSONField


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0013_feedback_by_time"),
    ]

    operations = [
        migrations.AlterField(model_name="ruling", name="value", field=ExactJSONField(null=True)),
    ]
