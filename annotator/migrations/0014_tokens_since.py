"""API tokens end with the password, the account or the last role of the person they belong to."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0013_attempts"),
    ]

    operations = [
        migrations.AddField(
            model_name="user",
            name="tokens_since",
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
    ]
