"""A receiver in Python 3.8 or newer: WEBHOOK_SECRET=… PORT=8000 python3 receive.py"""
import hashlib
import hmac
import json
import os
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SECRET = os.environ["WEBHOOK_SECRET"].encode()
TOLERANCE_SECONDS = 300
BODY_LIMIT = 1_048_576


def is_genuine(timestamp: str, signature: str, body: bytes) -> bool:
    if not re.fullmatch(r"[0-9]{1,12}", timestamp):
        return False
    if abs(time.time() - int(timestamp)) > TOLERANCE_SECONDS:
        return False
    expected = hmac.new(SECRET, body, hashlib.sha256).hexdigest()
    return hmac.compare_digest(signature.encode("latin-1", "replace"), expected.encode())


class Receiver(BaseHTTPRequestHandler):
    timeout = 30

    def do_POST(self):
        length = self.headers.get("Content-Length", "0")
        if not re.fullmatch(r"[0-9]{1,9}", length) or int(length) > BODY_LIMIT:
            return self.answer(413)
        body = self.rfile.read(int(length))  # the octets as they came: parse only what was verified
        timestamp = self.headers.get("X-Webhook-Timestamp", "")
        if not is_genuine(timestamp, self.headers.get("X-Service-Signature", ""), body):
            return self.answer(401)
        delivery = json.loads(body)
        # The same id can come again: do the work once per id, and soon, because the sender waits 30 seconds.
        # A webhook with `batch` sends several changes in `events`, any other one sends one in `event`.
        for item in delivery.get("events", [delivery]):
            print(delivery["id"], item["event"]["domain"]["domain"], item["event"]["new_state"], flush=True)
        self.answer(204)

    def answer(self, status: int):
        self.send_response(status)
        self.end_headers()


ThreadingHTTPServer(("127.0.0.1", int(os.environ.get("PORT", "8000"))), Receiver).serve_forever()
