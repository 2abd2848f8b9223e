import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import {
  openLayout,
  openOrStartLayout,
  withReference,
  writeLayoutIndex,
} from '#bundles/formats/layout/layout';
import { OCI_MANIFEST } from '#bundles/media-types';
import { lockLayout } from '../../../../scheduler/release/write/lock-layout.ts';
import { openReleases } from '../../../../scheduler/release/write/open-releases.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const NOW = new Date('2026-11-21T08:00:00Z');
const BUILD = { command: 'build', now: NOW };
const entry = (text: string) => ({ mediaType: OCI_MANIFEST, digest: digestOf(text), size: text.length });

test('a build that ends before its first release creates nothing', async () => {
  await using folder = await temporaryDirectory();
  {
    using _ = await openReleases(join(folder.path, 'out'), BUILD);
  }
  expect(await readdir(folder.path)).toEqual([]);
});

test('an existing layout is locked at once', async () => {
  await using folder = await temporaryDirectory();
  using _ = await openReleases(folder.path, BUILD);
  await expect(openReleases(folder.path, { ...BUILD, waitMs: 0 })).rejects.toMatchObject({ code: 'BUSY' });
});

test('openReleases waits for a short hold of the lock', async () => {
  await using folder = await temporaryDirectory();
  const held = await lockLayout(folder.path, 'sites set', NOW);
  const opening = openReleases(folder.path, BUILD);
  await setTimeout(20);
  held[Symbol.dispose]();
  using releases = await opening;
  expect((await releases.open()).manifests).toEqual([]);
});

test('references that other processes wrote meanwhile are kept', async () => {
  await using folder = await temporaryDirectory();
  const directory = join(folder.path, 'out');
  using releases = await openReleases(directory, BUILD);
  await releases.open();
  const layout = await openOrStartLayout(directory);
  await writeLayoutIndex(layout, withReference(layout.manifests, 'sites/plant:site', entry('site')));
  await releases.point(new Map([['prod/kiosk:release', entry('release')]]));
  const { manifests } = await openLayout(directory);
  expect(manifests.map(({ digest }) => digest)).toEqual([digestOf('release'), digestOf('site')]);
});

test('a layout without its index is refused, instead of numbering from 1 again', async () => {
  await using folder = await temporaryDirectory();
  const directory = join(folder.path, 'out');
  {
    using releases = await openReleases(directory, BUILD);
    const { blobs } = await releases.open();
    await blobs.write(digestOf('a'), 1, Buffer.from('a'));
  }
  await rm(join(directory, 'index.json'));
  using releases = await openReleases(directory, BUILD);
  await expect(releases.open()).rejects.toMatchObject({ code: 'LAYOUT_INVALID' });
  await rm(join(directory, 'oci-layout'));
  await expect(releases.open()).rejects.toMatchObject({ code: 'LAYOUT_INVALID' });
});

test('an empty folder can become a layout', async () => {
  await using folder = await temporaryDirectory();
  await mkdir(join(folder.path, 'blobs', 'sha256'), { recursive: true });
  await writeFile(join(folder.path, 'notes.txt'), 'mine');
  using releases = await openReleases(folder.path, BUILD);
  expect((await releases.open()).manifests).toEqual([]);
});
