"""Where people find a generation."""

from django.test import Client
from django.urls import reverse

from annotator.models import User
from benchmark.models import Generation
from benchmark.services.generation.reading import list_generations
from tests.api_client import ApiClient


def seen_by(person: User, generation: Generation) -> list[str]:
    """Return where a person finds a generation."""
    client = Client()
    client.force_login(person)
    here = [generation.project.slug, generation.public_id]
    listed = list_generations(actor=person, project=generation.project).contains(generation)
    path = f"/api/projects/{here[0]}/generations/"
    found = {
        "list": listed
        and generation.public_id in client.get(reverse("generation-list", args=here[:1])).content.decode(),
        "page": client.get(reverse("generation", args=here)).status_code == 200,
        # It has only dialogues.
        "API": ApiClient(person).get(f"{path}{here[1]}/").status_code == 200,
        "My work": reverse("generation-next", args=here[:1]) in client.get(reverse("home")).content.decode(),
    }
    return [place for place, shown in found.items() if shown]
