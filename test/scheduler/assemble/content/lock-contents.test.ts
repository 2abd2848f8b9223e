import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import {
  type LockContentsOptions,
  lockContents,
} from '../../../../scheduler/assemble/content/lock-contents.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
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

test('an address is locked once, and again only when it is asked for', async () => {
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

test('what is not there is told with the line that names it, and what was locked stays', async () => {
  const world = await makeWorld();
  await world.lock();
  world.at.there = '';
  const { missing } = await world.lock('all');
  expect(missing.map((error) => formatError(error).replaceAll(`${world.directory}/`, ''))).toEqual([
    `${FILE}:6:7: SOURCE_UNREACHABLE: ${URL} was answered with 404`,
  ]);
  expect(await world.text()).toContain(line('first'));
});

test('a line that no package needs any more is told', async () => {
  const world = await makeWorld();
  await world.lock();
  await world.put(PACKAGE.replace(`"${URL}"`, `"${URL}2"`));
  expect((await world.lock()).unused).toEqual([URL]);
});
