"""Absolute addresses in what leaves for somebody else: mails, and links that people hand on.

They come from ``SITE_URL`` alone. The Host header of a request is what its sender wrote: only answers to that sender
may follow it.
"""

from django.conf import settings


def absolute_url(path: str) -> str:
    """The address of a page of this site, ``path`` beginning with a slash."""
    return f"{settings.SITE_URL}{path}"
