"""An index of skipped claims, so that a person gets what they have skipped after everything else."""

from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("reviews", "0009_withdrawn_cycles")]

    operations = [
        migrations.AddIndex(
            model_name="claim",
            index=models.Index(
                fields=["person", "project", "-id"], condition=Q(("state", "skipped")), name="claim_skipped"
            ),
        ),
    ]
