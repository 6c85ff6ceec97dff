"""Ends with 0 when what runs in this container is ready for work: `ready.py [PATH [PORT]]`, else its /readyz."""

import http.client
import os
import sys

ANSWER_SECONDS = 10

path, port = [*sys.argv[1:], *["/readyz", os.environ.get("ODRADEK_HTTP_PORT", "9400")][len(sys.argv) - 1 :]]
connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=ANSWER_SECONDS)
try:
    connection.request("GET", path)
    status = connection.getresponse().status
except OSError as error:
    sys.exit(f"{path} on port {port}: {error}")
sys.exit(0 if status == 200 else f"{path} on port {port}: status {status}")
