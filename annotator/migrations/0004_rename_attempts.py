"""Names the model after what it stores."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("annotator", "0003_messages")]

    operations = [migrations.RenameModel("Attempts", "AttemptCount")]
