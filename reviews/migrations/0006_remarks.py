"""Replies to comments; the guideline a review was made under; reading a feedback is reading its notice."""

import django.db.models.deletion
from django.db import migrations, models


def feedback_to_notices(apps, schema_editor):
    """A notice for every feedback there is, read where that was."""
    feedback, notice = apps.get_model("reviews", "Feedback"), apps.get_model("annotator", "Notice")
    rows = feedback.objects.select_related("dialogue__project").order_by("pk")
    notice.objects.bulk_create(
        (
            notice(
                person_id=row.person_id,
                project_id=row.dialogue.project_id,
                dialogue_id=row.dialogue_id,
                kind="feedback",
                subject=row.public_id,
                text=f"{row.dialogue.external_id}: {' '.join(row.text.split())}"[:500],
                target=f"/p/{row.dialogue.project.slug}/feedback/#f-{row.public_id}",
                created_at=row.created_at,
                read_at=row.read_at,
            )
            for row in rows.iterator(500)
        ),
        batch_size=500,
    )


def notices_to_feedback(apps, schema_editor):
    """When each was read goes back to where it stood; the notices that say no more go."""
    feedback, notice = apps.get_model("reviews", "Feedback"), apps.get_model("annotator", "Notice")
    read = notice.objects.filter(kind="feedback").exclude(read_at=None)
    for subject, read_at in read.values_list("subject", "read_at").iterator(500):
        feedback.objects.filter(public_id=subject).update(read_at=read_at)
    notice.objects.filter(kind="feedback").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0005_notices"),
        ("reviews", "0005_rounds"),
    ]

    operations = [
        migrations.AddField(
            model_name="comment",
            name="parent",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="replies",
                to="reviews.comment",
            ),
        ),
        migrations.AddField(
            model_name="review",
            name="guideline",
            field=models.ForeignKey(
                db_constraint=False,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="annotator.guideline",
            ),
        ),
        migrations.RunPython(feedback_to_notices, notices_to_feedback),
        migrations.RemoveField(model_name="feedback", name="read_at"),
    ]
