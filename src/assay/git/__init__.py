"""Git as a source of data: `launcher` is the only code that starts it, `place` finds repositories without it."""

from assay.git.launcher import NotTrusted, TimedOut
from assay.git.place import Place, find_place, locate
from assay.git.repository import Blob, Blobs, Git, Listing, refuse_tracked, unquote

__all__ = [
    "Blob",
    "Blobs",
    "Git",
    "Listing",
    "NotTrusted",
    "Place",
    "TimedOut",
    "find_place",
    "locate",
    "refuse_tracked",
    "unquote",
]
