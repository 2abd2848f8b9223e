"""Signs a root file with a private key and prints it: an officer who uses Python.

usage: sign-root.py ROOT.json KEY.pem
"""

import sys

from cryptography.hazmat.primitives.serialization import load_pem_private_key
from securesystemslib.signer import CryptoSigner
from tuf.api.metadata import Metadata, Root

root_path, key_path = sys.argv[1:]
with open(key_path, "rb") as file:
    signer = CryptoSigner(load_pem_private_key(file.read(), None))
metadata = Metadata[Root].from_file(root_path)
metadata.sign(signer, append=True)
sys.stdout.buffer.write(metadata.to_bytes())
