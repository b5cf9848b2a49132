from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0015_same_erratum_once"),
    ]

    operations = [
        migrations.AddField(
            model_name="importbatch",
            name="reopen_at",
            field=models.CharField(blank=True, max_length=40),
        ),
    ]
