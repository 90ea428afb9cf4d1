"""The program of a worker process: `python -m ebb.fleet.worker FD`, which ebb.fleet.local starts.

FD is a socket: first come the questions, then lists of pieces, and an Answered goes back for each list.  The worker
ends when the socket closes, so it does not outlive the process that started it.  Signals that end the sweep are blocked
since before it began: they reach the whole group of processes, and the sweep ends its workers itself.
"""

from __future__ import annotations

import resource
import sys
from multiprocessing.connection import Connection

READY = "ready"


def main(descriptor: int) -> None:
    from .answer import answer

    with Connection(descriptor) as connection:
        try:
            asked, version, memory_max = connection.recv()
            if memory_max is not None:
                resource.setrlimit(resource.RLIMIT_DATA, (memory_max, memory_max))
            connection.send(READY)
            while True:
                connection.send(answer(connection.recv(), asked, version))
        except (EOFError, ConnectionError):
            pass


if __name__ == "__main__":
    main(int(sys.argv[1]))
