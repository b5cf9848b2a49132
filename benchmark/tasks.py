"""Celery tasks. They only start what services do."""

from celery import shared_task

from benchmark.services.project_data.deletion import delete_due_projects


@shared_task(name="benchmark.tasks.delete_projects")
def delete_projects() -> None:
    """Delete projects whose time has come, some rows at a time."""
    delete_due_projects()
