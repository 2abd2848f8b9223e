import { expect, test } from 'vitest';
import {
  internFiles,
  createFileMemory,
  turnFileMemory,
} from '../../../../scheduler/load/sources/file-memory.ts';

const read = (text: string) => [{ path: 'a.yaml', bytes: Buffer.from(text) }];

test('a file with unchanged bytes is the same Buffer in the next run, and a changed one is not', () => {
  const memory = createFileMemory();
  const run = (text: string, source = 'main'): Buffer | undefined => {
    turnFileMemory(memory);
    return internFiles(memory, source, read(text))[0]?.bytes;
  };
  const first = run('one');
  expect(run('one')).toBe(first);
  const changed = run('two');
  expect(changed?.toString()).toBe('two');
  expect(run('two')).toBe(changed);
  expect(run('two', 'other')).not.toBe(changed);
});

test('a file that a run does not read is dropped after the next one', () => {
  const memory = createFileMemory();
  const [first] = internFiles(memory, 'main', read('one'));
  turnFileMemory(memory);
  turnFileMemory(memory);
  expect(internFiles(memory, 'main', read('one'))[0]?.bytes).not.toBe(first?.bytes);
});

test('a file has the other properties of the current run', () => {
  const memory = createFileMemory();
  const change = { namePrefix: 'x-', nameSuffix: '', labels: {}, annotations: {} };
  internFiles(memory, 'main', read('one'));
  const [again] = internFiles(
    memory,
    'main',
    read('one').map((file) => ({ ...file, changes: [change] })),
  );
  expect(again?.changes).toEqual([change]);
});
