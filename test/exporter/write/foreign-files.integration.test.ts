import { cpSync, existsSync, lstatSync, readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Arbitrary, assert, asyncProperty, constantFrom, record, uniqueArray } from 'fast-check';
import { generateIdentity, identityToRecipient } from 'age-encryption';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { digestOf, hexOf } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import { OCI_MANIFEST, REF_NAME } from '#bundles/media-types';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { findLeftovers } from '../../../exporter/reports/clean/find-leftovers.ts';
import { removeLeftovers } from '../../../exporter/reports/clean/remove-leftovers.ts';
import { filesOf } from '../files-of.ts';
import { runs } from '../../harness/run/long.ts';
import { refused } from '../refused.ts';
import { bundleOf, KIOSK, makeKioskWorld, type World } from '../world.ts';
import { type Form, fillForm } from './fill-form.ts';

const recipient = await identityToRecipient(await generateIdentity());

let world: World;
beforeAll(async () => {
  world = await makeKioskWorld();
  for (const form of FORMS) await fill(form, world.path(form));
  await world.layout.release({ channel: KIOSK, version: 2, bundles: [bundleOf('two')] });
});
afterAll(() => world[Symbol.asyncDispose]());

const FORMS = ['directory', 'set', 'sealed'] as const;

const fill = (form: Form, to: string) => fillForm(world.path('layout'), to, form, recipient);

const hex = (text: string): string => hexOf(digestOf(text));

/** Around and inside our folders: names of people, names that are nearly ours, and our own. */
const PLACES = [
  'holiday.jpg',
  'Fleet/medium.json',
  'FLEET/notes.txt',
  'fleet/notes.txt',
  'fleet/Medium.json',
  'fleet/medium.json.bak',
  'fleet/medium',
  'fleet/parts/readme.tar',
  `fleet/parts/${hex('set').slice(0, 16)}-0001.tar`,
  'fleet/parts/progress.json',
  'fleet/parts/sub/part.tar',
  'fleet/requests/a.json',
  'fleet/reports/mine/0.ndjson',
  'fleet/receipts/notes.txt',
  'fleet/SHA256SUMS',
  `fleet/chunks/${hex('chunk').slice(0, 32)}.000`,
  'fleet/chunks/music.000',
  `fleet/deltas/${hex('delta').slice(0, 32)}.zst`,
  'fleet/.lock',
  'blobs/readme',
  'blobs/sha512/abc',
  'blobs/sha256/readme',
  `blobs/sha256/${hex('theirs')}`,
  `blobs/sha256/${hex('theirs').toUpperCase()}`,
  `blobs/sha256/.tmp-${hex('t').slice(0, 8)}`,
  `.tmp-${hex('t').slice(0, 8)}`,
  'oci-layout',
  'index.json',
  'blobs',
  'fleet',
  'fleet/parts',
] as const;

type Foreign = { readonly path: string; readonly kind: 'file' | 'link' | 'folder' };

const foreign: Arbitrary<Foreign> = record({
  path: constantFrom(...PLACES),
  kind: constantFrom('file', 'file', 'file', 'link', 'folder'),
});

/** Where a folder is filled, what bears the names of its blobs and of half-written files is taken for ours. */
const isOurs = (path: string, before: string | undefined): boolean =>
  (before !== undefined && path.includes('.tmp-')) ||
  (before === 'directory' &&
    /^(blobs\/sha256\/[0-9a-f]{64}|fleet\/chunks\/.*00|fleet\/deltas\/.*)$/.test(path));

/** Puts them there where nothing is yet. Returns those that are. */
const place = async (root: string, all: readonly Foreign[]): Promise<readonly string[]> => {
  const placed: string[] = [];
  for (const { path, kind } of all) {
    const at = join(root, path);
    if (
      existsSync(at) ||
      !(await mkdir(dirname(at), { recursive: true }).then(
        () => true,
        () => false,
      ))
    )
      continue;
    if (kind === 'link') await symlink(world.path('elsewhere'), at);
    else if (kind === 'folder') await mkdir(at);
    else await writeFile(at, `${path} is mine`);
    placed.push(path);
  }
  return placed;
};

