import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDebSolver } from '../../../../../scheduler/assemble/content/debs/solve-debs.ts';
import { temporaryDirectory } from '../../../file-tree.ts';
import { type Control, statusOf, writeArchive } from '../debian-archive.ts';

const { signal } = new AbortController();

const BASE: readonly Control[] = [['libc', '2.36']];

/** Solves with the apt-get of this machine against an archive in a folder. */
const solveIn = async (
  archive: readonly Control[],
  packages: readonly string[],
  more: {
    readonly recommends?: boolean;
    readonly sources?: (text: string) => string;
    readonly env?: NodeJS.ProcessEnv;
  } = {},
) => {
  const directory = join(await temporaryDirectory(), 'archive');
  const { digests, sources } = await writeArchive(directory, archive);
  await using solve = openDebSolver(
    {
      name: 'factory-12',
      architecture: 'amd64',
      sources: more.sources?.(sources) ?? sources,
      status: statusOf(BASE),
      recommends: more.recommends ?? false,
      at: { file: 'base/debian.yaml', line: 1, column: 1 },
    },
    more.env ?? process.env,
  );
  const solved = await solve(packages, signal);
  return solved.map(({ url, digest, size }) => {
    const file = url.slice(url.lastIndexOf('/') + 1);
    expect(digest).toBe(digests.get(file));
    expect(size).toBeGreaterThan(0);
    return file;
  });
};

test('a package is solved with the dependencies that the base lacks, and with Recommends on request', async () => {
  const archive: readonly Control[] = [
    ['app', '2.0', 'Depends: lib (>= 1.1), libc (>= 2)\nRecommends: extra\n'],
    ['extra', '1'],
    ['lib', '1.2'],
    ['other', '1'],
  ];
  expect(await solveIn(archive, ['app'])).toEqual(['app_2.0_all.deb', 'lib_1.2_all.deb']);
  expect(await solveIn(archive, ['app'], { recommends: true })).toEqual([
    'app_2.0_all.deb',
    'extra_1_all.deb',
    'lib_1.2_all.deb',
  ]);
});

test('a newer version of a package of the base is included when it is required', async () => {
  const archive: readonly Control[] = [
    ['app', '1', 'Depends: libc (>= 2.40)\n'],
    ['libc', '2.41'],
  ];
  expect(await solveIn(archive, ['app=1'])).toEqual(['app_1_all.deb', 'libc_2.41_all.deb']);
});

test.each<[string, readonly Control[], string, RegExp]>([
  [
    'does not exist',
    [['app', '1']],
    'nope',
    /^apt finds no way to install nope on factory-12: Unable to locate package nope$/,
  ],
  [
    'lacks a dependency',
    [['app', '1', 'Depends: nothere\n']],
    'app',
    /app : Depends: nothere but it is not installable/,
  ],
  ['would remove a package of the base', [['app', '1', 'Conflicts: libc\n']], 'app', /removed/],
  ['has another version', [['app', '1']], 'app=2', /Version '2' for 'app' was not found/],
])("a package that %s is refused with apt's message", async (_, archive, wanted, message) => {
  await expect(solveIn(archive, [wanted])).rejects.toMatchObject({
    code: 'CONTENT_INVALID',
    message: expect.stringMatching(message),
    at: { file: 'base/debian.yaml' },
  });
});

test('an unsigned apt archive is refused unless the sources trust it', async () => {
  const sources = (text: string): string => text.replace('Trusted: yes\n', '');
  await expect(solveIn([['app', '1']], ['app'], { sources })).rejects.toMatchObject({
    code: 'SOURCE_UNREACHABLE',
    message: expect.stringContaining('is not signed'),
  });
});

test('an archive that does not answer is SOURCE_UNREACHABLE with its URL', async () => {
  const sources = (text: string): string => text.replace('/archive', '/nowhere');
  await expect(solveIn([['app', '1']], ['app'], { sources })).rejects.toMatchObject({
    code: 'SOURCE_UNREACHABLE',
    message: expect.stringContaining('/nowhere'),
  });
});

test('the apt configuration of this machine is ignored', async () => {
  const file = join(await temporaryDirectory(), 'apt.conf');
  await writeFile(file, 'APT::Default-Release "nowhere";\n');
  const env = { ...process.env, APT_CONFIG: file };
  expect(await solveIn([['app', '1']], ['app'], { env })).toEqual(['app_1_all.deb']);
});

test('without apt-get the error is TOOL_MISSING', async () => {
  await expect(solveIn([['app', '1']], ['app'], { env: {} })).rejects.toMatchObject({ code: 'TOOL_MISSING' });
});
