import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { openRegistry } from '#bundles/transport/registry/open-registry';
import { pollRegistry } from '../../../agent/acquire/poll-registry.ts';
import { pullRelease } from '../../../agent/acquire/pull-release.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { readServedContent } from '../../../exporter/serve/read-served-content.ts';
import { registryHandler } from '../../../exporter/serve/registry-handler.ts';
import { startServer } from '../../../exporter/serve/start-server.ts';
import { liveFiles } from '../../agent/folder-target.ts';
import { createWorld, onePackage } from '../../agent/world.ts';
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';

const { signal } = new AbortController();

test('an agent follows a medium that is served as its registry, and applies its release', async () => {
  await using stack = new AsyncDisposableStack();
  const world = stack.use(await createWorld());
  const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
  const path = await world.medium({ release: { version: 1, bundle } });
  const medium = stack.use(await openMedium(path));
  const served = await readServedContent(medium, { selection: {}, pinned: undefined, imagesAt: '', signal });
  const broken: unknown[] = [];
  const handler = registryHandler(served, { imagesAt: '', onBroken: (error) => broken.push(error) });
  const listen = { host: '127.0.0.1', port: 0, loopback: true };
  const server = stack.use(await startServer({ listen, tls: undefined }, handler));
  const { host } = new URL(server.url);
  const registry = stack.use(openRegistry({ host, prefix: '' }, { plainHttp: [], env: {} }));

  const seen = await pollRegistry(world.agent, registry, true);
  const pulled = await pullRelease(world.agent, registry, seen, (work) => work());
  expect(pulled).toMatchObject({ release: { version: 1 }, news: 'newer', siteVersion: 1 });
  await reconcile(world.agent);
  expect(liveFiles(join(world.folder, 'machine'))).toEqual({ '/opt/app': 'one' });
  expect((await pollRegistry(world.agent, registry, true)).news).toBe(false);
  expect(broken).toEqual([]);
});
