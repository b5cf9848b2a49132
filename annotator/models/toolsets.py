"""Toolsets, their revisions, categories and tags."""

from typing import Any

from django.db import models
from django.utils import timezone

from annotator.core.schema import load_text
from annotator.core.tags import MAX_LENGTH
from annotator.models.keys import new_public_id
from annotator.models.people import Project, User


class ToolsetCategory(models.Model):
    """A subject of toolsets; each project has its own list."""

    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="toolset_categories")
    name = models.CharField(max_length=60)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "name"], name="toolset_category_once_per_project"),
            models.CheckConstraint(condition=~models.Q(name=""), name="toolset_category_has_name"),
        ]

    def __str__(self) -> str:
        return self.name


class Toolset(models.Model):
    """A set of tools with revisions of its own; many dialogues may share one."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="toolsets")
    name = models.CharField(max_length=120)
    #: The newest revision. Null only until it is written, in the same transaction.
    head = models.ForeignKey("ToolsetRevision", on_delete=models.SET_NULL, null=True, related_name="+")
    category = models.ForeignKey(ToolsetCategory, on_delete=models.PROTECT, null=True, related_name="toolsets")
    licence = models.CharField(max_length=120, blank=True, default="")
    #: Where the tools come from: an address, or a few words.
    source = models.CharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="toolset_name_once_per_project")]

    def __str__(self) -> str:
        return self.name


class ToolsetRevision(models.Model):
    """An immutable revision of a toolset: the canonical text of ``{"tools": […]}`` and its hash.

    Stateful tools also have their ``implementation`` in the text.
    """

    toolset = models.ForeignKey(Toolset, on_delete=models.PROTECT, related_name="revisions")
    #: Denormalised from the toolset: imports look revisions up by (project, hash).
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+")
    number = models.PositiveIntegerField()
    author = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+")
    tool_count = models.PositiveIntegerField(default=0)
    #: What lists and statistics show without reading the tools: see ``annotator.core.tools.facts``. It may be null, so
    #: that SQLite adds the column without rewriting the table, which would lose its triggers.
    facts = models.JSONField(null=True, editable=False)
    content_hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    content = models.TextField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["toolset", "number"], name="toolset_revision_number_once"),
            models.UniqueConstraint(fields=["project", "content_hash"], name="toolset_revision_content_once"),
        ]

    def __str__(self) -> str:
        return f"{self.toolset} r{self.number}"

    def tools(self) -> list[dict[str, Any]]:
        """Return the tools of this revision."""
        tools: list[dict[str, Any]] = load_text(self.content)["tools"]
        return tools

    def implementation(self) -> dict[str, Any] | None:
        """Return the code of stateful tools, as ``read_implementation`` does; None for other tools."""
        return load_text(self.content).get("implementation")


class ToolsetTag(models.Model):
    """A tag of a toolset. Everyone in the project sees it."""

    toolset = models.ForeignKey(Toolset, on_delete=models.PROTECT, related_name="tags", db_index=False)
    name = models.CharField(max_length=MAX_LENGTH)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["toolset", "name"], name="tag_once_per_toolset"),
            models.CheckConstraint(condition=~models.Q(name=""), name="toolset_tag_has_name"),
        ]
        indexes = [models.Index(fields=["name", "toolset"], name="toolset_tag_by_name")]

    def __str__(self) -> str:
        return self.name
