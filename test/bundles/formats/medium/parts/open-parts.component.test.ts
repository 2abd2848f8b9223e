import { copyFile, mkdir, readFile, rm, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { FleetError, formatError } from '#bundles/errors';
import { readBlob } from '#bundles/formats/layout/verified';
import type { Medium, OpenMedium } from '#bundles/formats/medium/medium';
import { gatherParts } from '#bundles/formats/medium/parts/gather-parts';
import { openFiles } from '#bundles/formats/medium/open-files';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { partName } from '#bundles/formats/medium/parts/part';
import { temporaryDirectory } from '../../../../harness/run/temporary-directory.ts';
import { collect } from '../../archive/streams.ts';
import { verdict } from '../../../verdict.ts';
import { blobPath, CHUNKED, WHOLE } from '../sample-medium.ts';
import {
  partBytes,
  type PartChange,
  SHARED,
  setMedium,
  setOf,
  writePart,
  writeParts,
  writeVolume,
} from '../sample-parts.ts';

const inFolder = async (use: (path: string) => Promise<void>): Promise<void> => {
  await using folder = await temporaryDirectory('parts');
  await use(folder.path);
};

const ALL = [CHUNKED, ...WHOLE, SHARED];

const isWhole = async ({ blobs }: OpenMedium): Promise<void> => {
  for (const content of ALL) {
    expect(await blobs.size(digestOf(content))).toBe(content.length);
    expect((await readBlob(blobs, digestOf(content), 4 << 20)).equals(content)).toBe(true);
  }
};

const errorOf = async (work: Promise<unknown>): Promise<FleetError> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof FleetError) return error;
  throw error ?? new Error('nothing was refused');
};

