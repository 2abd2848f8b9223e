import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  existsSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { copyFile, mkdir, rename, rm, truncate } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hexOf } from '#bundles/digest';
import { formatError, toFleetError } from '#bundles/errors';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { verifyMedium } from '../../../exporter/verify/verify-medium.ts';
import { seeded } from '../../e2e/reliability/field.ts';
import { LONG } from '../../harness/run/long.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runCommand, succeed } from '../../harness/run/run-command.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { digestsOf } from '../files-of.ts';
import { type Run, runToKill } from './kill-at-random.ts';
import { LARGEST, makeLargeWorld } from './large-world.ts';
import { type Touch, watchChanges } from './watch-changes.ts';

const PROGRAM = programFile('exporter');
const FAIL = new URL('fail-read-back.ts', import.meta.url).href;

/** How often each form is killed. */
const KILLS = Math.ceil(Number(process.env['FLEET_KILLS'] ?? (LONG ? 10 : 5)) / 5);

/** Of every run for a fleet of a test. */
const NOTE = /^DEV ROOT: .*\n/;

const random = seeded(Number(process.env['FLEET_SEED'] ?? 1));

const FORMS = ['tar', 'folder'] as const;
type Form = (typeof FORMS)[number];

/** All cases in a long run, otherwise those that `isUsual` takes. */
const casesOf = <T>(all: readonly T[], isUsual: (index: number) => boolean): readonly T[] =>
  all.filter((_, index) => LONG || isUsual(index));

/** Of the three layers. */
const ALL_BYTES = LARGEST + (7 << 20);

let touched: ((touch: Touch) => void) | undefined;
await watchChanges((touch) => touched?.(touch));

let world: Awaited<ReturnType<typeof makeLargeWorld>>;
/** The undisturbed run of each form, and the digests of what it wrote. */
const calm: Partial<Record<Form, Run>> = {};
const calmFiles: Partial<Record<Form, ReturnType<typeof digestsOf>>> = {};
/** A disk: memory has no direct reading everywhere, and nothing to wait for. */
let disk: TemporaryDirectory;
beforeAll(async () => {
  world = await makeLargeWorld();
  disk = await temporaryDirectory('read-behind');
  for (const form of FORMS) {
    const to = mediumOf('calm', form);
    await mkdir(dirname(to), { recursive: true });
    calm[form] = await runToKill({ words: wordsFor(to, ['--progress', 'json']), env: process.env });
    expect(calm[form].code, calm[form].said).toBe(0);
    calmFiles[form] = digestsOf(form === 'tar' ? dirname(to) : to);
  }
});
afterEach(() => {
  touched = undefined;
});
afterAll(async () => {
  await world[Symbol.asyncDispose]();
  await disk[Symbol.asyncDispose]();
});

const mediumOf = (name: string, form: Form): string =>
  join(disk.path, `${name}-${form}`, form === 'tar' ? 'medium.tar' : 'medium');

const wordsFor = (to: string, more: readonly string[] = []): readonly string[] =>
  [
    ['create', '--from', world.path('layout'), '--channel', 'prod/kiosk', '--to', to],
    ['--now', NOW.toISOString()],
    more,
  ].flat();

const create = async (to: string, more: readonly string[] = [], imported: readonly string[] = []) => {
  await mkdir(dirname(to), { recursive: true });
  const { code, stdout, stderr } = await runCommand([
    process.execPath,
    ...imported,
    PROGRAM,
    ...wordsFor(to, more),
  ]);
  return { code, stdout, stderr: stderr.replace(NOTE, '') };
};

/** The sentence that the export ends with; undefined: it went well. */
const saidOf = async (
  to: string,
  readBack: boolean,
  onWriting: () => void = () => {},
): Promise<string | undefined> => {
  await mkdir(dirname(to), { recursive: true });
  const onPhase = ({ name }: { readonly name: string }): void => {
    if (name === 'writing') onWriting();
  };
  try {
    await world.export(to.slice(world.path().length + 1), {}, { readBack, onPhase });
    return undefined;
  } catch (error) {
    return formatError(toFleetError(error));
  }
};

/** Files that look like a medium, like half of one, or like a blob that they are not. */
const leftOf = (to: string): readonly string[] => {
  if (to.endsWith('.tar')) return readdirSync(dirname(to));
  return [...digestsOf(to)].flatMap(([path, digest]) => {
    const isWrong = path.startsWith('blobs/') && path !== `blobs/sha256/${hexOf(digest)}`;
    return isWrong || path === 'index.json' || path === 'fleet/medium.json' ? [path] : [];
  });
};

const damage = (path: string, at: number): void => {
  const file = openSync(path, 'r+');
  writeSync(file, 'damaged', at);
  closeSync(file);
};

const bytesOf = (path: string): number => statSync(path).size;

const isRight = async (to: string): Promise<boolean> => {
  await using open = await openMedium(to);
  return open.medium !== undefined && (await verifyMedium(open, undefined, NOW)).ok;
};

/** Is it the medium that a calm run makes, in every byte? */
const isWhole = (to: string, form: Form): boolean => {
  expect(digestsOf(form === 'tar' ? dirname(to) : to)).toEqual(calmFiles[form]);
  return true;
};

