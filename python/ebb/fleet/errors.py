"""The error of sweeps."""


class SweepError(Exception):
    """A sweep that cannot begin or go on.  The message names the place: a file, an option, a cluster."""
