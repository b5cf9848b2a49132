"""Which pair of a round looks at an item."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0008_workload"),
    ]

    operations = [
        migrations.AddField(
            model_name="drawitem",
            name="pair",
            field=models.PositiveSmallIntegerField(null=True),
        ),
    ]
