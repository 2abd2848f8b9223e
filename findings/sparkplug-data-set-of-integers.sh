#!/bin/bash
# sparkplug-payload 1.0.3 (npm): a DataSet with a column of Int32, which it encodes, it cannot decode: decodePayload throws for the whole payload.
#
# Guess before it was run: what `encodePayload` writes `decodePayload` reads; columns of a DataSet may have any basic type of Sparkplug 3.0 ("DataSet",
# section 6.4.11), and negative numbers keep their sign as those of plain metrics do.
# Seen: columns of Int64, UInt32, Float, Double, Boolean and String come back. Int8, Int16, Int32, UInt8, UInt16, DateTime and Text throw "Invalid DataSetValue", and so
# does every metric beside it in the payload: a host application loses the birth certificate of a device for one integer in a table.
# Needs Node.js 20 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
VERSION=1.0.3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm install --silent --no-audit --no-fund "sparkplug-payload@$VERSION" > installed 2>&1 || { cat installed; exit 1; }
seen=$(node -e '
const payload = require("sparkplug-payload").get("spBv1.0");
const values = { Int8: 1, Int16: 1, Int32: 1, Int64: 1, UInt8: 1, UInt16: 1, UInt32: 1, Float: 1.5, Double: 1.5, Boolean: true, String: "a", DateTime: 1, Text: "a" };
const reads = (metric) => { try { payload.decodePayload(payload.encodePayload({ timestamp: 1, seq: 0, metrics: [metric] })); return true } catch (error) { return false } };
const asTable = (type) => ({ name: "table", type: "DataSet", value: { numOfColumns: 1, types: [type], columns: ["a"], rows: [[values[type]]] } });
const types = Object.keys(values);
console.log("metrics:", types.filter((type) => !reads({ name: "plain", type, value: values[type] })).length, "columns:", types.filter((type) => !reads(asTable(type))).join(" "))')
echo "sparkplug-payload $VERSION, not decoded: $seen"
[ "$seen" = 'metrics: 0 columns: Int8 Int16 Int32 UInt8 UInt16 DateTime Text' ]
