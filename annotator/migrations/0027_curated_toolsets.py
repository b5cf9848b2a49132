"""Toolsets get a category, tags, a licence, a source and their newest revision; revisions get facts of their tools.

Databases of before have no such values. The facts of their toolsets are counted here, so that lists and statistics
show them at once.
"""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import OuterRef, Subquery

from annotator.core.schema.exact_json import load_stored
from annotator.core.tools.categories import STARTING
from annotator.core.tools.facts import facts_of


def fill(apps, schema_editor):
    Project, Category = (apps.get_model("annotator", name) for name in ("Project", "ToolsetCategory"))
    Toolset, Revision = (apps.get_model("annotator", name) for name in ("Toolset", "ToolsetRevision"))
    for project in Project.objects.order_by("pk").values_list("pk", flat=True):
        Category.objects.bulk_create(Category(project_id=project, name=name) for name in STARTING)
    newest = Revision.objects.filter(toolset=OuterRef("pk")).order_by("-number").values("pk")[:1]
    Toolset.objects.update(head=Subquery(newest))
    for key in list(Revision.objects.order_by("pk").values_list("pk", flat=True)):
        text = Revision.objects.values_list("content", flat=True).get(pk=key)
        Revision.objects.filter(pk=key).update(facts=facts_of(load_stored(text)["tools"]))


class Migration(migrations.Migration):
    dependencies = [
        ("annotator", "0026_search_by_beginning_of_id"),
    ]

    operations = [
        migrations.AddField(
            model_name="toolset",
            name="head",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="annotator.toolsetrevision",
            ),
        ),
        migrations.AddField(
            model_name="toolset",
            name="licence",
            field=models.CharField(blank=True, default="", max_length=120),
        ),
        migrations.AddField(
            model_name="toolset",
            name="source",
            field=models.CharField(blank=True, default="", max_length=500),
        ),
        migrations.AddField(
            model_name="toolsetrevision",
            name="facts",
            field=models.JSONField(editable=False, null=True),
        ),
        migrations.CreateModel(
            name="ToolsetCategory",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=60)),
                (
                    "project",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="toolset_categories",
                        to="annotator.project",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="toolset",
            name="category",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="toolsets",
                to="annotator.toolsetcategory",
            ),
        ),
        migrations.CreateModel(
            name="ToolsetTag",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40)),
                (
                    "toolset",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="tags",
                        to="annotator.toolset",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="toolsetcategory",
            constraint=models.UniqueConstraint(fields=("project", "name"), name="toolset_category_once_per_project"),
        ),
        migrations.AddConstraint(
            model_name="toolsetcategory",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="toolset_category_has_name"
            ),
        ),
        migrations.AddIndex(
            model_name="toolsettag",
            index=models.Index(fields=["name", "toolset"], name="toolset_tag_by_name"),
        ),
        migrations.AddConstraint(
            model_name="toolsettag",
            constraint=models.UniqueConstraint(fields=("toolset", "name"), name="tag_once_per_toolset"),
        ),
        migrations.AddConstraint(
            model_name="toolsettag",
            constraint=models.CheckConstraint(
                condition=models.Q(("name", ""), _negated=True), name="toolset_tag_has_name"
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
