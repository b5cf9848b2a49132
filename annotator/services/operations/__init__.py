"""How the installation is doing: workers, queues, sizes, backups, metrics."""
