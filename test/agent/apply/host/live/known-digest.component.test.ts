import { open, rename, truncate, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { knownDigests } from '../../../../../agent/apply/host/live/known-digest.ts';
import { temporaryDirectory } from '../../../../harness/run/temporary-directory.ts';

const HOUR = 3_600_000;

const world = async () => {
  const folder = await temporaryDirectory('known');
  const path = join(folder.path, 'model');
  await writeFile(path, 'one');
  // As if the file had lain there for a while.
  let now = Date.now() + HOUR;
  const known = knownDigests(() => now);
  let reads = 0;
  return {
    path,
    known,
    reads: () => reads,
    pass: (ms: number) => {
      now += ms;
    },
    look: async () => {
      await using file = await open(path);
      return await known.of(file, async () => {
        reads += 1;
        return digestOf(await file.readFile());
      });
    },
    [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose](),
  };
};

test('a file that was just written is read again at the second look, and at the first if it changed since', async () => {
  await using it = await world();
  const note = async () => {
    await using file = await open(it.path);
    await it.known.note(file, digestOf('one'));
  };
  await note();
  expect(await it.look()).toBe(digestOf('one'));
  expect(it.reads()).toBe(0);
  await it.look();
  expect(it.reads()).toBe(1);
  await note();
  await writeFile(it.path, 'another');
  expect(await it.look()).toBe(digestOf('another'));
  expect(it.reads()).toBe(2);
});

test('a file without changes is read once', async () => {
  await using it = await world();
  const first = await it.look();
  it.pass(5 * 60_000);
  expect(await it.look()).toBe(first);
  expect(it.reads()).toBe(1);
});

test.each<[string, (path: string) => Promise<void>]>([
  ['written to', (path) => writeFile(path, 'two')],
  [
    'written to, with its time set back',
    async (path) => {
      await writeFile(path, 'two');
      await utimes(path, 1, 1);
    },
  ],
  [
    'replaced',
    async (path) => {
      await writeFile(`${path}.new`, 'two');
      await rename(`${path}.new`, path);
    },
  ],
  ['cut', (path) => truncate(path, 1)],
])('a file that was %s is read again', async (_, change) => {
  await using it = await world();
  const first = await it.look();
  await change(it.path);
  expect(await it.look()).not.toBe(first);
  expect(it.reads()).toBe(2);
});

test('a file is read again after a day, even with unchanged times', async () => {
  await using it = await world();
  await it.look();
  it.pass(25 * HOUR);
  await it.look();
  expect(it.reads()).toBe(2);
});

test('does not trust a file written a moment ago: the next write may leave the same timestamps', async () => {
  await using it = await world();
  it.pass(-HOUR);
  await it.look();
  await it.look();
  expect(it.reads()).toBe(2);
});

test('a clock that is set back does not extend that day', async () => {
  await using it = await world();
  await it.look();
  it.pass(-2 * HOUR);
  await it.look();
  expect(it.reads()).toBe(2);
});
