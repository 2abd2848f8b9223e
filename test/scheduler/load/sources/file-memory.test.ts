import { expect, test } from 'vitest';
import {
  internFiles,
  createFileMemory,
  turnFileMemory,
} from '../../../../scheduler/load/sources/file-memory.ts';

const read = (text: string) => [{ path: 'a.yaml', bytes: Buffer.from(text) }];

test('a file with the same bytes in the next run is the same Buffer, and one that changed is another', () => {
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

test('what a run does not read is forgotten with the next', () => {
  const memory = createFileMemory();
  const [first] = internFiles(memory, 'main', read('one'));
  turnFileMemory(memory);
  turnFileMemory(memory);
  expect(internFiles(memory, 'main', read('one'))[0]?.bytes).not.toBe(first?.bytes);
});

test('what else is known of a file is that of this run', () => {
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
