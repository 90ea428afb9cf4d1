"""The error of sweeps."""

from __future__ import annotations

from ebb._errors import Error


class SweepError(Error):
    """A sweep that cannot begin or go on.  The message names the place: a file, an option, a cluster."""

    code = "FAILED_PRECONDITION"
