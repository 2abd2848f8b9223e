#!/bin/bash
# asyncua 2.1.0: a NodeId that is the value of a variable points into another namespace after its nodeset was exported and imported.
#
# Guess before it was run: a nodeset that `export_xml(..., export_values=True)` writes and a fresh server imports gives the same values; the indexes of namespaces
# in the file are those of its NamespaceUris, so the importer maps them (OPC UA part 6, annex F.2).
# Seen: the export writes index 1, the file's own, into nodes and values. The import maps it to 2 for the nodes and for a QualifiedName that is a value; a NodeId
# that is a value stays `ns=1`, the server's own namespace. No error, no warning: what followed it to the motor finds nothing, or another node.
# Needs Python 3.10 or newer and PyPI. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=2.1.0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "asyncua==$VERSION"
cat > trip.py << 'PY'
import asyncio
from asyncua import Server, ua

async def main():
    there = Server()
    await there.init()
    index = await there.register_namespace('urn:plant')
    folder = await there.nodes.objects.add_folder(ua.NodeId('Line', index), ua.QualifiedName('Line', index))
    values = {'Drives': ua.NodeId('Motor', index), 'Called': ua.QualifiedName('Motor', index)}
    nodes = [folder] + [await folder.add_variable(ua.NodeId(name, index), ua.QualifiedName(name, index), value) for name, value in values.items()]
    await there.export_xml(nodes, 'line.xml', export_values=True)
    here = Server()
    await here.init()
    await here.import_xml('line.xml')
    index = await here.get_namespace_index('urn:plant')
    read = {name: await here.get_node(ua.NodeId(name, index)).read_value() for name in values}
    print(f'plant {index}, NodeId {read["Drives"].NamespaceIndex}, QualifiedName {read["Called"].NamespaceIndex}')

asyncio.run(main())
PY
seen=$(own/bin/python trip.py 2> errors) || { cat errors; exit 1; }
written=$(grep -c 'ns=1;s=Motor' line.xml)
echo "asyncua $VERSION: in the file ns=1: $written; indexes after import: $seen"
[ "$written" = 1 ] && [ "$seen" = 'plant 2, NodeId 1, QualifiedName 2' ]
