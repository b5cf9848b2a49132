"""An import says whether it may reopen dialogues that people have worked on; none did before."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("benchmark", "0002_native_lines"),
    ]

    operations = [
        migrations.AddField(
            model_name="importbatch",
            name="reopen",
            field=models.BooleanField(default=False),
        ),
    ]
