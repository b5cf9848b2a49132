"""The job that lets a generation go on."""

from functools import partial
from typing import Any

from django.db import transaction
from django.utils.translation import gettext_noop

from annotator.errors import Conflict
from annotator.services.jobs.jobs import Cancelled, Running, job_kind
from benchmark.models import Generation, GenerationStatus
from benchmark.services.generation.asking import beating
from benchmark.services.generation.reading import lock_generation
from benchmark.services.generation.recordings import asker_of
from benchmark.services.generation.requests import KIND, stop
from benchmark.services.generation.stepping import work_on


@job_kind(KIND, gettext_noop("Generation"), queue="models", quiet=True)
def run_generation(running: Running) -> dict[str, Any]:
    """Run a job of the kind ``generation``. An endpoint or a budget that pauses it fails the job."""
    generation = Generation.objects.get(public_id=running.job.parameters["generation"])
    asker = asker_of(generation, partial(beating, running))
    try:
        generation = work_on(
            generation_id=generation.pk, asker=asker, transaction=running.chunk,
            even_if_stopped=partial(running.chunk, even_if_cancelled=True), job_id=running.job.pk,
        )  # fmt: skip
    except Cancelled:
        with transaction.atomic():
            generation = lock_generation(generation.pk)
            if generation.job_id == running.job.pk:
                stop(generation)
        raise
    finally:
        asker.close()
    paused = generation.status == GenerationStatus.PAUSED and generation.job_id == running.job.pk
    if paused and generation.reason is not None:
        raise Conflict(generation.reason)
    return {"generation": generation.public_id, "status": generation.status}
