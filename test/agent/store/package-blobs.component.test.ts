import { describe, expect, test } from 'vitest';
import type { Bundle } from '#bundles/formats/bundle/read-bundle';
import { digestOf } from '#bundles/digest';
import { OCI_MANIFEST } from '#bundles/media-types';
import { loadPackage } from '../../../agent/apply/load-package.ts';
import { retainedBlobs, readBundles, saveBundle } from '../../../agent/store/bundles.ts';
import { collectGarbage } from '../../../agent/store/collect-garbage.ts';
import { readPackages } from '../../../agent/store/applied/packages.ts';
import { createWorld, onePackage } from '../world.ts';

const carrying = (model: string) => onePackage('vision', 'settings', { blobs: { '/opt/model': model } });
const ONE = 'weights of the first model';
const TWO = 'weights of the second model';

describe('a blob of a package', () => {
  test('is stored with its release, and kept as long as a rollback may need it', async () => {
    await using world = await createWorld();
    const { state } = world.agent;
    const kept = async (...models: readonly string[]) =>
      await Promise.all(models.map(async (model) => (await state.blobs.size(digestOf(model))) !== undefined));
    await world.release(1, [carrying(ONE)]);
    await collectGarbage(state);
    expect(await kept(ONE)).toEqual([true]);
    await world.release(2, [carrying(TWO)]);
    await collectGarbage(state);
    expect(await kept(ONE, TWO)).toEqual([true, true]);
    await world.release(3, [onePackage('vision', 'settings alone')]);
    await collectGarbage(state);
    expect(await kept(ONE, TWO)).toEqual([false, true]);
  });

  test('is readable by its own package and by no other', async () => {
    await using world = await createWorld();
    const { agent } = world;
    await world.release(1, [carrying(ONE), onePackage('other', 'x', { blobs: { '/opt/other': TWO } })]);
    const ref = readPackages(agent.state).find(({ assignment }) => assignment === 'vision')?.desired;
    if (!ref) throw new Error('there is no package');
    const { blobs } = await loadPackage(agent.state, agent.identity.agent, ref, agent.signal);
    expect(await blobs?.size(digestOf(ONE))).toBe(ONE.length);
    expect(await blobs?.size(digestOf(TWO))).toBeUndefined();
    await expect(blobs?.open(digestOf(TWO))).rejects.toMatchObject({ code: 'MISSING_BLOB' });
  });

  test('of an image is removed like a file, except its signatures', async () => {
    await using world = await createWorld();
    const { state } = world.agent;
    const [layer, signature] = [digestOf('layer'), digestOf('signature')];
    const manifest = { mediaType: OCI_MANIFEST, digest: digestOf('bundle'), size: 6 };
    const config = {
      assignments: [{ blobs: [layer] }],
      closure: [layer, signature].map((digest) => ({ digest, size: 5, mediaType: OCI_MANIFEST })),
    };
    saveBundle(state, {
      ...manifest,
      kind: 'host',
      manifest: { ...manifest, config: manifest, layers: [] },
      config,
    } as unknown as Bundle);
    expect(readBundles(state).flatMap(retainedBlobs)).toEqual([manifest.digest, manifest.digest, signature]);
  });
});
