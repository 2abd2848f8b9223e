#!/bin/bash
# syslog-rfc5424-parser 0.3.2 (PyPI), nsyslog-parser 0.10.1 and glossy 0.1.7 (npm): they read an escaped quote in an RFC 5424 message in three ways.
#
# Guess before it was run: all three give the value a"b for `note="a\"b"`: in a value of structured data the characters ", \ and ] have a backslash before them, which
# is not part of it (RFC 5424, section 6.3.3).
# Seen: glossy gives a"b. syslog-rfc5424-parser leaves the backslash in the value, a\"b. nsyslog-parser finds no structured data at all and makes it the beginning of the
# message, without an error; of `note="ab"` it finds it.
# Needs Python 3.10 or newer, PyPI, Node.js 20 or newer and npm. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
python3 -m venv own
own/bin/pip install --quiet --disable-pip-version-check syslog-rfc5424-parser==0.3.2
npm install --silent --no-audit --no-fund nsyslog-parser@0.10.1 glossy@0.1.7 > installed 2>&1 || { cat installed; exit 1; }
message='<165>1 2027-03-01T22:14:15.003Z press app 12 ID47 [line@1 note="a\"b"] started'
python=$(own/bin/python -c 'import sys; from syslog_rfc5424_parser import SyslogMessage; print(SyslogMessage.parse(sys.argv[1]).as_dict()["sd"]["line@1"]["note"])' "$message")
glossy=$(node -e 'console.log(require("glossy").Parse.parse(process.argv[1]).structuredData["line@1"].note)' "$message")
nsyslog() { node -e 'const { structuredData, message } = require("nsyslog-parser")(process.argv[1]); console.log(structuredData.length, message)' "$1"; }
escaped=$(nsyslog "$message")
plain=$(nsyslog "${message/a\\\"b/ab}")
echo "glossy: $glossy; syslog-rfc5424-parser: $python; nsyslog-parser: $escaped; of the plain one: $plain"
[ "$glossy" = 'a"b' ] && [ "$python" = 'a\"b' ] && [ "$escaped" = '0 [line@1 note="a\"b"] started' ] && [ "$plain" = '1 started' ]
