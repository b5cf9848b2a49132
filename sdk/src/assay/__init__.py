"""The Python client of Assay: ``Client`` for a server, ``load_release`` for the archive of a release."""

from assay.client import Client, Job, Project, RemoteRelease
from assay.errors import ApiError, AssayError, Conflict, Forbidden, JobFailed, NotFound, RateLimited, ReleaseError
from assay.release import Release, load_release

__all__ = [
    "ApiError", "AssayError", "Client", "Conflict", "Forbidden", "Job", "JobFailed", "NotFound", "Project",
    "RateLimited", "Release", "ReleaseError", "RemoteRelease", "load_release",
]  # fmt: skip
