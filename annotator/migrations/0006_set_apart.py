"""What tests people is told from ordinary dialogues.

Written out: to add a column that is never null, Django would make SQLite's table anew, and lose the triggers that keep
its search index.
"""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("annotator", "0005_notices")]

    operations = [
        migrations.RunSQL(
            sql="ALTER TABLE annotator_dialogue ADD COLUMN set_apart varchar(8) DEFAULT '' NOT NULL",
            reverse_sql="ALTER TABLE annotator_dialogue DROP COLUMN set_apart",
            state_operations=[
                migrations.AddField(
                    model_name="dialogue",
                    name="set_apart",
                    field=models.CharField(
                        blank=True,
                        choices=[("gold", "Gold item"), ("answer", "Known answer")],
                        db_default="",
                        default="",
                        max_length=8,
                    ),
                ),
            ],
        ),
    ]
