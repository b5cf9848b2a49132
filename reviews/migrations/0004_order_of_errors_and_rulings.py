"""Errors and rulings are read in the order in which they were entered."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0003_rename_sent_back"),
    ]

    operations = [
        migrations.AlterModelOptions(
            name="reviewerror",
            options={"ordering": ["id"]},
        ),
        migrations.AlterModelOptions(
            name="ruling",
            options={"ordering": ["id"]},
        ),
    ]
