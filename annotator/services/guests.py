"""Guests: members whose roles end after a last day."""

from datetime import date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from annotator.errors import Conflict, Invalid
from annotator.models import Membership, Project, Role, User
from annotator.services.access.permissions import require_administrator
from annotator.services.history.events import append_event
from annotator.services.members import end_role_of_guest, require_possible_guest

#: Roles that one pass ends.
MAX_EXPIRED = 500
#: Later days can't be written in every time zone.
LAST_YEAR = 9000


def end_of_day(project: Project, day: date) -> datetime:
    """Return when a day is over in the project's time zone. Raises Invalid for a day after ``LAST_YEAR``."""
    if day.year > LAST_YEAR:
        raise Invalid(_("Choose a day before the year %(year)d.") % {"year": LAST_YEAR + 1}, field="until")
    return datetime.combine(day + timedelta(days=1), time(), ZoneInfo(project.time_zone))


def last_day(project: Project, moment: datetime) -> date:
    """Return the day that ends at a moment in the project's time zone, or in which it lies."""
    return (moment.astimezone(ZoneInfo(project.time_zone)) - timedelta(microseconds=1)).date()


def end_expired_roles() -> int:
    """End the roles of guests whose time is over; return how many. Archived projects keep theirs."""
    over = Membership.objects.live().filter(expires_at__lte=timezone.now(), project__archived_at=None)
    rows = list(over.select_related("project", "user").order_by("pk")[:MAX_EXPIRED])
    for one in rows:
        end_role_of_guest(one)
    return len(rows)


def set_end_of_access(*, actor: User, project: Project, user: User, until: datetime | None) -> None:
    """Make a member a guest whose roles end then; None: no longer one. Raises Invalid, or Conflict without a role."""
    with transaction.atomic():
        held = Membership.objects.live().filter(Q(role=Role.ADMINISTRATOR) | Q(user=user), project=project)
        rows = list(held.select_for_update(no_key=True).order_by("pk"))
        require_administrator(actor=actor, project=project)
        mine = [one for one in rows if one.user_id == user.pk]
        if not mine:
            raise Conflict(_("%(person)s has no role in this project.") % {"person": user})
        if until is not None:
            require_possible_guest([one.role for one in mine], until)
        before = mine[0].expires_at
        if before == until:
            return
        Membership.objects.filter(pk__in=[one.pk for one in mine]).update(expires_at=until)
        append_event(
            actor=actor,
            project=project,
            kind="membership.limited",
            before={"user": user.public_id, "until": before and before.isoformat()},
            after={"user": user.public_id, "until": until and until.isoformat()},
        )