const lookAt = (path: string): string => {
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (!found) return 'gone';
  if (found.isSymbolicLink()) return `link to ${readlinkSync(path)}`;
  return found.isDirectory() ? 'folder' : `file: ${readFileSync(path, 'latin1')}`;
};

const stateOf = (root: string, paths: readonly string[]) =>
  paths.map((path) => [path, lookAt(join(root, path))]);

const everything = (root: string): readonly string[] =>
  existsSync(root) ? readdirSync(root, { recursive: true }).map(String).toSorted() : [];

const clean = async (root: string): Promise<void> => {
  await using medium = await openMedium(root);
  const look = async () => (await findLeftovers(medium, undefined)).files;
  await removeLeftovers(await look(), look);
};

describe('a file that this program did not write', () => {
  it.each(FORMS)(
    'survives create, clean and create again, or the medium is refused unchanged: %s',
    async (form) => {
      await mkdir(world.path('elsewhere'), { recursive: true });
      await writeFile(world.path('elsewhere', hex('theirs')), 'mine');
      await assert(
        asyncProperty(
          uniqueArray(foreign, { minLength: 1, maxLength: 4, selector: ({ path }) => path }),
          constantFrom(undefined, ...FORMS),
          async (all, before) => {
            const root = world.path('stick');
            rmSync(root, { recursive: true, force: true });
            if (before) cpSync(world.path(before), root, { recursive: true });
            const placed = await place(
              root,
              all.filter(({ path }) => !isOurs(path, before)),
            );
            const known = stateOf(root, placed);
            const tree = everything(root);
            const elsewhere = everything(world.path('elsewhere'));
            let changed = false;
            // What bears the name of a half-written file is shown by clean, which asks before it removes it.
            const isClean = placed.every((path) => !path.includes('.tmp-'));
            const cleans = isClean ? [() => clean(root)] : [];
            for (const step of [() => fill(form, root), ...cleans, () => fill(form, root)]) {
              try {
                await step();
                changed = true;
              } catch (error) {
                if (!isFleetError(error)) throw error;
                expect(['INTERNAL', 'BUSY']).not.toContain(error.code);
                if (!changed) expect(everything(root)).toEqual(tree);
              }
              expect(stateOf(root, placed)).toEqual(known);
            }
            expect(everything(world.path('elsewhere'))).toEqual(elsewhere);
          },
        ),
        { numRuns: Number(process.env['FLEET_RUNS'] ?? runs(40)) },
      );
    },
    600_000,
  );

  it('that is an image copied onto the medium with another tool makes create refuse it', async () => {
    const root = world.path('with-image');
    cpSync(world.path('directory'), root, { recursive: true });
    const index = JSON.parse(readFileSync(join(root, 'index.json'), 'utf8')) as { manifests: object[] };
    const theirs = { mediaType: OCI_MANIFEST, digest: digestOf('theirs'), size: 6 };
    index.manifests.push({ ...theirs, annotations: { [REF_NAME]: 'debian:12' } });
    await writeFile(join(root, 'index.json'), JSON.stringify(index));
    const before = filesOf(root);
    for (const form of FORMS) expect(await refused(fill(form, root))).toBe('MEDIUM_INVALID');
    expect(filesOf(root)).toEqual(before);
  });

  it.each(['.partial', '.lock'])(
    'with the name of our temporary file beside a tar makes create refuse it: %s',
    async (ending) => {
      const folder = world.path(`beside${ending}`);
      await mkdir(folder);
      await writeFile(join(folder, `plant-7.tar${ending}`), 'half of a film');
      expect(await refused(fill('tar', join(folder, 'plant-7.tar')))).toBe('MEDIUM_INVALID');
      expect(everything(folder)).toEqual([`plant-7.tar${ending}`]);
      expect(lookAt(join(folder, `plant-7.tar${ending}`))).toBe('file: half of a film');
    },
  );
});
