import { describe, expect, it } from 'vitest';
import { isFleetError } from '#bundles/errors';
import { DOCKER_INDEX, DOCKER_MANIFEST } from '#bundles/media-types';
import { resolveImages } from '../../../../scheduler/assemble/images/resolve-images.ts';
import {
  type Blobs,
  putAttestation,
  putImage,
  putIndex,
  putLayer,
  sourceOf,
} from '../../../agent/images/image-fixture.ts';

const never = new AbortController().signal;
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (isFleetError(error) ? error.code : String(error)),
  );

const makeImage = async (blobs: Blobs) => {
  const layer = await putLayer(blobs, { app: 'app' });
  const docker = { ...putImage(blobs, { layers: [layer] }), mediaType: DOCKER_MANIFEST };
  return putIndex(blobs, [docker, putAttestation(blobs, docker)], DOCKER_INDEX);
};

describe('where images of a bundle come from', () => {
  it('is the first layout that has them, with all they are made of', async () => {
    const blobs: Blobs = new Map();
    const index = await makeImage(blobs);
    const names = [`edge.example/b@${index.digest}`, `edge.example/a@${index.digest}`];
    const [image, ...more] = await resolveImages([sourceOf(new Map()), sourceOf(blobs)], names, never);
    expect(more).toEqual([]);
    expect(image?.entry).toEqual({
      digest: index.digest,
      size: index.size,
      mediaType: DOCKER_INDEX,
      names: names.toSorted(),
    });
    expect(new Set(image?.blobs.map(({ digest }) => digest))).toEqual(new Set(blobs.keys()));
  });

  it('is a registry only where that was asked for, and then the one that the name says', async () => {
    const blobs: Blobs = new Map();
    const index = await makeImage(blobs);
    const name = `edge.example/a@${index.digest}`;
    expect(await codeOf(resolveImages([], [name], never))).toBe('MISSING_BLOB');
    const asked: string[] = [];
    const pull = (wanted: string) => {
      asked.push(wanted);
      return { blobs: sourceOf(blobs) };
    };
    const [image] = await resolveImages([sourceOf(new Map())], [name], never, pull);
    expect(image?.blobs).toHaveLength(blobs.size);
    expect(asked).toEqual([name]);
    await resolveImages([sourceOf(blobs)], [name], never, pull);
    expect(asked).toEqual([name]);
    expect(await codeOf(resolveImages([], [name], never, () => ({ blobs: sourceOf(new Map()) })))).toBe(
      'IMAGE_MISSING',
    );
  });

  it('is never a registry that gives other bytes', async () => {
    const blobs: Blobs = new Map();
    const index = await makeImage(blobs);
    const bytes = Buffer.from(blobs.get(index.digest) as Buffer);
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    const liar = sourceOf(new Map(blobs).set(index.digest, bytes));
    const name = `edge.example/a@${index.digest}`;
    expect(await codeOf(resolveImages([], [name], never, () => ({ blobs: liar })))).toBe('DIGEST_MISMATCH');
  });
});
