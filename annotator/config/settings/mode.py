"""The mode, the folder of the data, and what server mode refuses."""

import os
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured

from annotator.config import environment as env

BASE_DIR = Path(__file__).resolve().parents[3]
MODE = env.text("ASSAY_MODE", default="embedded")
if MODE not in ("embedded", "server"):
    raise ImproperlyConfigured(f"ASSAY_MODE is “{MODE}”; it must be embedded or server.")
EMBEDDED = MODE == "embedded"
DEMO = env.boolean("ASSAY_DEMO", default=False)
DEBUG = env.boolean("DEBUG", default=False)
DATA_DIR = Path(env.text("ASSAY_DATA", default=str(BASE_DIR / "var")))
# Other users of this machine must not read candidates, mails or releases: neither new files nor those of an earlier
# version.
os.umask(0o077)
env.folder("ASSAY_DATA", DATA_DIR)
if DATA_DIR.stat().st_mode & 0o077:
    try:
        DATA_DIR.chmod(0o700)
    except PermissionError:
        raise ImproperlyConfigured(
            f"Other users of this machine can read {DATA_DIR}, and it belongs to one of them. Ask its owner to run "
            "chmod 700 on it, or set ASSAY_DATA to a folder of your own."
        ) from None

if DEMO and not EMBEDDED:
    raise ImproperlyConfigured("ASSAY_DEMO allows sign-in without a password, so it is refused in server mode.")
if DEBUG and not EMBEDDED:
    raise ImproperlyConfigured("DEBUG shows settings and data on error pages, so it is refused in server mode.")
