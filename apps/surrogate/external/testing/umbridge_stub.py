# SPDX-License-Identifier: Apache-2.0
"""A server of UM-Bridge's protocol 1.0 with one model, y = (a + b, a * b, c), and as many troubles as asked for.

Usage: umbridge_stub.py TROUBLE [FILE]      listens on $PORT of this machine
  none                it works
  dies                ends in the middle of its first run; the next server of the same FILE works
  refuses             answers each run with the protocol's error
  hangs               never answers a run
  slow                answers a run after a while, as long as FILE is there
  sizes | version     has other sizes, speaks another version
  garbage             answers runs with what is no JSON
"""
import http.server
import json
import os
import pathlib
import sys
import threading
import time

trouble = sys.argv[1]
once = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else None


class Server(http.server.BaseHTTPRequestHandler):
    def answer(self, value, status=200):
        body = value.encode() if isinstance(value, str) else json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.answer({"protocolVersion": 2.0 if trouble == "version" else 1.0, "models": ["forward"]})

    def do_POST(self):
        question = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path == "/InputSizes":
            return self.answer({"inputSizes": [5] if trouble == "sizes" else [2, 1]})
        if self.path == "/OutputSizes":
            return self.answer({"outputSizes": [2, 1]})
        if trouble == "dies" and not once.exists():
            once.write_text("dead")
            os._exit(3)
        if trouble == "hangs":
            threading.Event().wait()
        if trouble == "slow" and once.exists():
            time.sleep(.2)
        if trouble == "refuses":
            return self.answer({"error": {"type": "InvalidInput", "message": "not today"}}, 400)
        if trouble == "garbage":
            return self.answer("<html>")
        (a, b), (c,) = question["input"]
        self.answer({"output": [[a + b, a * b], [c + question["config"].get("more", 0)]]})


http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["PORT"])), Server).serve_forever()
