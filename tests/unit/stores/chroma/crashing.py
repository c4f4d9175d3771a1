"""A process that writes to a Chroma store and is killed in the middle of it.

    python crashing.py FOLDER CALL

kills itself after that many calls that change something, counted from the second commit on.
"""

import os
import signal
import sys

from pincite.stores.chroma.backend import ChromaBackend
from pincite.stores.chroma.keyword import KeywordFolder
from pincite.stores.chroma.opening import open_chroma
from pincite.testing.samples import whole


def deadly(method, left):
    def call(*arguments, **options):
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        left[0] -= 1
        return method(*arguments, **options)

    return call


def main(folder, call):
    store = open_chroma(folder, create=True)
    store.commit("ann", "papers", [whole("kept", "granite"), whole("m", "quartz old", "gone")])
    left = [call]
    for owner, names in ((ChromaBackend, ("put", "remove", "write")), (KeywordFolder, ("update",))):
        for name in names:
            setattr(owner, name, deadly(getattr(owner, name), left))
    store.commit("ann", "papers", [whole("m", "quartz new"), whole("n", "mica", "salt")])


main(sys.argv[1], int(sys.argv[2]))
