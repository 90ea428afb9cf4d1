"""The same questions of many clusters: a grid of clusters and questions, answered into one Parquet data set.

    import ebb

    result = ebb.sweep("dumps/{cluster}/{time}.pb",
                       {"today": {}, "threshold": {"grid": {"scale_down_utilization_threshold": [0.4, 0.6]}}},
                       out="results")
    result.table().to_pandas()

docs/fleet.md explains clusters, questions, the columns of the data set, and how to run on Ray.

The modules, in reading order:
  clusters   which clusters: paths, globs, URLs, bytes, generated ones
  questions  what is asked of each
  rows       the columns of the data set, and a row from an answer
  strict     YAML and mappings in which no key may be there twice
  answer     answers a piece of the grid: what a worker does
  dataset    the Parquet data set: what it has, and how rows get in;  read: how they get out
  interrupts signals that end a sweep
  local      workers as processes of this machine;  worker: the program of such a process
  on_ray     workers as tasks of a Ray cluster;  ray_process: the process that is connected to it
  driver     ebb.sweep: cuts the grid into pieces, gives them to workers, writes their rows
  file       a sweep as a YAML file
"""

from .clusters import Generated, Source
from .driver import Result, sweep
from .errors import SweepError
from .questions import Question
from .read import plan_changes, read

__all__ = ["Generated", "Question", "Result", "Source", "SweepError", "plan_changes", "read", "sweep"]
