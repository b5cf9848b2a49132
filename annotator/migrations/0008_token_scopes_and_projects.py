"""Tokens get scopes and projects. Existing ones keep all powers of their owners."""

from django.db import migrations, models
from django.db.models import Q

_TEXTS = ("read", "import", "annotate", "import annotate", "administer")


class Migration(migrations.Migration):
    dependencies = [("annotator", "0007_composites")]

    operations = [
        migrations.AddField("apitoken", "scopes", models.CharField(default="administer", max_length=40)),
        migrations.AddField("apitoken", "all_projects", models.BooleanField(default=True)),
        migrations.AddField(
            "apitoken",
            "projects",
            models.ManyToManyField(blank=True, related_name="+", to="annotator.project"),
        ),
        migrations.AddConstraint(
            "apitoken",
            models.CheckConstraint(condition=Q(("scopes__in", _TEXTS)), name="api_token_scopes_known"),
        ),
    ]
