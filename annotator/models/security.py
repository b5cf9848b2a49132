"""The security log: sign-ins, changes of factors, tokens and permissions."""

from django.db import models
from django.utils import timezone

from annotator.models.people import User


class SecurityEvent(models.Model):
    """Something that matters for the security of accounts. Append-only: the database refuses changes."""

    created_at = models.DateTimeField(default=timezone.now)
    #: See ``annotator.services.security_log.KINDS``.
    kind = models.CharField(max_length=40)
    #: Whose account it is about; null: an unknown name was used, or it is about the installation.
    person = models.ForeignKey(
        User, on_delete=models.PROTECT, null=True, related_name="security_events", db_index=False
    )
    #: Who did it; null: the command line, or a person who was not signed in.
    actor = models.ForeignKey(User, on_delete=models.PROTECT, null=True, related_name="+", db_index=False)
    #: IP address; blank: unknown.
    address = models.CharField(max_length=45, blank=True)
    #: The browser or program, as it names itself.
    device = models.CharField(max_length=300, blank=True)
    #: What else is known, without secrets: {name: text, number or truth value}.
    details = models.JSONField(default=dict)

    class Meta:
        indexes = [
            models.Index(fields=["kind", "-id"], name="security_event_by_kind"),
            models.Index(fields=["person", "-id"], name="security_event_by_person"),
        ]

    def __str__(self) -> str:
        return f"{self.kind} at {self.created_at:%Y-%m-%d %H:%M}"


class CacheEntry(models.Model):
    """Django's cache: which codes of authenticator apps were used, so that none works twice, whichever process asks."""

    cache_key = models.CharField(max_length=255, primary_key=True)
    value = models.TextField()
    expires = models.DateTimeField(db_index=True)

    class Meta:
        db_table = "annotator_cache"

    def __str__(self) -> str:
        return self.cache_key
