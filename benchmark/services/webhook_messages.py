"""Messages to webhooks about imports and releases."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.urls import reverse

from annotator.models import Project, WebhookEvent
from annotator.services.history.outbox import publishes
from annotator.services.notices.addresses import absolute_url
from benchmark.models import ImportBatch, Release, ReleaseState

_COUNTS = ("read", "created", "revised", "unchanged", "rejected", "with_errors")
#: What a message about an erratum takes from its event.
_OF_ERRATA = ("number", "severity")


def _is_of(kind: str, after: Mapping[str, Any]) -> bool:
    return after.get("kind") == kind


@publishes("import.published", WebhookEvent.IMPORT_FINISHED)
def _published(project: Project, after: Mapping[str, Any]) -> dict[str, Any]:
    counts = {name: after[name] for name in _COUNTS if name in after}
    return _import_data(project, str(after["import"])) | {"counts": counts}


@publishes("job.failed", WebhookEvent.IMPORT_FAILED, when=partial(_is_of, "import"))
def _import_failed(project: Project, after: Mapping[str, Any]) -> dict[str, Any] | None:
    batch = ImportBatch.objects.filter(project=project, job__public_id=after["job"], dry_run=False).first()
    return None if batch is None else _import_data(project, batch.public_id)


def _import_data(project: Project, public_id: str) -> dict[str, Any]:
    return {"import": {"id": public_id, "url": _page(project, "import-detail", public_id)}}


@publishes("release.frozen", WebhookEvent.RELEASE_FROZEN)
def _frozen(project: Project, after: Mapping[str, Any]) -> dict[str, Any] | None:
    found = Release.objects.filter(project=project, version=after["version"], state=ReleaseState.FROZEN).first()
    if found is None:
        return None
    return {**_release_data(project, found), "items": after["items"], "sha256": after["sha256"]}


@publishes("job.failed", WebhookEvent.RELEASE_FAILED, when=partial(_is_of, "release"))
def _release_failed(project: Project, after: Mapping[str, Any]) -> dict[str, Any] | None:
    found = Release.objects.filter(project=project, job__public_id=after["job"]).first()
    return None if found is None else _release_data(project, found)


def _release_data(project: Project, release: Release) -> dict[str, Any]:
    page = _page(project, "release-detail", release.public_id)
    return {"release": {"id": release.public_id, "version": release.version, "url": page}}


@publishes("erratum.confirmed", WebhookEvent.ERRATUM)
def _erratum(project: Project, after: Mapping[str, Any]) -> dict[str, Any]:
    found = Release.objects.filter(project=project, version=after.get("version"), state=ReleaseState.FROZEN).first()
    about = {name: after[name] for name in _OF_ERRATA if name in after}
    return about | (_release_data(project, found) if found is not None else {})


def _page(project: Project, name: str, public_id: str) -> str:
    return absolute_url(reverse(name, args=[project.slug, public_id]))
