import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from 'vitest';
import { logPauses } from '../../../agent/daemon/log-pauses.ts';
import { openRegistry } from '../../../bundles/transport/registry/open-registry.ts';
import { parseRegistryAddress } from '../../../bundles/transport/registry/registry-address.ts';

/** A registry that refuses its first requests with these headers and then has nothing. */
const startBusyRegistry = async (refusals: readonly Readonly<Record<string, string>>[]) => {
  let asked = 0;
  const server = createServer((_, response) => {
    const headers = refusals[asked++];
    response.writeHead(headers ? 429 : 404, headers).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked: () => asked,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
};

it('logs what Retry-After asks for and what the agent waits, and no pause that nobody asked for', async () => {
  await using server = await startBusyRegistry([{ 'retry-after': '86400' }, {}, { 'retry-after': '7' }]);
  const lines: unknown[] = [];
  const waited: number[] = [];
  await using registry = openRegistry(parseRegistryAddress(`oci://${server.host}/fleet`), {
    plainHttp: [server.host],
    env: {},
    random: () => 0,
    sleep: async (ms) => void waited.push(ms),
    onWait: logPauses({ warn: (fields, message) => void lines.push({ ...fields, message }) }),
  });
  expect(
    await registry
      .repository('prod/line')
      .resolve('latest')
      .catch(() => undefined),
  ).toBeUndefined();
  expect(server.asked()).toBe(4);
  const message = 'the registry asks for a pause (seconds)';
  expect(lines).toEqual([
    { host: server.host, asked: 86_400, waits: 60, message },
    { host: server.host, asked: 7, waits: 7, message },
  ]);
  expect(waited).toEqual([60_000, 1000, 7000]);
});
