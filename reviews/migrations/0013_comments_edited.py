from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reviews", "0012_disputed_feedback_and_daily_goals"),
    ]

    operations = [
        migrations.AddField(
            model_name="comment",
            name="edited_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
    ]
