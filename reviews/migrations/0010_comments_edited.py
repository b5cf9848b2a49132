from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0009_withdrawn_cycles"),
    ]

    operations = [
        migrations.AddField(
            model_name="comment",
            name="edited_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
