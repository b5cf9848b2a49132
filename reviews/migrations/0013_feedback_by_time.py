"""Feedback is listed in the order of when it was given; gold items bear the id of the dialogue they stand for."""

from django.db import migrations, models


def name_alike(apps, schema_editor):
    for item in apps.get_model("reviews", "GoldItem").objects.select_related("source"):
        rows = apps.get_model("annotator", "Dialogue").objects.filter(pk=item.dialogue_id)
        rows.update(external_id=item.source.external_id)


def name_apart(apps, schema_editor):
    for item in apps.get_model("reviews", "GoldItem").objects.select_related("source"):
        rows = apps.get_model("annotator", "Dialogue").objects.filter(pk=item.dialogue_id)
        rows.update(external_id=f"{item.source.external_id[:180]}-{item.dialogue_id}")


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0015_lists_by_time"),
        ("reviews", "0012_review_submission_hash"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="feedback", name="feedback_by_person"),
        migrations.AddIndex(
            model_name="feedback",
            index=models.Index(fields=["person", "-created_at", "-public_id"], name="feedback_by_person"),
        ),
        migrations.RunPython(name_alike, name_apart),
    ]