describe.each(FORMS)('a large medium that is read back while it is written: a %s', (form) => {
  let count = 0;
  const newMedium = (): string =>
    world.path(`changed-${form}-${(count += 1)}`, form === 'tar' ? 'medium.tar' : 'medium');

  it.each(casesOf([0, 3_000_000, 6_000_000], (index) => index === (form === 'tar' ? 1 : 2)))(
    'names the medium that changed written bytes, %i bytes before the end',
    async (before) => {
      const to = newMedium();
      let changed = 0;
      touched = ({ call, path, isOpen }) => {
        // On the device and not yet read back.
        if (!isOpen || !['sync', 'datasync'].includes(call) || !path.startsWith(to)) return;
        if (changed > 0 || !existsSync(path) || bytesOf(path) < LARGEST) return;
        changed += 1;
        // A tar ends with two empty blocks.
        damage(path, bytesOf(path) - 2000 - before);
      };
      const said = await saidOf(to, true);
      expect(changed).toBe(1);
      expect(said).toMatch(
        /^IO: .*returned other bytes than were written to it\. Do not use this medium; use another one\.$/,
      );
      expect(leftOf(to)).toEqual([]);
      touched = undefined;
      expect(await saidOf(to, true)).toBeUndefined();
      expect(await isRight(to)).toBe(true);
    },
  );

  if (form === 'tar')
    it.each(['header', 'padding', 'end'])('names the medium that changed its %s', async (what) => {
      const to = newMedium();
      const { plan } = await world.plan();
      const size = plan.blobs.at(-1)?.size ?? 0;
      let changed = 0;
      const all = bytesOf(mediumOf('calm', 'tar'));
      // Behind the last layer lie padding and the last two blocks, before it its header and other padding.
      const header = all - 1024 - Math.ceil(size / 512) * 512 - 512;
      const at = { header: header + 157, padding: header - 100, end: all - 100 }[what] ?? 0;
      touched = ({ call, path, isOpen }) => {
        // On the device for the first time, and so not yet read back.
        if (!isOpen || !['sync', 'datasync'].includes(call) || !path.endsWith('.partial')) return;
        if (changed > 0 || bytesOf(path) < Math.min(at + 200, all)) return;
        changed += 1;
        damage(path, at);
      };
      const said = await saidOf(to, true);
      expect(changed).toBe(1);
      expect(said).toMatch(
        /^IO: \S+ returned another (header of blobs\/sha256\/[0-9a-f]{64}|end) than was written to it\. Do not use this medium/,
      );
      expect(leftOf(to)).toEqual([]);
    });

  const lies = {
    'has other bytes': (file: string) => damage(file, 35_000_000),
    'is too long': (file: string) => appendFileSync(file, 'x'),
    'is much too long': (file: string) => appendFileSync(file, Buffer.alloc(5 << 20)),
    'is too short': (file: string) => truncateSync(file, LARGEST - 1),
    'is empty': (file: string) => truncateSync(file, 0),
    'is not there': (file: string) => rmSync(file),
  };

  it.each(
    casesOf(
      Object.keys(lies).flatMap((lie) =>
        [true, false].map((readBack) => ({ lie: lie as keyof typeof lies, readBack })),
      ),
      // Each damage in one form, every second one of a form read back.
      (index) => [0, 3, 5, 6].includes(index % 8) && Math.floor(index / 2) % 2 === FORMS.indexOf(form),
    ),
  )('names the source of which a blob $lie, read back: $readBack', async ({ lie, readBack }) => {
    const [layer] = world.layers;
    if (!layer) throw new Error('there is no layer');
    const kept = `${layer.file}.kept`;
    await copyFile(layer.file, kept);
    const to = newMedium();
    try {
      const said = await saidOf(to, readBack, () => lies[lie](layer.file));
      expect(said).toMatch(
        /^(DIGEST_MISMATCH|SIZE_MISMATCH|MISSING_BLOB): blob sha256:\w+ (in layout|is not in) \S+\/layout/,
      );
      expect(said).not.toContain('stick');
      expect(leftOf(to)).toEqual([]);
    } finally {
      await rename(kept, layer.file);
    }
    if (!LONG && lie !== 'has other bytes' && lie !== 'is too short') return;
    expect(await saidOf(to, readBack)).toBeUndefined();
    expect(await isRight(to)).toBe(true);
  });

  it('is interrupted by Ctrl-C with one message, and resumes at the next run', async () => {
    for (const megabytes of casesOf([1, 20, 38], (index) => index === (form === 'tar' ? 2 : 0))) {
      const to = mediumOf(`stopped-${megabytes}`, form);
      await mkdir(dirname(to), { recursive: true });
      const child = spawn(process.execPath, [PROGRAM, ...wordsFor(to, ['--progress', 'none'])]);
      let said = '';
      for (const stream of [child.stdout, child.stderr])
        stream.on('data', (chunk: Buffer) => {
          said += chunk.toString();
        });
      const closed = once(child, 'close');
      const written = (): number => [...sizesOf(dirname(to))].reduce((total, size) => total + size, 0);
      const timer = setInterval(() => {
        if (written() < megabytes * 1_000_000) return;
        clearInterval(timer);
        child.kill('SIGINT');
      }, 1);
      const [code, signal] = (await closed) as [number | null, string | null];
      clearInterval(timer);
      expect([code, signal, said.replace(NOTE, '')]).toEqual([
        1,
        null,
        'fleet-export: ABORTED: stopped before the end. Run it again: it continues where it stopped.\n',
      ]);
      const again = await create(to, ['--json']);
      expect(again.code, again.stderr).toBe(0);
      // The layers of a folder are written side by side: none of them need be whole.
      if (form === 'tar' && megabytes === 38)
        expect((JSON.parse(again.stdout) as { written: number }).written).toBeLessThan(ALL_BYTES);
      expect(isWhole(to, form)).toBe(true);
    }
  });

  it.each(
    casesOf(
      [
        { errno: 'EIO', code: 'IO', exit: 6 },
        { errno: 'EACCES', code: 'PERMISSION', exit: 6 },
      ],
      (index) => index === FORMS.indexOf(form),
    ),
  )("reports the system's error when it cannot be read back: $errno", async ({ errno, code, exit }) => {
    const to = mediumOf(errno, form);
    process.env['TEST_ERRNO'] = errno;
    const outcome = await create(to, [], ['--import', FAIL]);
    expect(outcome.stderr).toMatch(
      new RegExp(`^fleet-export: ${code}: reading \\S+ back: ${errno}: the stick was pulled.*\n$`),
    );
    expect(outcome.code).toBe(exit);
    succeed(await create(to));
    expect(isWhole(to, form)).toBe(true);
  });

  it('is completed by the next run after a kill at any moment', async () => {
    const { env } = process;
    const calmMs = calm[form]?.ms ?? 0;
    let kills = 0;
    for (let tries = 0; kills < KILLS; tries += 1) {
      expect(tries).toBeLessThan(KILLS * 4 + 8);
      const to = mediumOf('killed', form);
      await mkdir(dirname(to), { recursive: true });
      const killAfterMs = calmMs * random();
      const { killed } = await runToKill({ words: wordsFor(to), env, killAfterMs });
      if (killed) kills += 1;
      if (killed && form === 'tar') expect(!existsSync(to) || (await isRight(to))).toBe(true);
      const again = await create(to);
      expect(again.code, again.stderr).toBe(0);
      expect(isWhole(to, form), `killed after ${killAfterMs} ms`).toBe(true);
      await rm(dirname(to), { recursive: true });
    }
  }, 1_200_000);

  it.each(casesOf([true, false], (index) => index === 0 || form === 'tar'))(
    'reports the progress of each byte as often as announced, read back: %s',
    async (readBack) => {
      const to = newMedium();
      const tellAll = async (): Promise<readonly Told[]> => {
        const told: Told[] = [];
        await world.export(
          to.slice(world.path().length + 1),
          {},
          {
            readBack,
            onPhase: ({ name, total, passes = 1 }) => told.push({ name, expected: total * passes, bytes: 0 }),
            onBytes: (bytes) => {
              const last = told.at(-1);
              if (last) last.bytes += bytes;
            },
          },
        );
        return told;
      };
      await mkdir(dirname(to), { recursive: true });
      const [writing, ...none] = await tellAll();
      expect(none).toEqual([]);
      expect(writing?.expected).toBeGreaterThan(ALL_BYTES * (readBack ? 2 : 1));
      expect(writing?.bytes).toBe(writing?.expected);
      // One that goes on.
      if (form === 'tar') {
        await rename(to, `${to}.partial`);
        await truncate(`${to}.partial`, 35_000_000);
      } else await rm(join(to, 'blobs/sha256', hexOf(world.layers[0]?.digest ?? 'sha256:')));
      const [checking, rest, ...more] = await tellAll();
      expect(more).toEqual([]);
      expect(checking?.name).toBe('checking what is there');
      expect(checking?.bytes).toBeLessThanOrEqual(checking?.expected ?? 0);
      expect(rest?.bytes).toBe(rest?.expected);
      expect(rest?.expected).toBeLessThan(writing?.expected ?? 0);
      expect(await isRight(to)).toBe(true);
    },
  );

  it('reports progress as JSON that grows up to the total', () => {
    const { said = '' } = calm[form] ?? {};
    const lines = said.split('\n').filter((line) => line.startsWith('{"phase":"writing"'));
    const done = lines.map((line) => JSON.parse(line) as { readonly done: number; readonly total: number });
    expect(done.map((one) => one.done)).toEqual(done.map((one) => one.done).toSorted((x, y) => x - y));
    expect(done.at(-1)?.done).toBe(done.at(-1)?.total);
    expect(said).not.toContain('reading back');
  });
});

type Told = { readonly name: string; readonly expected: number; bytes: number };

/** Sizes of all files below a folder, some of which are renamed just now. */
function* sizesOf(root: string): Generator<number> {
  for (const entry of readdirSync(root, { recursive: true, withFileTypes: true }))
    if (entry.isFile())
      yield statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0;
}
