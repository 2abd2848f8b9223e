import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { FleetError, formatError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/formats/layout/blob-directory';
import { type Layout, withReference, writeLayoutIndex } from '#bundles/formats/layout/layout';
import { layoutPlaces } from '../../../../scheduler/load/images/image-places.ts';
import { type LockOptions, lockPlatform } from '../../../../scheduler/build/lock/lock-platform.ts';
import { type Blobs, putImage, putIndex, putLayer } from '../../../agent/images/image-fixture.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { fleetPlatform, ours } from '../../fleet-platform.ts';

const deployment = (...images: readonly string[]): string =>
  [
    'apiVersion: apps/v1',
    'kind: Deployment',
    'metadata: {name: web}',
    'spec:',
    '  template:',
    '    spec:',
    '      containers:',
    ...images.map((image, index) => `        - {name: c${index}, image: "${image}"}`),
    '',
  ].join('\n');

/** The small platform with Kubernetes applications and two kinds of clusters. */
const platformOf = (...images: readonly string[]): Record<string, string> => {
  const files = fleetPlatform();
  delete files['apps/shop/host/package.yaml'];
  delete files['platform/base/press.yaml'];
  const type = (name: string, platforms: string): string =>
    ours('ClusterType', name, `  labels: {region: eu}\nspec: {platforms: [${platforms}]}\n`);
  return {
    ...files,
    'platform/base/edge.yaml': type('edge', 'linux/amd64'),
    'apps/shop/host/web.yaml': deployment(...images),
  };
};

type Content = { readonly architecture: string; readonly text: string };

const makeWorld = async (files: Readonly<Record<string, string>>) => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, files);
  const folder = join(directory, 'images');
  let layout: Layout = { directory: folder, blobs: openBlobDirectory(folder), manifests: [] };
  const push = async (name: string, ...contents: readonly Content[]) => {
    const blobs: Blobs = new Map();
    const manifests = [];
    for (const { architecture, text } of contents)
      manifests.push(putImage(blobs, { layers: [await putLayer(blobs, { app: text })], architecture }));
    const index = putIndex(blobs, manifests);
    for (const [digest, bytes] of blobs) await layout.blobs.write(digest, bytes.byteLength, bytes);
    layout = await writeLayoutIndex(layout, withReference(layout.manifests, name, index));
    return { index: index.digest, manifests: manifests.map(({ digest }) => digest) };
  };
  const lock = (more: Partial<LockOptions> = {}) =>
    lockPlatform({
      platform: join(directory, 'platform'),
      maps: [],
      cacheDirectory: join(directory, 'cache'),
      env: {},
      places: layoutPlaces(layout),
      update: [],
      signal: new AbortController().signal,
      ...more,
    });
  const lockFile = () => readFile(join(directory, 'platform/images.lock.yaml'), 'utf8');
  return { directory, push, lock, lockFile };
};

const amd = (text: string): Content => ({ architecture: 'amd64', text });
const arm = (text: string): Content => ({ architecture: 'arm64', text });
const told = (errors: readonly FleetError[], directory: string) =>
  errors.map((error) => formatError(error).replaceAll(`${directory}/`, ''));

