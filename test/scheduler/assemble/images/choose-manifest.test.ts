import { beforeEach, describe, expect, it } from 'vitest';
import { isFleetError } from '#bundles/errors';
import { DOCKER_INDEX, DOCKER_MANIFEST } from '#bundles/media-types';
import { chooseManifest } from '../../../../scheduler/assemble/images/choose-manifest.ts';
import {
  type Blobs,
  putAttestation,
  putEmpty,
  putImage,
  putIndex,
  putJson,
  putLayer,
  sourceOf,
} from '../../../agent/images/image-fixture.ts';

const never = new AbortController().signal;
let blobs: Blobs;
beforeEach(() => {
  blobs = new Map();
});

const choose = (top: Parameters<typeof chooseManifest>[1], ...wanted: string[]) =>
  chooseManifest(sourceOf(blobs), top, wanted, 'app:1', never);

const platform = async (architecture: string, variant?: string) => {
  const image = putImage(blobs, {
    layers: [await putLayer(blobs, { app: `${architecture}${variant}` })],
    architecture,
  });
  return { ...image, platform: { os: 'linux', architecture, ...(variant && { variant }) } };
};

const refusal = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'none',
    (error: unknown) => (isFleetError(error) ? `${error.code}: ${error.message}` : String(error)),
  );

describe('the manifest that a bundle carries of an image', () => {
  it('is the matching manifest for one platform, and the whole index for several', async () => {
    const amd = await platform('amd64');
    const arm = await platform('arm64', 'v8');
    const index = putIndex(blobs, [amd, putAttestation(blobs, amd), arm, putAttestation(blobs, arm)]);
    expect(await choose(index, 'linux/amd64')).toBe(amd.digest);
    expect(await choose(index, 'linux/arm64')).toBe(arm.digest);
    expect(await choose(index, 'linux/arm64/v8')).toBe(arm.digest);
    expect(await choose(index, 'linux/amd64', 'linux/arm64')).toBe(index.digest);
    expect(await choose(index)).toBe(index.digest);
  });

  it('is an artifact without an image config unchanged, which image volumes mount on any platform', async () => {
    const artifact = putEmpty(blobs);
    expect(await choose(artifact, 'linux/amd64', 'linux/arm64')).toBe(artifact.digest);
  });

  it('is found in nested indexes, OCI and docker', async () => {
    const amd = await platform('amd64');
    const v7 = await platform('arm', 'v7');
    const inner = putIndex(blobs, [amd, v7], DOCKER_INDEX);
    const outer = putIndex(blobs, [inner]);
    expect(await choose(outer, 'linux/arm')).toBe(v7.digest);
    expect(await choose(outer, 'linux/arm/v7', 'linux/amd64')).toBe(outer.digest);
  });

  it('is refused when a platform is missing, and the error lists the available ones', async () => {
    const amd = await platform('amd64');
    const index = putIndex(blobs, [amd, putAttestation(blobs, amd)]);
    expect(await refusal(choose(index, 'linux/amd64', 'linux/arm64'))).toBe(
      'IMAGE_MISSING: app:1 is not there for linux/arm64, only for linux/amd64',
    );
    expect(await refusal(choose(index, 'linux/arm/v6'))).toContain('IMAGE_MISSING');
  });

  it('is that of the newest variant that the machine runs', async () => {
    const [v5, v6] = [await platform('arm', 'v5'), await platform('arm', 'v6')];
    const [v1, v3] = [await platform('amd64', 'v1'), await platform('amd64', 'v3')];
    const index = putIndex(blobs, [v5, v6, v3, v1]);
    expect(await choose(index, 'linux/arm/v7')).toBe(v6.digest);
    expect(await choose(index, 'linux/arm')).toBe(v6.digest);
    expect(await choose(index, 'linux/arm/v5')).toBe(v5.digest);
    expect(await choose(index, 'linux/amd64')).toBe(v1.digest);
    expect(await choose(index, 'linux/amd64/v2')).toBe(v1.digest);
    expect(await choose(index, 'linux/amd64/v4')).toBe(v3.digest);
    expect(await choose(index, 'linux/arm/v7', 'linux/arm/v6')).toBe(v6.digest);
    const plain = await platform('amd64');
    expect(await choose(plain, 'linux/amd64/v3')).toBe(plain.digest);
  });

  it('is never that of a newer variant, nor of 32 bits on a machine that may run 64 bits alone', async () => {
    const index = putIndex(blobs, [await platform('arm', 'v7'), await platform('amd64', 'v2')]);
    for (const wanted of ['linux/arm/v6', 'linux/arm64', 'linux/amd64'])
      expect(await refusal(choose(index, wanted))).toContain(`is not there for ${wanted}`);
  });

  it('has the platform of its config when it stands alone', async () => {
    const image = await platform('arm64');
    expect(await choose(image, 'linux/arm64')).toBe(image.digest);
    expect(await refusal(choose(image, 'linux/amd64'))).toContain('only for linux/arm64');
    const docker = { ...image, mediaType: DOCKER_MANIFEST };
    expect(await choose(docker, 'linux/arm64')).toBe(image.digest);
  });

  it('refuses a schema 1 image and an index without a manifest', async () => {
    const old = putJson(blobs, 'application/vnd.docker.distribution.manifest.v1+json', { schemaVersion: 1 });
    expect(await refusal(choose(old, 'linux/amd64'))).toContain('IMAGE_MISSING');
    let deep = putIndex(blobs, []);
    for (let depth = 0; depth < 6; depth++) deep = putIndex(blobs, [deep]);
    expect(await refusal(choose(deep, 'linux/amd64'))).toContain('LAYOUT_INVALID');
  });
});
