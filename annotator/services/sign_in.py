"""Who a session belongs to, read by a statement that is written out: every page begins with it."""

from allauth.account.auth_backends import AuthenticationBackend

from annotator.models import User
from annotator.services.joined import Part, read_joined


class SignInBackend(AuthenticationBackend):  # type: ignore[misc]
    """django-allauth's: by name or address, and password."""

    def get_user(self, user_id: int) -> User | None:
        """The person with this key; None for nobody, and for whoever was deactivated meanwhile."""
        found = read_joined((Part("u", User),), "FROM annotator_user u WHERE u.id = %s", [user_id])
        if not found or not self.user_can_authenticate(found[0][0]):
            return None
        person: User = found[0][0]
        return person
