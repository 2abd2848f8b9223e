import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parse } from 'yaml';
import { digestOf, hexOf } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { type LockContentsOptions, lockContents } from '../../../../scheduler/build/lock/lock-contents.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { type Control, statusOf, writeArchive } from '../../assemble/content/debian-archive.ts';
import { fleetPlatform } from '../../fleet-platform.ts';

const URL = 'https://models.example/m';
const FILE = 'apps/shop/host/package.yaml';
const PACKAGE = `apiVersion: fleet-ferry/v1alpha1
kind: HostPackage
metadata: {name: shop}
spec:
  files:
    - {path: /opt/model, url: "${URL}"}
    - {path: /opt/known, url: "https://models.example/known", sha256: "${hexOf(digestOf('known'))}"}
`;

/** The small platform with a package that takes a file from elsewhere; `there` is what is at its address. */
const makeWorld = async () => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, { ...fleetPlatform(), [FILE]: PACKAGE });
  const at = { there: 'first' };
  const asked: string[] = [];
  const lock = (update: LockContentsOptions['update'] = []) =>
    lockContents({
      platform: join(directory, 'platform'),
      maps: [],
      cacheDirectory: join(directory, 'cache'),
      env: {},
      charts: undefined,
      update,
      signal: new AbortController().signal,
      fetch: async (url) => {
        asked.push(url);
        if (at.there === '') throw new FleetError('SOURCE_UNREACHABLE', `${url} was answered with 404`);
        return { digest: digestOf(at.there), size: at.there.length };
      },
    });
  return {
    directory,
    at,
    asked,
    lock,
    put: (text: string) => writeFiles(directory, { [FILE]: text }),
    text: () => readFile(join(directory, 'platform/images.lock.yaml'), 'utf8'),
  };
};

const line = (text: string): string =>
  `    ${URL}: { sha256: ${hexOf(digestOf(text))}, size: ${text.length} }\n`;

test('an address is locked once, and again only on request', async () => {
  const world = await makeWorld();
  expect(await world.lock()).toMatchObject({
    locked: [{ name: URL, before: undefined, after: digestOf('first') }],
    names: [URL],
    missing: [],
    unread: [],
  });
  const before = await world.text();
  expect(before).toContain(`  files:\n${line('first')}`);
  world.at.there = 'second';
  expect(await world.lock()).toMatchObject({ file: undefined });
  expect(world.asked).toEqual([URL]);
  await world.lock([URL]);
  expect(await world.text()).toBe(before.replace(line('first'), line('second')));
});

test('missing content is reported with the position of its declaration, and the lock entry stays', async () => {
  const world = await makeWorld();
  await world.lock();
  world.at.there = '';
  const { missing } = await world.lock('all');
  expect(missing.map((error) => formatError(error).replaceAll(`${world.directory}/`, ''))).toEqual([
    `${FILE}:6:7: SOURCE_UNREACHABLE: ${URL} was answered with 404`,
  ]);
  expect(await world.text()).toContain(line('first'));
});

test('a lock entry that no package uses is reported', async () => {
  const world = await makeWorld();
  await world.lock();
  await world.put(PACKAGE.replace(`"${URL}"`, `"${URL}2"`));
  expect((await world.lock()).unused).toEqual([URL]);
});

const DEBS = `apiVersion: fleet-ferry/v1alpha1
kind: HostPackage
metadata: {name: shop}
spec:
  debs:
    - packages: [app]
`;

const indented = (text: string): string => text.replaceAll(/^/gm, '    ');

/** The small platform with a base of Debian and a package that names `app`; its archive is the folder `archive`. */
const makeDebianWorld = async () => {
  const world = await makeWorld();
  const { directory } = world;
  const archive = join(directory, 'archive');
  const write = (packages: readonly Control[]) => writeArchive(archive, packages);
  const { sources } = await write([
    ['app', '1', 'Depends: lib, libc\n'],
    ['lib', '1'],
  ]);
  const platform = fleetPlatform();
  const [file, text] =
    Object.entries(platform).find(
      ([, one]) => one.includes('target: host') && one.includes('kind: ClusterType'),
    ) ?? [];
  if (file === undefined || text === undefined) throw new Error('the platform has no cluster type of hosts');
  await writeFiles(directory, {
    [FILE]: DEBS,
    [file]: text.replace('target: host', 'target: host, debianBase: factory-12'),
    'platform/base/debian/factory-12.yaml': `apiVersion: fleet-ferry/v1alpha1
kind: DebianBase
metadata: {name: factory-12}
spec:
  architecture: amd64
  sources: |
${indented(sources)}
  status: |
${indented(statusOf([['libc', '2.36']]))}
`,
  });
  const lock = (update: LockContentsOptions['update'] = []) =>
    lockContents({
      platform: join(directory, 'platform'),
      maps: [],
      cacheDirectory: join(directory, 'cache'),
      env: process.env,
      charts: undefined,
      update,
      signal: new AbortController().signal,
      fetch: async (url, expected) => {
        const bytes = await readFile(url.replace('file:', ''));
        if (expected) expect(digestOf(bytes)).toBe(expected.digest);
        return { digest: digestOf(bytes), size: bytes.length };
      },
    });
  const locked = async () =>
    parse((await world.text()).replaceAll(`file:${archive}/./`, '')) as {
      spec: { debs: object; files: object };
    };
  return { ...world, write, lock, locked };
};

test('Debian packages are locked with their dependencies, and solved again only on request', async () => {
  const world = await makeDebianWorld();
  expect(await world.lock()).toMatchObject({ missing: [], unread: [] });
  const first = await world.locked();
  expect(first.spec.debs).toEqual({ 'factory-12: app': ['app_1_all.deb', 'lib_1_all.deb'] });
  expect(Object.keys(first.spec.files)).toEqual(['app_1_all.deb', 'lib_1_all.deb']);
  await world.write([
    ['app', '2', 'Depends: libc\n'],
    ['lib', '1'],
  ]);
  await world.lock();
  expect(await world.locked()).toEqual(first);
  const { unused } = await world.lock(['factory-12: app']);
  expect((await world.locked()).spec.debs).toEqual({ 'factory-12: app': ['app_2_all.deb'] });
  expect(unused.map((url) => url.slice(url.lastIndexOf('/') + 1))).toEqual([
    'app_1_all.deb',
    'lib_1_all.deb',
  ]);
});

test('Debian packages that apt cannot solve are reported with their position, and not locked', async () => {
  const world = await makeDebianWorld();
  await world.put(DEBS.replace('[app]', '[app, nope]'));
  const { missing } = await world.lock();
  expect(missing.map((error) => formatError(error).replaceAll(`${world.directory}/`, ''))).toEqual([
    expect.stringContaining(
      `${FILE}:6:7: CONTENT_INVALID: apt finds no way to install app, nope on factory-12: Unable to locate package nope`,
    ),
  ]);
});
