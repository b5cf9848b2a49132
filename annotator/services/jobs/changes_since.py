"""Rows with a job that may have changed since a moment."""

from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet


def with_job_since(rows: QuerySet[Any], moment: datetime) -> QuerySet[Any]:
    """Narrow rows with a ``job`` down to those that began or ended since, and those in progress."""
    return rows.filter(Q(created_at__gte=moment) | Q(job__ended_at__gte=moment) | Q(job__ended_at=None))
