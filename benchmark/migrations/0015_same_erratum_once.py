from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0014_errata_of_deleted_projects"),
    ]

    operations = [
        migrations.SeparateDatabaseAndState(
            # Django would build the table again on SQLite, without the trigger that refuses changes.
            database_operations=[
                migrations.RunSQL(
                    "ALTER TABLE benchmark_erratum ADD COLUMN content_sha256 varchar(64) DEFAULT '' NOT NULL",
                    "ALTER TABLE benchmark_erratum DROP COLUMN content_sha256",
                )
            ],
            state_operations=[
                migrations.AddField(
                    model_name="erratum",
                    name="content_sha256",
                    field=models.CharField(blank=True, db_default="", default="", max_length=64),
                )
            ],
        ),
        migrations.AddConstraint(
            model_name="erratum",
            constraint=models.UniqueConstraint(
                condition=models.Q(("content_sha256", ""), _negated=True),
                fields=("item", "content_sha256"),
                name="erratum_content_once",
            ),
        ),
    ]
