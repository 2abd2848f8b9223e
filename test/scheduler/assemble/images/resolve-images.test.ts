import { describe, expect, it } from 'vitest';
import { isFleetError } from '#bundles/errors';
import type { BlobStore } from '#bundles/formats/layout/blobs';
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

describe('the source of an image in a bundle', () => {
  it('is the first layout that has the image with all its blobs', async () => {
    const blobs: Blobs = new Map();
    const index = await makeImage(blobs);
    const names = [`edge.example/b@${index.digest}`, `edge.example/a@${index.digest}`];
    const [image, ...more] = await resolveImages(
      { sources: [sourceOf(new Map()), sourceOf(blobs)] },
      names,
      never,
    );
    expect(more).toEqual([]);
    expect(image?.entry).toEqual({
      digest: index.digest,
      size: index.size,
      mediaType: DOCKER_INDEX,
      names: names.toSorted(),
    });
    expect(new Set(image?.blobs.map(({ digest }) => digest))).toEqual(new Set(blobs.keys()));
  });

  it('is the registry of its name, only when pulling is requested', async () => {
    const blobs: Blobs = new Map();
    const index = await makeImage(blobs);
    const name = `edge.example/a@${index.digest}`;
    expect(await codeOf(resolveImages({ sources: [] }, [name], never))).toBe('MISSING_BLOB');
    const asked: string[] = [];
    const pull = (wanted: string) => {
      asked.push(wanted);
      return { blobs: sourceOf(blobs) };
    };
    const [image] = await resolveImages({ sources: [sourceOf(new Map())], pull }, [name], never);
    expect(image?.blobs).toHaveLength(blobs.size);
    expect(asked).toEqual([name]);
    await resolveImages({ sources: [sourceOf(blobs)], pull }, [name], never);
    expect(asked).toEqual([name]);
    expect(
      await codeOf(
        resolveImages({ sources: [], pull: () => ({ blobs: sourceOf(new Map()) }) }, [name], never),
      ),
    ).toBe('IMAGE_MISSING');
  });

  describe('with a store', () => {
    const storeIn = (stored: Blobs): BlobStore => ({
      ...sourceOf(stored, 'layout releases'),
      write: async (digest, size, content) => {
        const chunks: Uint8Array[] = [];
        for await (const chunk of content instanceof Uint8Array ? [content] : content) chunks.push(chunk);
        const bytes = Buffer.concat(chunks);
        if (bytes.byteLength !== size) throw new Error('not the size of its descriptor');
        stored.set(digest, bytes);
      },
    });
    const world = async () => {
      const blobs: Blobs = new Map();
      const layer = await putLayer(blobs, { app: 'app' });
      const image = putImage(blobs, { layers: [layer] });
      const names = ['one.example/a', 'two.example/a'].map((name) => `${name}@${image.digest}`);
      return { blobs, layer, image, names };
    };

    it('is the first place where every blob is complete', async () => {
      const { blobs, layer, names } = await world();
      const torn = new Map(blobs);
      torn.set(layer.digest, Buffer.alloc(layer.size));
      const cut = new Map(blobs);
      cut.delete(layer.digest);
      const stored: Blobs = new Map();
      const pull = (name: string) => ({ blobs: sourceOf(name.startsWith('one') ? cut : blobs) });
      const origin = { sources: [sourceOf(torn)], pull, store: storeIn(stored) };
      const [image] = await resolveImages(origin, names, never);
      expect(image?.source.name).toBe('layout releases');
      expect(stored).toEqual(blobs);
    });

    it('is missing without a layer: the error has image, place and layer', async () => {
      const { blobs, layer, image, names } = await world();
      blobs.delete(layer.digest);
      const pull = () => ({ blobs: sourceOf(blobs, 'registry one.example/a') });
      const origin = { sources: [], pull, store: storeIn(new Map()) };
      await expect(resolveImages(origin, names.slice(0, 1), never)).rejects.toMatchObject({
        code: 'IMAGE_MISSING',
        subject: image.digest,
        message: `the image ${names[0]} cannot be carried along: registry one.example/a does not have its blob ${layer.digest}`,
      });
    });

    it('is missing for a foreign layer, and the error explains that type', async () => {
      const blobs: Blobs = new Map();
      const type = 'application/vnd.docker.image.rootfs.foreign.diff.tar.gzip';
      const foreign = { ...(await putLayer(new Map(), { base: 'windows' })), mediaType: type };
      const { digest } = putImage(blobs, { layers: [foreign] });
      const origin = { sources: [sourceOf(blobs, 'images')], store: storeIn(new Map()) };
      await expect(resolveImages(origin, [`one.example/a@${digest}`], never)).rejects.toMatchObject({
        code: 'IMAGE_MISSING',
        message: expect.stringContaining(
          `images does not have its foreign layer ${foreign.digest} (${type}), which registries need not store`,
        ),
      });
    });
  });

  it('is refused when the registry returns other bytes: DIGEST_MISMATCH', async () => {
    const blobs: Blobs = new Map();
    const index = await makeImage(blobs);
    const bytes = Buffer.from(blobs.get(index.digest) as Buffer);
    bytes[20] = (bytes[20] ?? 0) ^ 1;
    const liar = sourceOf(new Map(blobs).set(index.digest, bytes));
    const name = `edge.example/a@${index.digest}`;
    expect(await codeOf(resolveImages({ sources: [], pull: () => ({ blobs: liar }) }, [name], never))).toBe(
      'DIGEST_MISMATCH',
    );
  });
});
