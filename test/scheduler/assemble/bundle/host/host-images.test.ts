import { describe, expect, test } from 'vitest';
import { parseHostPackage } from '#bundles/formats/bundle/host-package';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { closureFiles } from '#bundles/formats/bundle/closure-files';
import type { Digest } from '#bundles/digest';
import { formatError } from '#bundles/errors';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import type { BundleInput } from '../../../../../scheduler/assemble/bundle/bundle-input.ts';
import { buildBundle } from '../../../../../scheduler/assemble/bundle/build-bundle.ts';
import { assembleHost } from '../../../../../scheduler/assemble/bundle/host/assemble-host.ts';
import { NO_LAST_GOOD } from '../../../../../scheduler/assemble/bundle/last-good-packages.ts';
import {
  type Blobs,
  putImage,
  putIndex,
  putLayer,
  sourceOf,
} from '../../../../agent/images/image-fixture.ts';
import { clusterType, platform, renderedFiles, renderedPackage, target } from '../../../model-objects.ts';
import { resolveOnce } from '../../../../../scheduler/assemble/images/resolve-once.ts';
import { noAccess } from '../../content/no-access.ts';

const HEAD = 'apiVersion: fleet-ferry/v1alpha1\nkind: HostPackage\nmetadata: {name: web}\nspec:\n';
const PATH = '/etc/containers/systemd/web.container';
const FILE = `  files:\n  - {path: ${PATH}, source: web.container}\n`;
const signal = new AbortController().signal;

/** Builds the bundle of a host whose application has this quadlet. */
const build = (
  quadlet: string,
  blobs: Blobs,
  imageLocks: ReadonlyMap<string, string>,
  { platforms = ['linux/amd64'], ...more }: Partial<BundleInput> & { platforms?: string[] } = {},
) => {
  const type = clusterType('press', { target: 'host', offline: true, platforms });
  return buildBundle(
    {
      platform: platform({ imageLocks }),
      clusterType: type,
      packages: [renderedPackage(type, target('shop/web'), { files: renderedFiles({}) })],
      held: [],
      applicationOf: () => ({
        shown: 'apps/shop/',
        files: new Map(
          Object.entries({ 'package.yaml': HEAD + FILE, 'web.container': quadlet }).map(([path, text]) => [
            path,
            Buffer.from(text),
          ]),
        ),
      }),
      lastGood: NO_LAST_GOOD,
      rolledBack: new Map(),
      resolve: resolveOnce({ sources: [sourceOf(blobs)] }, signal),
      contents: noAccess({ imageLocks }),
      manifests: new Map(),
      ...more,
    },
    signal,
  );
};

