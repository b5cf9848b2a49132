"""An item may wait for a draw that is no audit’s: a round’s."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0019_cancellations"),
    ]

    operations = [
        migrations.AlterField(
            model_name="dialogue",
            name="status",
            field=models.CharField(
                choices=[
                    ("candidate", "Candidate"),
                    ("in_review", "In review"),
                    ("escalated", "Escalated"),
                    ("pooled", "Waiting for the draw"),
                    ("verified", "Verified"),
                    ("rejected", "Rejected"),
                ],
                default="candidate",
                max_length=12,
            ),
        ),
    ]
