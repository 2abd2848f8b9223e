#!/bin/bash
# undici 8.12.4: a DELETE with a body ends the kept-alive connection, so that each one pays for a TCP and TLS handshake.
#
# Guess before it was run: a pool with keep-alive reuses a connection after any request whose answer it has read, as it does for POST and PATCH.
# Seen: five DELETEs in a row with a body of a few bytes open five connections, five POSTs open one, and DELETEs without a body open one.
# `reset: false` in the options of the request keeps the connection. A client of Kubernetes sends DeleteOptions with each DELETE:
# removing 5,000 objects took 5,000 TLS handshakes, which was most of its processor time.
# Needs node and npm with a registry. Exit 0 while the behaviour is as described, 1 otherwise.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
npm init --yes > /dev/null
npm install --silent --no-audit --no-fund undici@8.12.4
cat > try.mjs <<'END'
import { createServer } from 'node:http';
import { Agent, request } from 'undici';
const connections = async (options) => {
  const ports = new Set();
  const server = createServer((asked, answer) => {
    ports.add(asked.socket.remotePort);
    asked.resume().on('end', () => answer.end('{}'));
  });
  await new Promise((ready) => server.listen(0, '127.0.0.1', ready));
  const dispatcher = new Agent({ connections: 1, keepAliveTimeout: 30_000 });
  for (let count = 0; count < 5; count++) {
    const { body } = await request(`http://127.0.0.1:${server.address().port}/`, { dispatcher, ...options });
    await body.text();
  }
  await dispatcher.destroy();
  server.close();
  return ports.size;
};
const seen = [
  await connections({ method: 'DELETE', body: '{}' }),
  await connections({ method: 'POST', body: '{}' }),
  await connections({ method: 'DELETE' }),
  await connections({ method: 'DELETE', body: '{}', reset: false }),
].join(' ');
console.log(`undici 8.12.4: connections of 5 DELETEs with a body, POSTs, DELETEs without, DELETEs with reset: false: ${seen}`);
process.exit(seen === '5 1 1 1' ? 0 : 1);
END
node try.mjs