describe('a set of parts', () => {
  it('refuses a folder that holds no part, and names it at any position among the arguments', () =>
    inFolder(async (path) => {
      const [stick, other] = [join(path, 'stick'), join(path, 'other')];
      await writeVolume(stick, [1]);
      await mkdir(other);
      for (const places of [
        [stick, other],
        [other, stick],
      ]) {
        const error = await openMedium(places).catch((thrown: unknown) => thrown);
        expect(formatError(error as FleetError)).toMatch(
          new RegExp(`^(${other}: )?MEDIUM_INVALID: ${other} holds`),
        );
      }
    }));

  it('has the same content from one volume, a folder of copies, one of the parts, or several volumes', () =>
    inFolder(async (path) => {
      await writeVolume(join(path, 'stick'));
      const [first = ''] = await writeParts(join(path, 'copies'));
      await writeVolume(join(path, 'a'), [3]);
      await writeVolume(join(path, 'b'), [1, 2]);
      const places = [
        [join(path, 'stick')],
        [join(path, 'copies')],
        [first],
        [join(path, 'a'), join(path, 'b')],
      ];
      for (const place of places) {
        await using medium = await openMedium(place);
        expect(medium).toMatchObject({ form: 'parts', path: place.join(', '), medium: setMedium() });
        expect(medium.parts).toMatchObject({
          set: setOf(),
          count: 3,
          sealed: false,
          missing: [],
          damaged: [],
        });
        expect(medium.parts?.here.map(({ number }) => number)).toEqual([1, 2, 3]);
        await isWhole(medium);
      }
    }));

  it("reports PARTS_MISSING with the part's number for a blob of an absent part", () =>
    inFolder(async (path) => {
      await writeParts(path, [1, 3]);
      await using medium = await openMedium(path);
      const [first, second] = WHOLE;
      expect(medium.parts?.missing).toEqual([2]);
      expect(await medium.blobs.size(digestOf(first))).toBe(first.length);
      for (const content of [second, CHUNKED])
        expect(await medium.blobs.size(digestOf(content))).toBeUndefined();
      const error = await errorOf(medium.blobs.open(digestOf(second)));
      expect(error).toMatchObject({
        code: 'PARTS_MISSING',
        message: expect.stringContaining('part 2 of 3 is not here'),
      });
      expect(await verdict(() => medium.blobs.open(digestOf('nothing')))).toBe('MISSING_BLOB');
      expect(medium.parts?.partOf(digestOf(second))).toEqual([2]);
      expect(medium.parts?.partOf(digestOf(CHUNKED))).toEqual([1, 2, 3]);
      expect(medium.parts?.partOf(digestOf(SHARED))).toEqual([1, 2, 3]);
      expect(medium.parts?.partOf(digestOf('nothing'))).toEqual([]);
    }));

  it('reports a truncated part by number and path, and reads the others', () =>
    inFolder(async (path) => {
      const [, second = ''] = await writeParts(path);
      await truncate(second, 3000);
      await using medium = await openMedium(path);
      expect(medium.parts?.missing).toEqual([2]);
      expect(medium.parts?.damaged).toMatchObject([
        {
          number: 2,
          path: second,
          error: { code: 'TRUNCATED', message: expect.stringContaining(`part 2 (${second})`) },
        },
      ]);
      expect((await readBlob(medium.blobs, digestOf(WHOLE[0]), 4 << 20)).equals(WHOLE[0])).toBe(true);
      expect((await errorOf(medium.blobs.open(digestOf(CHUNKED)))).message).toContain(
        `part 2 of 3 cannot be read (${second})`,
      );
    }));

  it('reports the part that contains a damaged blob or piece', () =>
    inFolder(async (path) => {
      const [first = '', second = ''] = await writeParts(path);
      const flip = async (file: string, content: Buffer): Promise<void> => {
        const bytes = await readFile(file);
        const at = bytes.indexOf(content);
        bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
        await writeFile(file, bytes);
      };
      await flip(first, WHOLE[0]);
      await flip(second, CHUNKED.subarray(1000, 2000));
      await using medium = await openMedium(path);
      for (const [content, file, number] of [
        [WHOLE[0], first, 1],
        [CHUNKED, second, 2],
      ] as const) {
        const error = await errorOf(medium.blobs.open(digestOf(content)).then(collect));
        expect(error).toMatchObject({
          code: 'DIGEST_MISMATCH',
          hint: expect.stringContaining('this one part'),
        });
        expect(error.message).toContain(`part ${number} (${file})`);
      }
    }));

  it("reads a shared document from the next part when one part's copy is damaged", () =>
    inFolder(async (path) => {
      const damage: PartChange['files'] = (files) =>
        files.map((file) =>
          file.content === SHARED ? { ...file, content: Buffer.from('A document') } : file,
        );
      await writePart(path, 1, { files: damage });
      await writeParts(path, [2, 3]);
      await using medium = await openMedium(path);
      await isWhole(medium);
    }));

  it('accepts identical copies of a part, and uses the good copy when another is damaged', () =>
    inFolder(async (path) => {
      const [first = ''] = await writeParts(path);
      const copy = first.replace('.tar', ' (1).tar');
      await copyFile(first, copy);
      await truncate(first, 2000);
      await using medium = await openMedium(path);
      expect(medium.parts).toMatchObject({ missing: [], damaged: [] });
      await isWhole(medium);
    }));

  it('lists the files that people and agents wrote beside the parts, from every volume', () =>
    inFolder(async (path) => {
      await writeVolume(join(path, 'a'), [1]);
      await writeVolume(join(path, 'b'), [2, 3]);
      for (const [stick, file] of [
        ['a', 'x.json'],
        ['b', 'y.json'],
      ] as const) {
        await mkdir(join(path, stick, 'fleet/requests'), { recursive: true });
        await writeFile(join(path, stick, 'fleet/requests', file), stick);
      }
      await using medium = await openMedium([join(path, 'a'), join(path, 'b')]);
      expect(medium.roots).toEqual([join(path, 'a'), join(path, 'b')]);
      expect(await medium.files('fleet/requests')).toEqual([
        'fleet/requests/x.json',
        'fleet/requests/y.json',
      ]);
      expect((await medium.readFile('fleet/requests/y.json', 10)).toString()).toBe('b');
      expect(await medium.files('blobs')).toHaveLength(3);
    }));

  it('in progress is treated as absent', () =>
    inFolder(async (path) => {
      await writeParts(join(path, 'fleet/parts'), [1, 2]);
      await writeFile(join(path, 'fleet/parts/progress.json'), '{}');
      await using medium = await openMedium(path);
      expect(medium).toMatchObject({ form: 'directory', medium: undefined });
    }));

  it('is read from a volume that was copied without parts.json', () =>
    inFolder(async (path) => {
      await writeVolume(path);
      await rm(join(path, 'fleet/parts.json'));
      await using medium = await openMedium(path);
      expect(medium.parts?.missing).toEqual([]);
    }));

  it('without a readable part reports the error of the part', () =>
    inFolder(async (path) => {
      await writeVolume(path, [2]);
      await rm(join(path, `fleet/parts/${partName(setOf(), 2, false)}`));
      const error = await errorOf(openMedium(path));
      expect(error.message).toMatch(/^part 2 \(.*-0002\.tar\): it is not there any more$/);
    }));
});

