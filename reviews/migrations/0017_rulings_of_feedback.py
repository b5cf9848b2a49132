"""Feedback names the rulings that concern whoever it is for; a reviewer whom an expert overruled gets it as well."""

from django.db import migrations, models
from django.db.migrations.state import StateApps


def keep_what_was_named(apps: StateApps, schema_editor: object) -> None:
    """Feedback from before named every ruling of its review, and goes on doing so."""
    ruling, named = apps.get_model("reviews", "Ruling"), apps.get_model("reviews", "Feedback_rulings")
    pairs = ruling.objects.filter(review__feedback__isnull=False).values_list("review__feedback", "pk")
    rows = (named(feedback_id=feedback, ruling_id=key) for feedback, key in pairs.iterator())
    named.objects.bulk_create(rows, batch_size=1000)


def forget_the_overruled(apps: StateApps, schema_editor: object) -> None:
    """The kind did not exist before."""
    apps.get_model("reviews", "Feedback").objects.filter(kind="overruled").delete()


class Migration(migrations.Migration):
    dependencies = [("reviews", "0016_forms_in_two_windows")]

    operations = [
        migrations.AlterField(
            model_name="feedback",
            name="kind",
            field=models.CharField(
                choices=[
                    ("audit", "Audit"),
                    ("adjudication", "Adjudication"),
                    ("overruled", "Overruled"),
                    ("returned", "Sent back"),
                ],
                max_length=14,
            ),
        ),
        migrations.AddField(
            model_name="feedback",
            name="rulings",
            field=models.ManyToManyField(related_name="feedback", to="reviews.ruling"),
        ),
        migrations.RunPython(keep_what_was_named, forget_the_overruled),
    ]
