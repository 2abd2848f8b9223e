import { join } from 'node:path';
import { expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { encodeIndex } from '#bundles/formats/layout/layout';
import { OCI_MANIFEST, SIGSTORE_BUNDLE } from '#bundles/media-types';
import { pollRegistry } from '../../../agent/acquire/poll-registry.ts';
import { pullRelease } from '../../../agent/acquire/pull-release.ts';
import { reconcile } from '../../../agent/apply/reconcile.ts';
import { liveFiles } from '../../agent/folder-target.ts';
import { startRegistryServer } from '../../agent/registry-server.ts';
import { createWorld, onePackage } from '../../agent/world.ts';
import { verdict } from '../../bundles/verdict.ts';
import { packTestBundle } from '../../harness/fleets/signed-medium.ts';

const JUNK = 1000;

it('H21: a thousand junk referrers beside a release -> ACCEPT', async () => {
  await using world = await createWorld();
  await using server = await startRegistryServer();
  const bundle = packTestBundle(world.fleet, [onePackage('app', 'one')]);
  server.publish(await world.medium({ release: { version: 1, bundle } }));
  // Anyone who may push may also push a thousand referrers of the release, its bundle and the site statement.
  for (const [tag, digest] of [...server.tags, ['bundle', bundle.digest] as const]) {
    const junk = Array.from({ length: JUNK }, (_, index) => {
      const bytes = Buffer.from(JSON.stringify({ schemaVersion: 2, mediaType: OCI_MANIFEST, junk: index }));
      server.blobs.set(digestOf(bytes), bytes);
      return {
        mediaType: OCI_MANIFEST,
        digest: digestOf(bytes),
        size: bytes.byteLength,
        artifactType: SIGSTORE_BUNDLE,
      };
    });
    const index = encodeIndex(junk);
    server.blobs.set(digestOf(index), index);
    server.tags.set(`${tag.split(':')[0]}:sha256-${hexOf(digest)}`, digestOf(index));
  }
  await using registry = server.open();
  server.asked.length = 0;
  expect(
    await verdict(async () => {
      const seen = await pollRegistry(world.agent, registry, true);
      if (seen.news) await pullRelease(world.agent, registry, seen, (work) => work());
    }),
  ).toBe('ACCEPT');
  await reconcile(world.agent);
  expect(liveFiles(join(world.folder, 'machine'))).toEqual({ '/opt/app': 'one' });
  // An agent reads what the release lists and asks for nothing else, however much there is.
  expect(server.asked.filter((line) => /referrers|sha256-/.test(line))).toEqual([]);
  expect(server.asked.length).toBeLessThan(40);
});
