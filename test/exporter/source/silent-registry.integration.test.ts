import { expect, it } from 'vitest';
import { openSource } from '../../../exporter/source/open-source.ts';
import { startSilentServer } from '../../harness/neighbours/silent-server.ts';

it('a registry that takes the connection and is silent is left at once when the command is stopped', async () => {
  await using server = await startSilentServer();
  const stop = new AbortController();
  const access = {
    plainHttp: [server.host],
    caFile: undefined,
    authFile: undefined,
    env: {},
    signal: stop.signal,
  };
  const begun = performance.now();
  {
    await using source = await openSource(`oci://${server.host}/fleet`, access);
    // Requests of reading an offer, most of which have no signal of their own.
    const asked = [
      source.resolve('trust', 'root-1'),
      Promise.resolve(source.tags?.('trust')),
      Promise.resolve(source.blobs('trust').get?.(`sha256:${'a'.repeat(64)}`, { maxBytes: 100 })),
    ];
    setTimeout(() => stop.abort(), 200);
    for (const one of await Promise.allSettled(asked))
      expect(one).toMatchObject({ status: 'rejected', reason: { name: 'AbortError' } });
  }
  expect(performance.now() - begun).toBeLessThan(5000);
});
