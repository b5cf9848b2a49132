"""Background jobs: their broker, queues and periodic tasks; the hosts that they may call; how long data is kept."""

from kombu.entity import Exchange, Queue

from annotator.config import environment as env
from annotator.config.settings.mode import DATA_DIR, EMBEDDED

REDIS_URL = env.redis(required=not EMBEDDED)
if REDIS_URL:
    CELERY_BROKER_URL = REDIS_URL
    CELERY_BROKER_TRANSPORT_OPTIONS: dict[str, object] = {"visibility_timeout": 3600, "socket_keepalive": True}
else:
    # A broker of files, which needs no server. Both sides use the same folder.
    BROKER_DIR = DATA_DIR / "broker"
    for folder in ("messages", "processed", "control"):
        env.folder("ASSAY_DATA", BROKER_DIR / folder)
    CELERY_BROKER_URL = "filesystem://localhost"
    CELERY_BROKER_TRANSPORT = "annotator.config.broker:Transport"
    CELERY_BROKER_TRANSPORT_OPTIONS = {
        "data_folder_in": str(BROKER_DIR / "messages"),
        "data_folder_out": str(BROKER_DIR / "messages"),
        "processed_folder": str(BROKER_DIR / "processed"),
        "control_folder": str(BROKER_DIR / "control"),
        "store_processed": False,
        "polling_interval": 0.1,
    }
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_DEFAULT_QUEUE = "assay"
# Each kind of work has its own queue and workers, so that it delays only its own kind: “assay” for what people wait
# for; “imports” for files from outside and for releases, which take minutes; “untrusted” for code from outside, which
# may hang; “models” for jobs that wait for endpoints for hours. A worker without --queues serves all.
# Each queue has its own exchange; otherwise messages would go to all.
JOB_QUEUES = ("assay", "imports", "untrusted", "models")
CELERY_TASK_QUEUES = [Queue(name, Exchange(name), routing_key=name) for name in JOB_QUEUES]
CELERY_TIMEZONE = "UTC"
# Model endpoints without a public address, or without https, to which workers may connect. In embedded mode all may be.
ENDPOINT_HOSTS = env.items("ENDPOINT_HOSTS", default=["*"] if EMBEDDED else [])
# The same for webhooks.
WEBHOOK_HOSTS = env.items("WEBHOOK_HOSTS", default=["*"] if EMBEDDED else [])
# Days after which data that is no longer needed is deleted (annotator.services.jobs.retention). 0: never.
KEEP_DAYS = {
    "draft_steps": env.days("KEEP_DRAFT_STEPS_DAYS", default=30),
    "uploads": env.days("KEEP_UPLOADS_DAYS", default=90),
    "tokens": env.days("KEEP_TOKENS_DAYS", default=90),
    "mails": env.days("KEEP_MAILS_DAYS", default=30),
    "webhooks": env.days("KEEP_WEBHOOKS_DAYS", default=30),
}
# For /readyz: the maximum age of the workers' last heartbeat, and the free space that the data folder needs.
WORKER_LAG_SECONDS = env.seconds("WORKER_LAG_SECONDS", default=300)
DISK_RESERVE_MB = env.integer("DISK_RESERVE_MB", default=500)
# The page of operators warns when the last backup is older.
BACKUP_MAX_AGE_HOURS = env.integer("BACKUP_MAX_AGE_HOURS", default=26, minimum=1, maximum=24 * env.MAX_DAYS)
CELERY_BEAT_SCHEDULER = "annotator.config.beat:Scheduler"
CELERY_BEAT_SCHEDULE_FILENAME = str(DATA_DIR / "celerybeat-schedule")
# Beat touches this file every few seconds.
BEAT_PULSE = DATA_DIR / "beat-pulse"
# A worker replaces a process after so many tasks, or above so many kilobytes, so that its memory does not grow.
CELERY_WORKER_MAX_TASKS_PER_CHILD = env.integer("WORKER_MAX_TASKS", default=1000, minimum=1)
CELERY_WORKER_MAX_MEMORY_PER_CHILD = 1024 * env.integer("WORKER_MAX_MEMORY_MB", default=700, minimum=200)
#: Name → (task, seconds between runs).
_PERIODIC_TASKS = {
    "forget-old-attempts": ("annotator.tasks.forget_old_attempts", 3600),
    "end-guests": ("annotator.tasks.end_guests", 60),
    "note-sizes": ("annotator.tasks.note_sizes", 3600),
    "tidy-up": ("annotator.tasks.tidy_up", 6 * 3600),
    "write-checkpoints": ("annotator.tasks.write_checkpoints", 3600),
    "resume-jobs": ("annotator.tasks.resume_jobs", 15),
    "tidy-claims": ("reviews.tasks.tidy_claims", 60),
    "fold-counts": ("reviews.tasks.fold_counts", 15),
    "rewind-cursors": ("reviews.tasks.rewind_cursors", 3600),
    "send-digests": ("annotator.tasks.send_digests", 600),
    "send-webhooks": ("annotator.tasks.send_webhooks", 15),
    "draw-samples": ("reviews.tasks.draw_samples", 60),
    "verify-waiting": ("reviews.tasks.verify_waiting", 60),
    "put-coverage-first": ("benchmark.tasks.put_coverage_first", 60),
    "tidy-generation-claims": ("benchmark.tasks.tidy_claims", 60),
    "delete-projects": ("benchmark.tasks.delete_projects", 60),
}
# Messages expire after five minutes or one interval. After a weekend without workers, a hundred thousand may be
# waiting, so jobs have a higher priority (0 is the highest in Redis).
CELERY_BEAT_SCHEDULE = {
    name: {"task": task, "schedule": float(seconds), "options": {"expires": max(300, seconds), "priority": 9}}
    for name, (task, seconds) in _PERIODIC_TASKS.items()
}
