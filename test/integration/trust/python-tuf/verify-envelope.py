"""Verifies the DSSE envelope of a sigstore bundle with one public key and prints its payload.

usage: verify-envelope.py BUNDLE.json KEY.pub
"""

import json
import sys

from cryptography.hazmat.primitives.serialization import load_pem_public_key
from securesystemslib.dsse import Envelope
from securesystemslib.signer import SSlibKey

bundle_path, key_path = sys.argv[1:]
with open(key_path, "rb") as file:
    key = SSlibKey.from_crypto(load_pem_public_key(file.read()))
with open(bundle_path, "rb") as file:
    envelope = json.load(file)["dsseEnvelope"]
# This reader finds keys by key id, which we leave out for cosign's sake.
envelope["signatures"][0]["keyid"] = key.keyid
verified = Envelope.from_dict(envelope)
verified.verify([key], 1)
sys.stdout.buffer.write(verified.payload)
