"""Actions of the benchmark inside the application: create people and tokens, verify items, find duplicate claims.

Run ``python -m scripts.bench_site ACTION`` with the environment variables of the application. Prints one line of JSON.
"""

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import django

SLUG = "bench"
ANNOTATORS = 8


def prepare() -> dict[str, Any]:
    """Create a project with the c3 protocol and eight annotators. Return their tokens and sessions."""
    from django.conf import settings
    from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
    from django.contrib.sessions.backends.db import SessionStore
    from django.utils import timezone

    from annotator.models import Project, Role, User
    from annotator.services.accounts.tokens import create_token
    from annotator.services.members import grant_role
    from annotator.services.projects import create_project
    from reviews.services.protocols.versions import adopt_preset

    project = Project.objects.filter(slug=SLUG).first() or create_project(actor=None, name="Bench", slug=SLUG)
    adopt_preset(actor=None, project=project, preset="c3")
    people = []
    names = [(f"annotator{n}", Role.ANNOTATOR) for n in range(1, ANNOTATORS + 1)]
    for name, role in [*names, ("senior", Role.SENIOR_REVIEWER), ("administrator", Role.ADMINISTRATOR)]:
        user = User.objects.create_user(username=name, display_name=name.capitalize(), toured_at=timezone.now())
        grant_role(actor=None, project=project, user=user, role=role)
        _, secret = create_token(actor=user, name="measurement", expires_at=None)
        session = SessionStore()
        session[SESSION_KEY] = str(user.pk)
        [session[BACKEND_SESSION_KEY]] = settings.AUTHENTICATION_BACKENDS
        session[HASH_SESSION_KEY] = user.get_session_auth_hash()
        session.create()
        people.append({"name": name, "id": user.public_id, "token": secret, "session": session.session_key})
    return {"people": people}


def analyze() -> dict[str, Any]:
    """Update the planner's statistics, as autovacuum does within a minute after an import."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    return {"database": connection.vendor, "version": _database_version()}


def middle_cursors() -> dict[str, Any]:
    """Return the cursors of five dialogues in the middle of the list."""
    from annotator.models import Dialogue
    from annotator.services.database.keyset import BY_TIME, cursor_of

    rows = Dialogue.objects.filter(project__slug=SLUG).order_by(*BY_TIME)
    begin = rows.count() // 2
    return {"cursors": [cursor_of(row) for row in rows.only(*BY_TIME)[begin : begin + 5]]}


def _database_version() -> str:
    from django.db import connection

    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute("SHOW server_version")
            return f"PostgreSQL {cursor.fetchone()[0].split()[0]}"
        cursor.execute("SELECT sqlite_version()")
        return f"SQLite {cursor.fetchone()[0]}"


def jobs() -> dict[str, Any]:
    """Return the state and duration of each job."""
    from annotator.models import Job

    rows = Job.objects.order_by("pk")
    return {
        "jobs": [
            {
                "kind": job.kind,
                "state": job.state,
                "done": job.progress_done,
                "error": job.error,
                "seconds": (job.ended_at - job.started_at).total_seconds() if job.ended_at and job.started_at else None,
            }
            for job in rows
        ]
    }


def find_duplicate_claims() -> dict[str, Any]:
    """Count claims that overlap, reviews of one person in the same round, reviews without a claim, and own work."""
    from django.db.models import Count, F, Q

    from reviews.models import Claim, Review, Slot

    overlapping = (
        # One filter, so that both conditions refer to the same later claim.
        Claim.objects.filter(
            Q(ended_at=None) | Q(ended_at__gt=F("slot__claims__created_at")), slot__claims__pk__gt=F("pk")
        ).count()
    )
    twice = Review.objects.values("stage_run", "person").annotate(n=Count("id")).filter(n__gt=1).count()
    unclaimed = Review.objects.exclude(slot__claims__person=F("person"), slot__claims__state="submitted").count()
    own = Slot.objects.exclude(stage_kind="self_check").filter(holder__isnull=False, holder=F("owner")).count()
    return {
        "claims": Claim.objects.count(),
        "reviews": Review.objects.count(),
        "overlapping": overlapping,
        "twice_by_one_person": twice,
        "unclaimed_reviews": unclaimed,
        "own_work_cross_checked": own,
    }


def coverage() -> dict[str, Any]:
    """Count the entries of all sequences of policies several times. Return the seconds of each."""
    from annotator.models import Project
    from benchmark.services.coverage.counting import read_coverage

    project = Project.objects.get(slug=SLUG)
    seconds = []
    for _ in range(20):
        start = time.perf_counter()
        read_coverage(project=project)
        seconds.append(time.perf_counter() - start)
    return {"seconds": seconds}


def verify_all() -> dict[str, Any]:
    """Verify all dialogues of the project, so that they can be released."""
    from reviews.services.statistics.all_counts import fold_all
    from scripts.bench_verified import verify_everything

    # Count the new reviews now. Otherwise the release would do it, within its measured time.
    fold_all()
    return {"verified": verify_everything(SLUG)}


ACTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "prepare": prepare,
    "analyze": analyze,
    "middle-cursors": middle_cursors,
    "jobs": jobs,
    "find-duplicate-claims": find_duplicate_claims,
    "coverage": coverage,
    "verify-all": verify_all,
}


def main() -> None:
    """Run one of the actions."""
    django.setup()
    print(json.dumps(ACTIONS[sys.argv[1]]()))


if __name__ == "__main__":
    main()
