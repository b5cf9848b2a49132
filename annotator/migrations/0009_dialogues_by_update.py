"""Programs ask for the dialogues that have changed since a moment."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotator", "0008_token_scopes_and_projects")]

    operations = [
        migrations.AddIndex(
            "dialogue",
            models.Index(
                condition=models.Q(("published", True)), fields=["project", "updated_at"], name="dialogue_by_update"
            ),
        )
    ]
