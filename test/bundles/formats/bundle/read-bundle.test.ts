import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { closureBlobs } from '#bundles/formats/bundle/closure-blobs';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { Manifest } from '#bundles/formats/layout/manifest';
import { ownBlobs, readBundle } from '#bundles/formats/bundle/read-bundle';
import { digestOf } from '#bundles/digest';
import {
  BUNDLE_KUBERNETES,
  DOCKER_INDEX,
  FILE_BLOB,
  LAYER_HOST,
  LAYER_KUBERNETES,
  OCI_INDEX,
  OCI_MANIFEST,
} from '#bundles/media-types';
import { verdict } from '../../verdict.ts';
import { descriptorOf, sampleBundle, sampleConfig } from './sample-bundle.ts';

const refusalOf = (change: Partial<BundleConfig>, reshape?: (manifest: Manifest) => unknown) => {
  const { blobs, digest } = sampleBundle(change, reshape);
  return verdict(() => readBundle(blobs, digest));
};

describe('a bundle', () => {
  it('is read with its manifest and config', async () => {
    const { blobs, digest, manifest, layer } = sampleBundle();
    const bundle = await readBundle(blobs, digest);
    expect(bundle).toMatchObject({ digest, kind: 'host', manifest, config: sampleConfig(layer.digest) });
    expect(ownBlobs(bundle).map((blob) => blob.digest)).toEqual([
      digest,
      manifest.config.digest,
      layer.digest,
    ]);
    expect(bundle.size).toBe(blobs.content.get(digest)?.length);
  });

  it('may be empty: no assignment, no layer', async () => {
    expect(await refusalOf({ assignments: [] }, (manifest) => ({ ...manifest, layers: [] }))).toBe('ACCEPT');
  });

  const extra = descriptorOf('extra', LAYER_HOST);
  it.each([
    ['a layer that no assignment names', (it: Manifest) => ({ ...it, layers: [...it.layers, extra] })],
    ['no layer for an assignment', (it: Manifest) => ({ ...it, layers: [] })],
    [
      'a layer of another kind',
      (it: Manifest) => ({
        ...it,
        layers: it.layers.map((layer) => ({ ...layer, mediaType: LAYER_KUBERNETES })),
      }),
    ],
    ['another kind than its config', (it: Manifest) => ({ ...it, artifactType: BUNDLE_KUBERNETES })],
    ['no artifact type', (it: Manifest) => ({ ...it, artifactType: undefined })],
    ['an index', (it: Manifest) => ({ schemaVersion: 2, mediaType: OCI_INDEX, manifests: [it.config] })],
    ['an image', (it: Manifest) => ({ ...it, config: { ...it.config, mediaType: 'application/json' } })],
  ])('is refused as LAYOUT_INVALID with %s', async (_what, reshape) => {
    expect(await refusalOf({}, reshape)).toBe('LAYOUT_INVALID');
  });

  it('is refused when its config is not valid', async () => {
    expect(await refusalOf({ kind: 'kubernetes' })).toBe('LAYOUT_INVALID');
    expect(await refusalOf({ critical: ['quantum'] })).toBe('UNSUPPORTED');
    expect(await refusalOf({ fleet: 'Not A Label' })).toBe('SCHEMA');
  });

  it('is refused when its manifest or config is missing or changed', async () => {
    for (const part of ['digest', 'config'] as const) {
      const bundle = sampleBundle();
      const digest = part === 'digest' ? bundle.digest : bundle.config.digest;
      bundle.blobs.content.delete(digest);
      expect(await verdict(() => readBundle(bundle.blobs, bundle.digest))).toBe('MISSING_BLOB');
    }
    const padded = sampleBundle();
    const config = padded.blobs.content.get(padded.config.digest) ?? Buffer.alloc(0);
    padded.blobs.content.set(padded.config.digest, Buffer.concat([config, Buffer.from(' ')]));
    expect(await verdict(() => readBundle(padded.blobs, padded.digest))).toBe('TOO_LARGE');
  });

  it('stops reading when the signal aborts', async () => {
    const { blobs, digest } = sampleBundle();
    const stopping = {
      ...blobs,
      open: async (name: typeof digest, signal?: AbortSignal) => {
        signal?.throwIfAborted();
        return blobs.open(name);
      },
    };
    await expect(readBundle(stopping, digest, AbortSignal.abort())).rejects.toThrow('aborted');
  });
});

