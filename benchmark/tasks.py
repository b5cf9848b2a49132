"""Celery tasks. They only start what services do."""

from annotator.services.jobs.periodic_tasks import periodic_task
from benchmark.services.coverage.coverage_first import apply_coverage_first
from benchmark.services.generation.claims import expire_overdue
from benchmark.services.project_data.deletion import delete_due_projects


@periodic_task("benchmark.tasks.delete_projects")
def delete_projects() -> None:
    """Delete projects whose time has come, some rows at a time."""
    delete_due_projects()


@periodic_task("benchmark.tasks.put_coverage_first")
def put_coverage_first() -> None:
    """Hand out first what fills gaps, in projects with this order."""
    apply_coverage_first()


@periodic_task("benchmark.tasks.tidy_claims")
def tidy_claims() -> None:
    """End expired claims on generations."""
    expire_overdue()
