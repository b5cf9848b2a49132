"""What was sent with a review is kept as a hash: the same sent again is told from something else."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0011_work_set_aside"),
    ]

    operations = [
        migrations.AddField(
            model_name="review",
            name="submission_hash",
            field=models.CharField(editable=False, max_length=64, null=True),
        ),
    ]