describe('the image of a quadlet', () => {
  test('that exists for another architecture only holds the assignment, with its position', async () => {
    const blobs: Blobs = new Map();
    const { digest } = putImage(blobs, {
      layers: [await putLayer(blobs, { app: 'web' })],
      architecture: 'arm64',
    });
    const pinned = `registry.example/web@${digest}`;
    const { held } = await build(`[Container]\nImage=${pinned}\n`, blobs, new Map());
    expect(held.map(({ error }) => formatError(error))).toEqual([
      `apps/shop/web.container:2:1: IMAGE_MISSING: ${pinned} is not there for linux/amd64, only for linux/arm64. ` +
        'If the registry has it for that platform, run fleet-scheduler images lock, or write its digest; otherwise build it for it.',
    ]);
  });

  describe('in a fleet with hosts of amd64 and arm64', () => {
    /** @returns digests of the manifests by architecture, and the name that a lock gives to the tag */
    const lockOf = async (...architectures: readonly string[]) => {
      const blobs: Blobs = new Map();
      const manifests = new Map<string, Digest>();
      const parts: Descriptor[] = [];
      for (const architecture of architectures) {
        const image = putImage(blobs, {
          layers: [await putLayer(blobs, { app: architecture })],
          architecture,
        });
        manifests.set(architecture, image.digest);
        parts.push(image);
      }
      return { blobs, manifests, index: putIndex(blobs, parts).digest };
    };
    const closureOf = ({ bundle }: Awaited<ReturnType<typeof build>>) =>
      bundle.config.closure.map(({ digest }) => digest);
    const quadlet = '[Container]\nImage=registry.example/web:1\n';
    const lockTo = (digest: Digest) =>
      new Map([['registry.example/web:1', `registry.example/web@${digest}`]]);

    test('is the same index for both, in which each host finds its own', async () => {
      const { blobs, manifests, index } = await lockOf('amd64', 'arm64');
      for (const platform of ['linux/amd64', 'linux/arm64']) {
        const built = await build(quadlet, blobs, lockTo(index), { platforms: [platform] });
        expect(built.held).toEqual([]);
        expect(closureOf(built)).toEqual(expect.arrayContaining([index]));
        expect(built.bundle.config.assignments[0]?.blobs).toEqual(
          expect.arrayContaining([index, ...manifests.values()]),
        );
      }
    });

    test('is the manifest of arm64 alone where only hosts of arm64 run it, and holds it on others', async () => {
      const { blobs, manifests } = await lockOf('amd64', 'arm64');
      const [amd, arm] = [manifests.get('amd64'), manifests.get('arm64')] as [Digest, Digest];
      const built = await build(quadlet, blobs, lockTo(arm), { platforms: ['linux/arm64/v8'] });
      expect(built.held).toEqual([]);
      expect(built.bundle.config.assignments[0]?.blobs).toContain(arm);
      expect(built.bundle.config.assignments[0]?.blobs).not.toContain(amd);
      for (const platforms of [['linux/amd64'], ['linux/amd64', 'linux/arm64']]) {
        const { held, bundle } = await build(quadlet, blobs, lockTo(arm), { platforms });
        expect(held.map(({ error }) => error.code)).toEqual(['IMAGE_MISSING']);
        expect(bundle.config.assignments).toEqual([]);
      }
    });

    test('that was built for amd64 alone is held on hosts of arm64 only', async () => {
      const { blobs, index } = await lockOf('amd64');
      const heldFor = async (platform: string) =>
        (await build(quadlet, blobs, lockTo(index), { platforms: [platform] })).held.map(({ error }) =>
          formatError(error),
        );
      expect(await heldFor('linux/amd64')).toEqual([]);
      expect(await heldFor('linux/arm64')).toEqual([
        expect.stringContaining('IMAGE_MISSING: registry.example/web@'),
      ]);
    });
  });

  test('is in the closure by its name, and its blobs are listed with the package', async () => {
    const blobs: Blobs = new Map();
    const layers = [await putLayer(blobs, { app: 'web' })];
    const parts = [putImage(blobs, { layers }), putImage(blobs, { layers, architecture: 'arm64' })];
    const { digest } = putIndex(blobs, parts);
    const all = [...blobs.keys()].toSorted();
    const name = `registry.example/web@${digest}`;
    const locks = new Map([['registry.example/web:1', name]]);
    const { bundle, held } = await build('[Container]\nImage=registry.example/web:1\n', blobs, locks);
    expect(held).toEqual([]);
    for (const { descriptor, bytes } of [...bundle.blobs, bundle.manifest])
      blobs.set(descriptor.digest, bytes);
    const { config } = await readBundle(sourceOf(blobs), bundle.digest);
    expect(config.critical).toEqual(['images']);
    expect(config.assignments[0]?.blobs).toEqual(all);
    expect(config.closure.filter(({ names }) => names).map(({ names }) => names)).toEqual([[name]]);
    // What a store keeps with the bundle.
    expect(
      closureFiles(config)
        .map((file) => file.digest)
        .toSorted(),
    ).toEqual(all);
  });

  test('is listed in package.json, and the quadlet contains its pinned name', async () => {
    const blobs: Blobs = new Map();
    const image = putImage(blobs, { layers: [await putLayer(blobs, { app: 'web' })] });
    const name = `registry.example/web@${image.digest}`;
    const type = clusterType('press', { target: 'host' });
    const made = await assembleHost(
      renderedPackage(type, target('shop/web'), { files: renderedFiles({}) }),
      {
        shown: 'apps/shop/',
        files: new Map([
          ['package.yaml', Buffer.from(HEAD + FILE)],
          ['web.container', Buffer.from(`[Container]\nImage=${name}\n`)],
        ]),
      },
      noAccess(),
    );
    const text = (path: string) => made.files.find((file) => file.path === path)?.bytes as Buffer;
    expect(parseHostPackage(text('package.json'))).toMatchObject({ images: [name], critical: ['images'] });
    expect(text(`files${PATH}`).toString()).toBe(`[Container]\nImage=${name}\n`);
    expect(made.images).toEqual([name]);
  });

  test.each([
    [
      'a tag that nothing pins',
      'Image=registry.example/web:1',
      'apps/shop/web.container:2:1: IMAGE_UNPINNED',
    ],
    [
      'a text that names no image',
      'Image=registry.example/Web',
      'apps/shop/web.container:2:1: OBJECT_INVALID',
    ],
    ['Pull=always', 'Pull=always', 'apps/shop/web.container:2:1: PULL_POLICY'],
    ['a digest that no layout has', `Image=a.example/x@sha256:${'1'.repeat(64)}`, 'MISSING_BLOB'],
  ])('with %s holds its package', async (_what, line, wanted) => {
    const { held, bundle } = await build(`[Container]\n${line}\n`, new Map(), new Map());
    expect(held.map(({ error }) => formatError(error))).toEqual([expect.stringContaining(wanted)]);
    expect(bundle.config.assignments).toEqual([]);
  });

  test('stays with its blobs in the last good package of a held assignment', async () => {
    const blobs: Blobs = new Map();
    const image = putImage(blobs, { layers: [await putLayer(blobs, { app: 'web' })] });
    const all = [...blobs.keys()].toSorted();
    const name = `registry.example/web@${image.digest}`;
    const type = clusterType('press', { target: 'host' });
    const kept = {
      assignment: renderedPackage(type, target('shop/web')).assignment,
      id: 'shop-web',
      namespace: undefined,
      files: [],
      digest: image.digest,
      siteInputs: [],
      owns: [],
      images: [name],
    };
    const { bundle } = await build('[Container]\nImage=registry.example/web:2\n', blobs, new Map(), {
      lastGood: { ...NO_LAST_GOOD, of: async () => kept },
    });
    expect(bundle.config.assignments[0]?.blobs).toEqual(all);
  });
});
