import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { packLayer, packLayerAside } from '../../../bundles/archive/pack-layer.ts';
import { packageDigest } from '../../../bundles/bundle/package-digest.ts';
import {
  digestIn,
  filesIn,
  folderIn,
  imageOfFile,
  imageOfPackage,
} from '../../../scheduler/bundle/package-image.ts';

const NAMES = ['a', 'a-b', 'a.b', 'a0', 'ab', 'b'];
const PATHS = [
  'config.yaml',
  'kustomization.yaml',
  'manifests/web.yaml',
  'manifests/sub/x.yaml',
  'manifests-b.yaml',
];

/** A text with a namespace in it here and there, in pieces. */
const pieces = fc.array(fc.string({ unit: 'grapheme', maxLength: 300 }), { minLength: 1, maxLength: 4 });
const files = fc
  .subarray(PATHS, { minLength: 1 })
  .chain((paths) => fc.tuple(...paths.map((path) => fc.tuple(fc.constant(path), pieces))));
const namespaces = fc.constantFrom('dev-one-shop', 'dev-two-shop', 'xxxxxxxxxxxx');

/** Each package by its name, its files in pieces. */
const packages = fc.dictionary(fc.constantFrom(...NAMES), files, { minKeys: 1, noNullPrototype: true });

test('packages of images are packed to the bytes that their files are packed to, in any namespace', async () => {
  await fc.assert(
    fc.asyncProperty(packages, fc.array(namespaces, { minLength: 1, maxLength: 3 }), async (made, rounds) => {
      const images = Object.entries(made).map(([id, parts]) =>
        imageOfPackage(
          id,
          parts.map(([path, one]) => imageOfFile(id, path, one, 'namespace-12')),
        ),
      );
      const root = { path: 'kustomization.yaml', bytes: 'resources: []\n' };
      for (const namespace of rounds) {
        const plain = Object.entries(made).map(([id, parts]) => ({
          id,
          files: parts.map(([path, one]) => ({ path, bytes: one.join(namespace) })),
        }));
        expect(images.map((image) => digestIn(image, namespace))).toEqual(
          plain.map((one) => packageDigest(one.files)),
        );
        expect(
          images.map((image) => new Map(filesIn(image, namespace).map(({ path, bytes }) => [path, bytes]))),
        ).toEqual(plain.map((one) => new Map(one.files.map(({ path, bytes }) => [path, bytes]))));
        const [first, ...rest] = images.map((image) => folderIn(image, namespace));
        const asFiles = plain.map((one) =>
          one.files.map(({ path, bytes }) => ({ path: `${one.id}/${path}`, bytes })),
        );
        const want = packLayer([root, ...asFiles.flat()]);
        // All as folders, and one among files.
        for (const [others, folders] of [
          [[], [...rest, first]],
          [asFiles.slice(1).flat(), [first]],
        ] as const) {
          const got = await packLayerAside(
            [...others, root],
            folders.flatMap((one) => one ?? []),
          );
          expect(got.bytes.equals(want.bytes)).toBe(true);
          expect(got).toMatchObject({ digest: want.digest, uncompressedSize: want.uncompressedSize });
        }
      }
    }),
    { numRuns: 60 },
  );
});
