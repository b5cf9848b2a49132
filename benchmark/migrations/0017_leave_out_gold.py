from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0016_reopen_at_a_stage"),
    ]

    operations = [
        migrations.AddField(
            model_name="release",
            name="leave_out_gold",
            field=models.BooleanField(default=False),
        ),
    ]
