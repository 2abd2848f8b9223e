import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readPodman, tagOf } from '../../../../../agent/apply/host/images/podman-storage.ts';
import { temporaryDirectory } from '../../../../harness/run/temporary-directory.ts';

const HEX = 'a'.repeat(64);
const OTHER = 'b'.repeat(64);
const NAME = `registry.example:5000/team/web@sha256:${HEX}`;

/** A host whose Podman has this index of images. */
const hostWith = async (index: string, settings?: string, storage = 'var/lib/containers/storage') => {
  const folder = await temporaryDirectory('podman');
  const images = join(folder.path, storage, 'overlay-images');
  await mkdir(images, { recursive: true });
  await writeFile(join(images, 'images.json'), index);
  await mkdir(join(folder.path, 'etc/containers'), { recursive: true });
  if (settings !== undefined) await writeFile(join(folder.path, 'etc/containers/storage.conf'), settings);
  return folder;
};

const image = (names: readonly string[] | null, hex = HEX, data: readonly string[] = []) =>
  JSON.stringify([{ digest: `sha256:${hex}`, names, 'big-data-names': ['manifest', ...data] }]);

test('tagOf gives a loaded image a tag of the agent in its repository', () => {
  expect(tagOf(NAME)).toBe(`registry.example:5000/team/web:fleet-ferry-${HEX}`);
});

test.each([
  ['without images', '[]', 'missing'],
  ['with the digest and the tag of the agent', image([tagOf(NAME)]), 'loaded'],
  ['with an image of that name and digest', image(['registry.example:5000/team/web:1']), 'here'],
  ['with that digest pulled by digest', image([NAME]), 'here'],
  ['with that digest in another repository alone', image(['registry.example:5000/team/web2:1']), 'missing'],
  ['with that digest and no name', image(null), 'missing'],
  ['with another digest', image(['registry.example:5000/team/web:1'], OTHER), 'missing'],
  [
    'with one platform of an index of that digest',
    image(['registry.example:5000/team/web:1'], OTHER, [`manifest-sha256:${HEX}`]),
    'here',
  ],
])('a storage %s: %s is %s', async (_what, index, wanted) => {
  await using host = await hostWith(index);
  expect((await readPodman(host.path)).find(NAME)).toBe(wanted);
});

test("the loaded images are those with the agent's tag", async () => {
  await using host = await hostWith(image(['registry.example/other:1', tagOf(NAME)]));
  expect((await readPodman(host.path)).loaded).toEqual([NAME]);
});

test('a host without Podman has no images', async () => {
  await using host = await temporaryDirectory('podman');
  expect((await readPodman(host.path)).find(NAME)).toBe('missing');
});

test("the storage path is read from Podman's configuration", async () => {
  const settings = '[storage]\n# graphroot = "/no"\ngraphroot = "/data/containers"\n';
  await using host = await hostWith(image([tagOf(NAME)]), settings, 'data/containers');
  expect((await readPodman(host.path)).find(NAME)).toBe('loaded');
});

test('a damaged index is an error, not an empty storage', async () => {
  await using host = await hostWith('[{');
  await expect(readPodman(host.path)).rejects.toMatchObject({ code: 'IO' });
});

test('the storage path may be in single quotes, as TOML has them', async () => {
  await using host = await hostWith(
    image([tagOf(NAME)]),
    "[storage]\ngraphroot = '/data/containers'\n",
    'data/containers',
  );
  expect((await readPodman(host.path)).find(NAME)).toBe('loaded');
});
