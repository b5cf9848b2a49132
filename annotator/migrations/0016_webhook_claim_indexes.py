from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0015_project_deletions"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="webhookdelivery", name="webhook_delivery_waiting"),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                condition=models.Q(("state", "waiting")),
                fields=["webhook", "id", "next_try_at"],
                name="webhook_delivery_in_order",
            ),
        ),
        migrations.AddIndex(
            model_name="webhookdelivery",
            index=models.Index(
                condition=models.Q(("leased_until__isnull", False)),
                fields=["webhook", "leased_until"],
                name="webhook_delivery_leased",
            ),
        ),
    ]