describe('openMedium of parts', () => {
  it('refuses parts of two sets in one folder', () =>
    inFolder(async (path) => {
      await writeParts(path, [1]);
      await writePart(path, 2, { medium: { fleet: 'other' } });
      expect(await errorOf(openMedium(path))).toMatchObject({
        code: 'MEDIUM_INVALID',
        message: expect.stringContaining('parts of 2 sets'),
        hint: expect.stringContaining('move the others away'),
      });
    }));

  it('refuses parts of a set together with a folder without parts', () =>
    inFolder(async (path) => {
      await writeVolume(join(path, 'a'));
      await mkdir(join(path, 'b'));
      expect(await verdict(() => openMedium([join(path, 'a'), join(path, 'b')]))).toBe('MEDIUM_INVALID');
    }));

  it('ignores parts of an earlier set beside the listed ones', () =>
    inFolder(async (path) => {
      await writePart(join(path, 'fleet/parts'), 1, { medium: { fleet: 'earlier' } });
      await writeVolume(path);
      await using medium = await openMedium(path);
      expect(medium.parts).toMatchObject({ set: setOf(), missing: [], damaged: [] });
    }));

  const faults: readonly (readonly [what: string, code: string, message: RegExp, change: PartChange])[] = [
    [
      'counts other parts than its table of contents',
      'MEDIUM_INVALID',
      /says that there are 2 parts/,
      { label: { count: 2 } },
    ],
    [
      'says another number than its name',
      'MEDIUM_INVALID',
      /says that it is part 3/,
      { label: { number: 3 } },
    ],
    [
      'has a number that the set has not',
      'MEDIUM_INVALID',
      /says that it is part 4/,
      { label: { number: 4 } },
    ],
    [
      'has another table of contents than its set',
      'DIGEST_MISMATCH',
      /not the one of its set/,
      {
        files: (files) =>
          files.map((it) => (it.path === 'fleet/medium.json' ? { ...it, content: Buffer.from('{}') } : it)),
      },
    ],
    [
      'lacks a blob of its own',
      'MEDIUM_INVALID',
      /lacks fleet\/chunks/,
      { files: (files) => files.slice(0, -1) },
    ],
    [
      'holds what belongs to another',
      'MEDIUM_INVALID',
      /belongs to part 1/,
      { files: (files) => [...files, { path: blobPath(digestOf(WHOLE[0])), content: WHOLE[0] }] },
    ],
    [
      'holds a piece that nothing names',
      'MEDIUM_INVALID',
      /which is not in its table of contents/,
      { files: (files) => [...files, { path: `fleet/chunks/${'0'.repeat(32)}.000`, content: SHARED }] },
    ],
    [
      'holds a file that no part has',
      'MEDIUM_INVALID',
      /holds autorun\.inf/,
      { files: (files) => [...files, { path: 'autorun.inf', content: SHARED }] },
    ],
    ['does not begin with its label', 'ORDER', /does not begin/, { files: (files) => files.toReversed() }],
    [
      'has blobs before its table of contents',
      'ORDER',
      /blobs before/,
      { files: ([label, ...rest]) => (label ? [label, ...rest.toReversed()] : []) },
    ],
    ['has a label that is none', 'SCHEMA', /part\.json/, { label: { count: 10_000 } }],
  ];

  it.each(faults)('reports as damaged a part that %s', (_what, code, message, change) =>
    inFolder(async (path) => {
      await writeParts(path, [1, 3]);
      await writeFile(join(path, partName(setOf(), 2, false)), await partBytes(2, change));
      await using medium = await openMedium(path);
      expect(medium.parts?.damaged).toMatchObject([
        { number: 2, error: { code, message: expect.stringMatching(message) } },
      ]);
      expect(medium.parts?.here.map(({ number }) => number)).toEqual([1, 3]);
    }),
  );

  it.each<readonly [string, Partial<Medium>, string]>([
    [
      'one file in two parts',
      { parts: [1, 2, 3].map((number) => ({ number, files: setMedium().parts?.[0]?.files ?? [] })) },
      'in two parts',
    ],
    ['a blob that is cut twice', { chunks: [...setMedium().chunks, ...setMedium().chunks] }, 'cut twice'],
    ['a piece in no part', { parts: [1, 2, 3].map((number) => ({ number, files: [] })) }, 'in no part'],
    [
      'a number left out',
      { parts: (setMedium().parts ?? []).map((part) => ({ ...part, number: part.number * 2 })) },
      'where 1 belongs',
    ],
  ])('refuses a table of contents with %s', (_what, medium, message) =>
    inFolder(async (path) => {
      const bytes = await partBytes(1, { medium });
      const file = join(path, partName(setOf({ medium }), 1, false));
      await writeFile(file, bytes);
      expect(await errorOf(openMedium(file))).toMatchObject({
        code: 'MEDIUM_INVALID',
        message: expect.stringContaining(message),
      });
    }),
  );

  it('refuses a sealed part without an identity: MEDIUM_SEALED', () =>
    inFolder(async (path) => {
      const file = join(path, partName(setOf(), 1, true));
      await writeFile(file, 'age-encryption.org/v1\n-> X25519 ...\n');
      expect(await errorOf(openMedium(file))).toMatchObject({
        code: 'MEDIUM_SEALED',
        message: expect.stringContaining('given no identity'),
        at: { file },
      });
    }));

  it('refuses a sealed volume without an identity, and still lists its requests and reports', () =>
    inFolder(async (path) => {
      const file = `fleet/parts/${partName(setOf(), 1, true)}`;
      const bytes = Buffer.from('age-encryption.org/v1\n-> X25519 ...\n');
      await mkdir(join(path, 'fleet/parts'), { recursive: true });
      await mkdir(join(path, 'fleet/requests'));
      await writeFile(join(path, file), bytes);
      await writeFile(join(path, 'fleet/requests/x.json'), '{}');
      const parts = [{ number: 1, path: file, size: bytes.length, digest: digestOf(bytes) }];
      const list = { format: 1, set: setOf(), count: 3, sealed: true, parts };
      await writeFile(join(path, 'fleet/parts.json'), JSON.stringify(list));
      expect(await verdict(() => openMedium(path))).toBe('MEDIUM_SEALED');
      await using medium = await openFiles(path);
      expect(medium).toMatchObject({ form: 'parts', medium: undefined, roots: [path] });
      expect(await medium.files('fleet/requests')).toEqual(['fleet/requests/x.json']);
      expect(await verdict(() => openFiles(join(path, file)))).toBe('MEDIUM_SEALED');
    }));

  it('refuses 20,000 part files: TOO_MANY', async () => {
    const candidates = Array.from({ length: 20_000 }, () => ({ path: '/nowhere', number: 1 }));
    const found = [{ path: '/', root: '/', set: undefined, candidates }];
    await using cleanup = new AsyncDisposableStack();
    expect(await verdict(() => gatherParts(found, {}, cleanup))).toBe('TOO_MANY');
  });

  it('refuses a list with a path outside its folder', () =>
    inFolder(async (path) => {
      await writeVolume(path, [1]);
      const list = JSON.parse(await readFile(join(path, 'fleet/parts.json'), 'utf8'));
      list.parts[0].path = 'fleet/parts/../../../etc/passwd';
      await writeFile(join(path, 'fleet/parts.json'), JSON.stringify(list));
      expect(await verdict(() => openMedium(path))).toBe('SCHEMA');
    }));
});
