"""Views of lists that people keep: filters, order and columns under a name."""

from django.db import models
from django.db.models import Q
from django.utils import timezone

from annotator.models.keys import new_public_id
from annotator.models.people import Project, User

#: The most characters of a name, and of a query string.
MAX_NAME = 80
MAX_QUERY = 2000
#: The most columns of metadata in the list.
MAX_COLUMNS = 8


class SavedViewQuerySet(models.QuerySet["SavedView"]):
    def usable_by(self, user: User) -> "SavedViewQuerySet":
        """Return the person's own views and those that everybody in the project sees."""
        return self.filter(Q(person=user) | Q(shared=True))


class SavedView(models.Model):
    """A view of a project's dialogues: the query string of the list, under a name."""

    public_id = models.CharField(max_length=12, unique=True, default=new_public_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="saved_views", db_index=False)
    #: Whose it is; for a shared view, the administrator who saved it.
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    #: Whether every member of the project sees it.
    shared = models.BooleanField(default=False)
    name = models.CharField(max_length=MAX_NAME)
    query = models.CharField(max_length=MAX_QUERY, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    objects = SavedViewQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "person", "name"], condition=Q(shared=False), name="saved_view_name_once_per_person"
            ),
            models.UniqueConstraint(
                fields=["project", "name"], condition=Q(shared=True), name="shared_view_name_once_per_project"
            ),
            models.CheckConstraint(condition=~Q(name=""), name="saved_view_has_name"),
        ]

    def __str__(self) -> str:
        return self.name
