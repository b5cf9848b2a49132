"""Names the model after what it stores."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("reviews", "0002_messages")]

    operations = [migrations.RenameModel("SentBack", "SentBackStratum")]
