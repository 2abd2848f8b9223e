#!/bin/bash
# pysparkplug 0.6.1 (PyPI) and sparkplug-payload 1.0.3 (npm): an Int8 of -1 from Python is 255 in JavaScript, an Int16 of -1 is 65535, and an array is a metric without type and value.
#
# Guess before it was run: what pysparkplug encodes sparkplug-payload decodes to the same values, for Int8 to UInt64, DateTime, Bytes and null; for the arrays of Sparkplug 3.0 `decodePayload` throws where
# it does not know them.
# Seen: pysparkplug fills the 8 or 16 bits of the number, JavaScript reads all 32 of the field: 255 and 65535, with the datatype Int8 and Int16, which cannot have them. The other way -1 fills 32 bits,
# which pysparkplug refuses with the whole payload (OverflowError). Int32, Int64, UInt64, DateTime, Bytes and null agree. An array becomes null, without an error.
# Needs Python 3.10 or newer, PyPI, Node.js 20 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
PYPI=0.6.1 NPM=1.0.3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check "pysparkplug==$PYPI"
npm install --silent --no-audit --no-fund "sparkplug-payload@$NPM" > installed 2>&1 || { cat installed; exit 1; }
there=$(own/bin/python -c '
from pysparkplug import DataType, Metric, NData
values = [(DataType.INT8, -1), (DataType.INT16, -1), (DataType.INT32, -1), (DataType.INT64, -1), (DataType.UINT64, 2**64 - 1), (DataType.INT32_ARRAY, (1, -2))]
metrics = [Metric(timestamp=1, name=kind.name, datatype=kind, value=value) for kind, value in values]
print(NData(timestamp=1, seq=0, metrics=metrics).encode(include_dtypes=True).hex())')
node=$(node -e '
const payload = require("sparkplug-payload").get("spBv1.0").decodePayload(Buffer.from(process.argv[1], "hex"));
console.log(payload.metrics.map(({ name, type, value }) => `${name}: ${type} ${value}`).join(", "))' "$there")
back=$(node -e '
const metrics = ["Int8", "Int16", "Int32", "Int64"].map((type) => ({ name: type, type, value: -1 }));
console.log(Buffer.from(require("sparkplug-payload").get("spBv1.0").encodePayload({ timestamp: 1, seq: 0, metrics })).toString("hex"))')
python=$(own/bin/python -c '
import sys
from pysparkplug import NData
try: print(*(f"{it.name} {it.value}" for it in NData.decode(bytes.fromhex(sys.argv[1])).metrics), sep=", ")
except Exception as error: print(repr(error))' "$back")
echo "pysparkplug $PYPI to sparkplug-payload $NPM: $node; back: $python"
[ "$node" = 'INT8: Int8 255, INT16: Int16 65535, INT32: Int32 -1, INT64: Int64 -1, UINT64: UInt64 18446744073709551615, INT32_ARRAY: undefined null' ] && [ "$python" = "OverflowError('Int8 overflow with value 4294967295')" ]
