from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0012_custom_fields"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            # Django would build the table again on SQLite, without the triggers of the search index.
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE annotator_dialogue ADD COLUMN labels text DEFAULT '' NOT NULL",
                    "ALTER TABLE annotator_dialogue DROP COLUMN labels",
                )
            ],
            state_operations=[
                migrations.AddField(
                    model_name="dialogue",
                    name="labels",
                    field=models.TextField(blank=True, db_default="", default=""),
                )
            ],
        ),
    ]
