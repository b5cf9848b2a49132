"""Trajectories and what came of them keep the kind of their numbers: they are text now, for jsonb makes an integer of 1e20."""

from django.db import migrations

from annotator.models.exact import ExactJSONField


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0017_language_variants"),
    ]

    operations = [
        migrations.AlterField(model_name="replay", name="pasted", field=ExactJSONField(null=True)),
        migrations.AlterField(model_name="replay", name="record", field=ExactJSONField(null=True)),
    ]
