"""People who wrote or chose parts of a dialogue before its first revision."""

from django.db import models

from annotator.models import Dialogue, User
from reviews.models.rows import Row


class CoAuthor(Row):
    """A person who may not review a dialogue, because parts of it are theirs. Its owner and the authors of its
    revisions are not listed: their own columns say so.
    """

    dialogue = models.ForeignKey(Dialogue, on_delete=models.PROTECT, related_name="co_authors", db_index=False)
    person = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["dialogue", "person"], name="co_author_once")]
