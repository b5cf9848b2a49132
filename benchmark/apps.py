from django.apps import AppConfig


class BenchmarkConfig(AppConfig):
    name = "benchmark"

    def ready(self) -> None:
        # Whoever starts or runs jobs must know their kinds.
        from benchmark.services import import_runner, near_duplicates, release_runner  # noqa: F401
