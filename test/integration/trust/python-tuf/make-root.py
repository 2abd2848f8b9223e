"""Makes root 1 of a fleet with nothing but TUF's own tools, under key ids of its own counting, and prints it.

usage: make-root.py FLEET EXPIRES ONLINE.pub OFFICER.pem OFFICER.pem ...
"""

import hashlib
import sys
from datetime import datetime, timezone

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from securesystemslib.signer import CryptoSigner, SSlibKey
from tuf.api.metadata import Metadata, Root

fleet, expires, online_path, *officer_paths = sys.argv[1:]


def named(public, name):
    """TUF says that a key id is what the root calls it; another tool counts it in another way."""
    keyid = hashlib.sha256(name.encode()).hexdigest()
    return SSlibKey(keyid, public.keytype, public.scheme, public.keyval)


root = Root(
    version=1,
    expires=datetime.strptime(expires, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=timezone.utc),
    unrecognized_fields={
        "x-fleet": {"name": fleet, "receiptKeys": {}, "auditKeys": {}, "agentCertificates": []}
    },
)
signers = []
for path in officer_paths:
    with open(path, "rb") as file:
        private = load_pem_private_key(file.read(), None)
    key = named(CryptoSigner(private).public_key, path)
    signers.append(CryptoSigner(private, key))
    root.add_key(key, "root")
root.roles["root"].threshold = 2
with open(online_path) as file:
    online = named(SSlibKey("", "ecdsa", "ecdsa-sha2-nistp256", {"public": file.read()}), "online")
for role in ("targets", "snapshot", "timestamp"):
    root.add_key(online, role)
metadata = Metadata(root)
for signer in signers[:2]:
    metadata.sign(signer, append=True)
sys.stdout.buffer.write(metadata.to_bytes())
