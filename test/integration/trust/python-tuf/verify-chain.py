"""Follows a chain of root files as a TUF client does and prints the version it ends at.

usage: verify-chain.py ROOT.json [NEXT-ROOT.json ...]
"""

import sys

from tuf.api.metadata import Metadata, Root
from tuf.ngclient._internal.trusted_metadata_set import TrustedMetadataSet
from tuf.ngclient.config import EnvelopeType


def main(first, *following):
    with open(first, "rb") as file:
        trusted = TrustedMetadataSet(file.read(), EnvelopeType.METADATA)
    for path in following:
        with open(path, "rb") as file:
            data = file.read()
        # The client workflow, and beside it the plain question that it asks.
        trusted.root.verify_delegate(Root.type, *signed_part(data))
        trusted.update_root(data)
    print(trusted.root.version, trusted.root.unrecognized_fields["x-fleet"]["name"])


def signed_part(data):
    metadata = Metadata[Root].from_bytes(data)
    return metadata.signed_bytes, metadata.signatures


main(*sys.argv[1:])
