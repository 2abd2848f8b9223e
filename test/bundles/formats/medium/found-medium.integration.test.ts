import { execFileSync } from 'node:child_process';
import { link, mkdir, readdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { dirname, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { type Digest, digestOf, hexOf } from '#bundles/digest';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { readBlob } from '#bundles/formats/layout/verified';
import { openMediumFolder, named } from '#bundles/formats/medium/open-medium-folder';
import { openFiles } from '#bundles/formats/medium/open-files';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { partName } from '#bundles/formats/medium/parts/part';
import { readOptional } from '#bundles/formats/medium/plain-files';
import { removeFileFromMedium, writeFileOntoMedium } from '#bundles/formats/medium/write-onto-medium';
import { parseStrictJson } from '#bundles/json/strict-json';
import { type TemporaryDirectory, temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { verdict } from '../../verdict.ts';
import { CHUNKED, mediumFiles, WHOLE } from './sample-medium.ts';
import { setOf, writeParts } from './sample-parts.ts';

type Made = TemporaryDirectory & { readonly medium: string };

/** A good medium in a folder, and room beside it. */
const makeMedium = async (): Promise<Made> => {
  const folder = await temporaryDirectory('found');
  const medium = join(folder.path, 'medium');
  for (const { path, content } of mediumFiles()) {
    await mkdir(dirname(join(medium, path)), { recursive: true });
    await writeFile(join(medium, path), content);
  }
  return { ...folder, medium };
};

/** A program makes one pipe, of which each test gets a link. */
const pipes = await temporaryDirectory('pipe');
execFileSync('mkfifo', [join(pipes.path, 'pipe')]);
afterAll(() => pipes[Symbol.asyncDispose]());
const pipe = (path: string): Promise<void> => link(join(pipes.path, 'pipe'), path);

const KINDS: readonly (readonly [string, (made: Made, at: string) => Promise<unknown> | void])[] = [
  [
    'link',
    async ({ path }, at) => {
      await rename(at, join(path, 'elsewhere')).catch(() => mkdir(join(path, 'elsewhere')));
      await symlink(join(path, 'elsewhere'), at);
    },
  ],
  [
    'pipe',
    async (_, at) => {
      await rm(at, { recursive: true, force: true });
      await pipe(at);
    },
  ],
];

const PLACES = [
  'oci-layout',
  'index.json',
  'blobs',
  'blobs/sha256',
  'fleet',
  'fleet/medium.json',
  'fleet/parts.json',
  'fleet/parts',
  'fleet/parts/progress.json',
  'fleet/chunks',
  'fleet/deltas',
  'fleet/receipts',
  'fleet/reports',
  'fleet/requests',
];

const read = async (path: string, digest: Digest): Promise<Buffer> => {
  await using medium = await openMedium(path);
  return await readBlob(medium.blobs, digest, 4 << 20);
};

describe.each(KINDS)('M41: a %s on a medium', (_, put) => {
  it.each(PLACES)('in place of %s -> MEDIUM_INVALID', async (place) => {
    await using made = await makeMedium();
    await mkdir(dirname(join(made.medium, place)), { recursive: true });
    await put(made, join(made.medium, place));
    expect(await verdict(() => openMedium(made.medium))).toBe('MEDIUM_INVALID');
    expect(await verdict(() => openFiles(made.medium))).toBe('MEDIUM_INVALID');
  });

  it('in place of a blob or of a piece of a split blob -> MEDIUM_INVALID', async () => {
    await using made = await makeMedium();
    const [whole, pieced] = [digestOf(WHOLE[1]), digestOf(CHUNKED)];
    await put(made, join(made.medium, 'blobs/sha256', hexOf(whole)));
    expect(await verdict(() => read(made.medium, whole))).toBe('MEDIUM_INVALID');
    const [piece = ''] = await readdir(join(made.medium, 'fleet/chunks'));
    await rm(join(made.path, 'elsewhere'), { force: true });
    await put(made, join(made.medium, 'fleet/chunks', piece));
    expect(await verdict(() => read(made.medium, pieced))).toBe('MEDIUM_INVALID');
  });

  it('in place of a report is neither listed nor read', async () => {
    await using made = await makeMedium();
    const at = 'fleet/reports/a/1.ndjson';
    await put(made, join(made.medium, at));
    await using medium = await openMedium(made.medium);
    expect(await medium.files('fleet/reports')).toEqual(['fleet/reports/b/1.ndjson']);
    expect(await verdict(() => medium.readFile(at, 99))).toBe('MEDIUM_INVALID');
  });

  it('in place of a part -> MEDIUM_INVALID', async () => {
    await using made = await makeMedium();
    const folder = join(made.path, 'parts');
    await mkdir(folder);
    await writeParts(folder);
    await put(made, join(folder, partName(setOf(), 2, false)));
    await using medium = await openMedium(folder);
    expect(medium.parts?.missing).toEqual([2]);
    expect(medium.parts?.damaged.map(({ error }) => error.code)).toEqual(['MEDIUM_INVALID']);
    for (const number of [1, 3]) await rm(join(folder, partName(setOf(), number, false)));
    expect(await verdict(() => openMedium(folder))).toBe('MEDIUM_INVALID');
  });
});

describe('a medium from an untrusted source', () => {
  it('M41: with a socket as its table of contents is refused -> MEDIUM_INVALID', async () => {
    await using made = await makeMedium();
    const at = join(made.medium, 'fleet/medium.json');
    await rm(at);
    const server = createServer().listen(at);
    await new Promise((resolve) => server.once('listening', resolve));
    expect(await verdict(() => openMedium(made.medium))).toBe('MEDIUM_INVALID');
    server.close();
  });

  it('may be named by a symbolic link, which the caller chose', async () => {
    await using made = await makeMedium();
    await symlink(made.medium, join(made.path, 'stick'));
    expect((await read(join(made.path, 'stick'), digestOf(WHOLE[1]))).equals(WHOLE[1])).toBe(true);
  });

  it('M43: a write stays in the held folder when a link replaces it meanwhile -> MEDIUM_INVALID', async () => {
    await using made = await makeMedium();
    const [fleet, elsewhere] = [join(made.medium, 'fleet'), join(made.path, 'elsewhere')];
    await mkdir(elsewhere);
    await using held = await openMediumFolder(made.medium, 'fleet');
    if (!held) throw new Error('there is no folder');
    await rename(fleet, join(made.path, 'moved'));
    await symlink(elsewhere, fleet);
    await writeFileAtomically(join(held.path, 'note'), Buffer.from('x'));
    expect(await readdir(elsewhere)).toEqual([]);
    expect(await readdir(join(made.path, 'moved'))).toContain('note');
    expect(await verdict(() => openMediumFolder(made.medium, 'fleet'))).toBe('MEDIUM_INVALID');
    expect(await verdict(() => writeFileOntoMedium(made.medium, 'fleet/x/note', Buffer.from('x')))).toBe(
      'MEDIUM_INVALID',
    );
    expect(await verdict(() => removeFileFromMedium(made.medium, 'fleet/note'))).toBe('MEDIUM_INVALID');
  });

  it('an error about a held folder names the path that the user knows, not the one below /proc', async () => {
    await using made = await makeMedium();
    await using held = await openMediumFolder(made.medium, 'fleet');
    if (!held) throw new Error('there is no folder');
    const failed: unknown = await named(held, () => readFile(join(held.path, 'nothing'))).catch(
      (error: unknown) => error,
    );
    expect(failed).toMatchObject({
      code: 'ENOENT',
      message: expect.stringContaining(join(made.medium, 'fleet/nothing')),
    });
  });

  it('M45: a write neither follows nor replaces a symbolic link, and a removal does not remove it', async () => {
    await using made = await makeMedium();
    const outside = join(made.path, 'outside');
    await writeFile(outside, 'untouched');
    await symlink(outside, join(made.medium, 'fleet/note'));
    const write = () => writeFileOntoMedium(made.medium, 'fleet/note', Buffer.from('x'));
    expect(await verdict(write)).toBe('MEDIUM_INVALID');
    expect(await verdict(() => removeFileFromMedium(made.medium, 'fleet/note'))).toBe('MEDIUM_INVALID');
    expect(await readFile(outside, 'utf8')).toBe('untouched');
    await rm(join(made.medium, 'fleet/note'));
    expect(await verdict(write)).toBe('ACCEPT');
    expect((await readOptional(made.medium, 'fleet/note'))?.toString()).toBe('x');
    await removeFileFromMedium(made.medium, 'fleet/note');
    expect(await readOptional(made.medium, 'fleet/note')).toBeUndefined();
  });

  it.each(['root:$6$canary:20000', '{"a": canary}', '["canary" 1]', '{"a":"canary'])(
    'M44: says nothing of what %s holds -> BAD_JSON',
    (text) => {
      const parse = () => parseStrictJson(Buffer.from(text), { maxBytes: 99 }, 'the table');
      let refused: unknown;
      try {
        parse();
      } catch (error) {
        refused = error;
      }
      expect(refused).toMatchObject({ code: 'BAD_JSON' });
      expect((refused as Error).cause).toBeUndefined();
      expect(String(refused)).toMatch(
        /^FleetError: the table is not JSON: the text breaks off or has an unexpected character, at byte \d+$/,
      );
    },
  );
});
