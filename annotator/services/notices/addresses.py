"""Absolute addresses for mails and for links that people share.

They come from ``SITE_URL``, not from a request's Host header, which its sender can choose.
"""

from django.conf import settings


def absolute_url(path: str) -> str:
    """Return the address of a page; ``path`` begins with a slash."""
    return f"{settings.SITE_URL}{path}"
