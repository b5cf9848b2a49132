from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("benchmark", "0003_runs")]

    operations = [
        migrations.AddField("score", "said", models.CharField(blank=True, max_length=16)),
        migrations.CreateModel(
            name="EntryStatistic",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("family", models.CharField(max_length=8)),
                ("language", models.CharField(blank=True, max_length=2)),
                ("entry", models.CharField(max_length=260)),
                ("runs", models.PositiveIntegerField()),
                ("right", models.PositiveIntegerField()),
                ("agreeing", models.PositiveIntegerField(default=0)),
                ("discrimination", models.FloatField(null=True)),
                ("flag", models.CharField(blank=True, max_length=12)),
                (
                    "item",
                    models.ForeignKey("benchmark.releaseitem", models.deletion.PROTECT, null=True, related_name="+"),
                ),
                (
                    "release",
                    models.ForeignKey("benchmark.release", models.deletion.PROTECT, related_name="entry_statistics"),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["release", "flag", "id"], name="entry_statistic_by_flag")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("release", "family", "language", "entry"), name="entry_statistic_once"
                    )
                ],
            },
        ),
    ]