describe('the closure of a bundle', () => {
  /** An index of two images that share a layer, a file, and one image that the source does not have. */
  const world = () => {
    const parts = sampleBundle();
    const put = (text: string, mediaType: string) => {
      parts.blobs.put(text);
      return descriptorOf(text, mediaType);
    };
    const image = (name: string) => {
      const config = put(`config ${name}`, 'application/vnd.oci.image.config.v1+json');
      const layers = [put('shared layer', 'layer'), put(`layer ${name}`, 'layer')];
      return put(JSON.stringify({ schemaVersion: 2, mediaType: OCI_MANIFEST, config, layers }), OCI_MANIFEST);
    };
    const index = put(
      JSON.stringify({ schemaVersion: 2, manifests: [image('amd64'), image('arm64')] }),
      DOCKER_INDEX,
    );
    const file = put('a file', 'application/octet-stream');
    const absent = { digest: digestOf('absent'), size: 7, mediaType: OCI_MANIFEST };
    const closure = [index, file, absent, index];
    const blobs = sampleBundle({ closure });
    for (const [digest, bytes] of parts.blobs.content) blobs.blobs.content.set(digest, bytes);
    return { ...blobs, index, file, absent };
  };

  it('lists every blob once, manifests before what they name', async () => {
    const { blobs, digest, index, file, absent } = world();
    const found = await closureBlobs(blobs, await readBundle(blobs, digest));
    const digests = found.map((blob) => blob.digest);
    expect(new Set(digests).size).toBe(digests.length);
    // manifest, config, layer; index, two manifests, two configs, three layers; file; what is assumed elsewhere
    expect(found).toHaveLength(3 + 1 + 2 + 2 + 3 + 1 + 1);
    expect(digests[0]).toBe(digest);
    expect(digests).toEqual(expect.arrayContaining([index.digest, file.digest, absent.digest]));
    const position = (name: string) => digests.indexOf(digestOf(name));
    // Both manifests name it: it stands behind both.
    expect(position('config arm64')).toBeLessThan(position('shared layer'));
    expect(digests.indexOf(index.digest)).toBeLessThan(position('config amd64'));
    expect(position('config amd64')).toBeLessThan(position('config arm64'));
    for (const blob of found) {
      if (blob.digest !== absent.digest) expect(await blobs.size(blob.digest)).toBe(blob.size);
    }
  });

  it('visits an index once that many paths lead to', async () => {
    const bundleOf = (closure: BundleConfig['closure']) => sampleBundle({ closure });
    const { blobs } = bundleOf([]);
    let next = descriptorOf('the end', 'layer');
    for (let level = 0; level < 40; level++) {
      const index = JSON.stringify({ schemaVersion: 2, manifests: [next, next, next] });
      blobs.put(index);
      next = descriptorOf(index, OCI_INDEX);
    }
    const { digest, blobs: own } = bundleOf([next]);
    for (const [name, bytes] of own.content) blobs.content.set(name, bytes);
    expect(await closureBlobs(blobs, await readBundle(blobs, digest))).toHaveLength(3 + 40 + 1);
  });

  it('is listed in the same order when its manifests arrive in another', async () => {
    const { blobs, digest } = world();
    const bundle = await readBundle(blobs, digest);
    let turns = 50;
    const late = async (...asked: Parameters<typeof blobs.open>) => {
      for (let left = (turns -= 10); left > 0; left -= 1) await setImmediate();
      return blobs.open(...asked);
    };
    expect(await closureBlobs({ ...blobs, open: late }, bundle)).toEqual(await closureBlobs(blobs, bundle));
  });

  it('parses only manifest media types, and refuses an invalid or changed manifest', async () => {
    const text = '{"schemaVersion":2,"manifests":[]} not JSON';
    const asFile = sampleBundle({ closure: [descriptorOf(text, 'application/json')] });
    asFile.blobs.put(text);
    const bundle = await readBundle(asFile.blobs, asFile.digest);
    expect(await closureBlobs(asFile.blobs, bundle)).toHaveLength(4);

    const asManifest = sampleBundle({ closure: [descriptorOf(text, OCI_MANIFEST)] });
    asManifest.blobs.put(text);
    const broken = await readBundle(asManifest.blobs, asManifest.digest);
    expect(await verdict(() => closureBlobs(asManifest.blobs, broken))).toBe('BAD_JSON');
    asManifest.blobs.content.set(digestOf(text), Buffer.from('{"schemaVersion":2,"manifests":[]}'));
    expect(await verdict(() => closureBlobs(asManifest.blobs, broken))).toBe('DIGEST_MISMATCH');
  });
});

describe('the blobs of a package', () => {
  const FILE = descriptorOf('a model', FILE_BLOB);
  const naming = (closure: BundleConfig['closure']) => {
    const { layer } = sampleBundle();
    const [assignment] = sampleConfig(layer.digest).assignments;
    if (!assignment) throw new Error('the sample has no assignment');
    return sampleBundle({
      assignments: [{ ...assignment, blobs: [FILE.digest] }],
      closure,
      critical: ['blobs'],
    });
  };

  it('must be part of the closure, or the bundle is refused', async () => {
    const good = naming([FILE]);
    expect((await readBundle(good.blobs, good.digest)).config.assignments[0]?.blobs).toEqual([FILE.digest]);
    const bad = naming([]);
    expect(await verdict(() => readBundle(bad.blobs, bad.digest))).toBe('LAYOUT_INVALID');
  });
});
