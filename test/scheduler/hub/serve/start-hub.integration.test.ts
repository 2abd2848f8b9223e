import { createServer } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { isFleetError } from '#bundles/errors';
import type { ListenAddress } from '../../../../scheduler/hub/http/listen-address.ts';
import { createMetrics } from '../../../../scheduler/hub/http/metrics/metrics.ts';
import type { CertificateSource } from '../../../../scheduler/hub/http/server-certificate.ts';
import { startHub } from '../../../../scheduler/hub/serve/start-hub.ts';
import { NOW, type TestHub, testHub } from '../test-hub.ts';

const timers = (): number => process.getActiveResourcesInfo().filter((it) => it === 'Timeout').length;

/** The number of timers once it is `most`, or after many turns of the event loop. */
const timersLeft = async (most: number): Promise<number> => {
  for (let turn = 0; turn < 1000 && timers() > most; turn += 1) await setImmediate();
  return timers();
};

let hub: TestHub;
beforeEach(async () => {
  hub = await testHub();
});
afterEach(() => hub[Symbol.asyncDispose]());

type Settings = { readonly listen?: ListenAddress; readonly certificate?: CertificateSource };

/** Why it did not start, and whether what it had begun was over then. */
const refusal = async (settings: Settings): Promise<string> => {
  const authority = await hub.keys.authority();
  const before = timers();
  try {
    await startHub({
      hub,
      listen: { host: '127.0.0.1', port: 0 },
      authority,
      certificate: { kind: 'issued', authority, hostnames: ['127.0.0.1'] },
      metrics: createMetrics(hub.store.db, () => NOW),
      clock: () => NOW,
      log: pino({ level: 'silent' }),
      ...settings,
    });
  } catch (error) {
    if (!isFleetError(error)) throw error;
    // Each loop of a hub waits for its next round with a timer.
    expect(await timersLeft(before)).toBeLessThanOrEqual(before);
    return `${error.code}: ${error.message}`;
  }
  throw new Error('it started');
};

describe('a hub that cannot start reports the reason and leaves nothing running', () => {
  it('because of an invalid host name', async () => {
    const authority = await hub.keys.authority();
    const certificate: CertificateSource = { kind: 'issued', authority, hostnames: ['no name'] };
    expect(await refusal({ certificate })).toMatch(/^USAGE: "no name" is neither a host name/);
  });

  it('because of a missing certificate file', async () => {
    const [certificateFile, keyFile] = ['/nowhere/hub.crt', '/nowhere/hub.key'];
    const certificate: CertificateSource = { kind: 'files', certificateFile, keyFile };
    expect(await refusal({ certificate })).toMatch(/^CONFIG_INVALID: there is no such file/);
  });

  it('because its port is in use', async () => {
    const other = createServer();
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    const { port } = other.address() as { port: number };
    try {
      expect(await refusal({ listen: { host: '127.0.0.1', port } })).toBe(
        `BUSY: another program listens on 127.0.0.1:${port} already`,
      );
    } finally {
      other.close();
    }
  });

  it('because its address is not one of this machine', async () => {
    expect(await refusal({ listen: { host: '192.0.2.1', port: 8443 } })).toBe(
      'USAGE: this machine has no address 192.0.2.1 to listen on',
    );
  });
});
