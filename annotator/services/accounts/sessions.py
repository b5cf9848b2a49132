"""Sessions in the database, read by a statement that is written out: every page begins with it."""

from django.contrib.sessions.backends import db
from django.contrib.sessions.models import Session
from django.utils import timezone

from annotator.services.database.joined import Part, read_joined

_LIVE = "FROM django_session s WHERE s.session_key = %s AND s.expire_date > %s"


class SessionStore(db.SessionStore):
    """Django's own, whose sessions it also reads."""

    def _get_session_from_db(self) -> Session | None:
        found = read_joined((Part("s", Session),), _LIVE, [self.session_key, timezone.now()])
        if found:
            session: Session = found[0][0]
            return session
        self._session_key = None
        return None