describe('locking the images of a platform', () => {
  it('writes the lock file when it is missing, and nothing on a second run', async () => {
    const world = await makeWorld(platformOf('edge.example/b:2', 'edge.example/a:1'));
    const a = await world.push('edge.example/a:1', amd('a'), arm('a'));
    const b = await world.push('edge.example/b:2', amd('b'));
    const outcome = await world.lock();
    expect(outcome.missing).toEqual([]);
    expect(outcome.unread).toEqual([]);
    const text = await world.lockFile();
    expect(text).toContain('kind: ImagesLock');
    expect(text).toContain(`edge.example/a:1: edge.example/a@${a.manifests[0]}\n`);
    expect(text).toContain(`edge.example/b:2: edge.example/b@${b.manifests[0]}\n`);
    expect(text.indexOf('a:1')).toBeLessThan(text.indexOf('b:2'));
    expect((await world.lock()).file).toBeUndefined();
    expect(await world.lockFile()).toBe(text);
  });

  it('locks the whole index when cluster types of two platforms use the image', async () => {
    const files = platformOf('edge.example/a:1');
    files['platform/base/ship.yaml'] = ours(
      'ClusterType',
      'ship',
      '  labels: {region: eu}\nspec: {platforms: [linux/arm64]}\n',
    );
    const world = await makeWorld(files);
    const { index } = await world.push('edge.example/a:1', amd('a'), arm('a'));
    await world.lock();
    expect(await world.lockFile()).toContain(`edge.example/a@${index}`);
  });

  it('keeps locked entries, comments and order until an update is requested', async () => {
    const old = `sha256:${'0'.repeat(64)}`;
    const text = ours(
      'ImagesLock',
      'images',
      `spec:\n  images:\n    # Mind the release notes.\n    "edge.example/b:2": edge.example/b@${old} # since May\n    edge.example/a:1: edge.example/a@${old}\n`,
    );
    const world = await makeWorld({
      ...platformOf('edge.example/a:1', 'edge.example/b:2', 'edge.example/c:3'),
      'platform/images.lock.yaml': text,
    });
    const a = await world.push('edge.example/a:1', amd('a'));
    const b = await world.push('edge.example/b:2', amd('b'));
    const c = await world.push('edge.example/c:3', amd('c'));
    await world.lock();
    const line = `    edge.example/c:3: edge.example/c@${c.manifests[0]}\n`;
    // Each stands in an index, which is what builders sign.
    const indexes = (...made: readonly (typeof a)[]) =>
      `  indexes:\n${made.map(({ manifests, index }) => `    ${manifests[0]}: ${index}\n`).join('')}` +
      `  platforms:\n${made.map(({ manifests }) => `    ${manifests[0]}: [ linux/amd64 ]\n`).join('')}`;
    expect(await world.lockFile()).toBe(text + line + indexes(c));
    const outcome = await world.lock({ update: ['edge.example/b:2'] });
    expect(outcome.images.filter(({ before, after }) => before !== after)).toEqual([
      {
        image: 'edge.example/b:2',
        before: `edge.example/b@${old}`,
        after: `edge.example/b@${b.manifests[0]}`,
        index: b.index,
        platforms: ['linux/amd64'],
      },
    ]);
    const renewed = text.replace(`b@${old}`, `b@${b.manifests[0]}`);
    expect(await world.lockFile()).toBe(renewed + line + indexes(c, b));
    await world.lock({ update: 'all' });
    expect(await world.lockFile()).toBe(
      renewed.replace(`a@${old}`, `a@${a.manifests[0]}`) + line + indexes(c, b, a),
    );
  });

  describe('when a cluster type needs another platform', () => {
    const type = (platforms: string): Record<string, string> => ({
      'platform/base/edge.yaml': ours(
        'ClusterType',
        'edge',
        `  labels: {region: eu}\nspec: {platforms: [${platforms}]}\n`,
      ),
    });

    it('locks the manifest or index of the locked version, even if the tag has moved', async () => {
      const world = await makeWorld(platformOf('edge.example/a:1'));
      const first = await world.push('edge.example/a:1', amd('first'), arm('first'));
      await world.lock();
      await world.push('edge.example/a:1', amd('second'), arm('second'));
      await writeFiles(world.directory, type('linux/arm64'));
      await world.lock();
      expect(await world.lockFile()).toContain(`edge.example/a:1: edge.example/a@${first.manifests[1]}\n`);
      await writeFiles(world.directory, type('linux/amd64, linux/arm64/v8'));
      const { images } = await world.lock();
      expect(images.map(({ after }) => after)).toEqual([`edge.example/a@${first.index}`]);
      const text = await world.lockFile();
      expect(text).toContain(`${first.index}: [ linux/amd64, linux/arm64 ]\n`);
      expect((await world.lock()).file).toBeUndefined();
    });

    it('reports a locked version that does not exist for the platform, and keeps its entry', async () => {
      const world = await makeWorld(platformOf('edge.example/a:1'));
      const first = await world.push('edge.example/a:1', amd('first'));
      await world.lock();
      const text = await world.lockFile();
      await world.push('edge.example/a:1', amd('second'), arm('second'));
      await writeFiles(world.directory, type('linux/arm64'));
      const { missing } = await world.lock();
      expect(told(missing, world.directory)).toEqual([
        `apps/shop/host/web.yaml:8:29: IMAGE_MISSING: edge.example/a:1 is locked to ${first.manifests[0]}, which is not there for linux/arm64. ` +
          'To take what the tag means now: fleet-scheduler images lock --update edge.example/a:1.',
      ]);
      expect(await world.lockFile()).toBe(text);
      expect((await world.lock({ update: ['edge.example/a:1'] })).missing).toEqual([]);
    });

    it('adds the platforms to a lock file that lacks them', async () => {
      const world = await makeWorld(platformOf('edge.example/a:1'));
      const { index, manifests } = await world.push('edge.example/a:1', amd('a'), arm('a'));
      await world.lock();
      const text = await world.lockFile();
      await writeFiles(world.directory, {
        'platform/images.lock.yaml': text.slice(0, text.indexOf('  platforms:')),
      });
      await world.lock();
      expect(await world.lockFile()).toBe(text);
      // An index that was locked for more cluster types than there are now.
      await writeFiles(world.directory, {
        'platform/images.lock.yaml': text
          .slice(0, text.indexOf('  indexes:'))
          .replace(`${manifests[0]}`, index),
      });
      await world.lock();
      expect(await world.lockFile()).toContain(`edge.example/a@${index}\n`);
      expect(await world.lockFile()).toContain(`${index}: [ linux/amd64 ]\n`);
    });
  });

  it('reports the position of an image that does not exist, and locks the others', async () => {
    const world = await makeWorld(platformOf('edge.example/a:1', 'edge.example/gone:9'));
    await world.push('edge.example/a:1', arm('a'));
    const first = await world.lock();
    expect(told(first.missing, world.directory)).toEqual([
      expect.stringMatching(
        /^apps\/shop\/host\/web\.yaml:8:29: IMAGE_MISSING: edge\.example\/a:1 is not there for linux\/amd64, only for linux\/arm64/,
      ),
      expect.stringMatching(
        /^apps\/shop\/host\/web\.yaml:9:29: IMAGE_MISSING: the image edge\.example\/gone:9 is not in images/,
      ),
    ]);
    await world.push('edge.example/a:1', amd('a'));
    expect((await world.lock()).missing).toHaveLength(1);
    expect(await world.lockFile()).toContain('edge.example/a:1');
  });

  it("resolves docker's short names, leaves digests unchanged, and reports unused entries", async () => {
    const pinned = `edge.example/x@sha256:${'1'.repeat(64)}`;
    const old = `edge.example/old@sha256:${'2'.repeat(64)}`;
    const world = await makeWorld({
      ...platformOf('nginx', pinned),
      'platform/images.lock.yaml': ours(
        'ImagesLock',
        'images',
        `spec:\n  images:\n    edge.example/old:1: ${old}\n`,
      ),
    });
    const nginx = await world.push('docker.io/library/nginx:latest', amd('nginx'));
    const outcome = await world.lock();
    expect(outcome.images.map(({ image, after }) => [image, after])).toEqual([
      ['nginx', `docker.io/library/nginx@${nginx.manifests[0]}`],
    ]);
    expect(outcome.unused).toEqual(['edge.example/old:1']);
    expect(await world.lockFile()).toContain('edge.example/old:1');
  });

  it('refuses to update an image that no manifest runs', async () => {
    const world = await makeWorld(platformOf('edge.example/a:1'));
    await world.push('edge.example/a:1', amd('a'));
    const error = await world.lock({ update: ['edge.example/b:1'] }).catch((it: unknown) => it);
    expect(error).toBeInstanceOf(FleetError);
    expect((error as FleetError).code).toBe('USAGE');
  });
});
