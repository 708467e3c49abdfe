"""The command `assay` of a shell that has a connection to the warm process: `python -IS warm_client.py ARGUMENTS`.

It starts in 15 ms. The command gets its folder, environment and files; ASSAY_WARM has the connection, ASSAY_USED a file for CPU seconds.
"""

import json
import os
import socket
import struct
import sys

warm = socket.socket(fileno=int(os.environ["ASSAY_WARM"]))
environment = {name: value for name, value in os.environ.items() if name not in ("ASSAY_WARM", "ASSAY_USED")}
request = {"folder": os.getcwd(), "arguments": sys.argv[1:], "environment": environment, "limits": []}
status, theirs = os.pipe()
socket.send_fds(warm, [json.dumps(request).encode()], [0, 1, 2, theirs])
os.close(theirs)
with open(status, "rb", buffering=0) as ended:
    ended.read(struct.calcsize("i"))  # the number of the process
    code, _, seconds = struct.unpack("ild", ended.read(struct.calcsize("ild")))
with open(os.environ["ASSAY_USED"], "a") as used:
    used.write(f"{seconds}\n")
os._exit(code)
