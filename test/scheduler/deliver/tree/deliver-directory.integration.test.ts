import { execFile } from 'node:child_process';
import { readdir, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { DAY_MS } from '#bundles/time';
import { deliverDirectory } from '../../../../scheduler/deliver/tree/deliver-directory.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';

const MODULE = join(import.meta.dirname, '../../../../scheduler/deliver/tree/deliver-directory.ts');

/** Delivers a tree of 300 files and the same tree again; prints both outcomes. */
const SCRIPT = `
const { deliverDirectory } = await import(process.argv[1]);
const files = Array.from({ length: 300 }, (_, at) => ['edge/app-' + at + '/x.yaml', Buffer.from('x')]);
const delivery = { directory: process.argv[2], environment: 'dev', tree: new Map(files), isKept: () => false };
for (let run = 0; run < 2; run++) console.log((await deliverDirectory(delivery)).outcome);
`;

test('a tree with more files than a process may open is delivered and compared', async () => {
  const out = join(await temporaryDirectory(), 'trees');
  const argv = [
    '-c',
    'ulimit -n 100; exec "$@"',
    'sh',
    process.execPath,
    '--input-type=module',
    '-e',
    SCRIPT,
  ];
  const { stdout } = await promisify(execFile)('sh', [...argv, MODULE, out]);
  expect(stdout).toBe('written\nunchanged\n');
});

test('drafts of killed processes are removed with the first tree of a later day', async () => {
  const directory = await temporaryDirectory();
  const drafts = [
    '.trees/.0d9f4c1e-7a35-4ac5-9f5c-0c1a2b3c4d5e',
    '.1d9f4c1e-7a35-4ac5-9f5c-0c1a2b3c4d5e.link',
  ];
  const young = '.trees/.2d9f4c1e-7a35-4ac5-9f5c-0c1a2b3c4d5e';
  await writeFiles(directory, {
    [`${drafts[0]}/x.yaml`]: 'x',
    [`${drafts[1]}`]: '',
    [`${young}/x.yaml`]: 'x',
  });
  const old = new Date(Date.now() - 2 * DAY_MS);
  for (const draft of drafts) await utimes(join(directory, draft), old, old);
  const tree = new Map([['edge/app/x.yaml', Buffer.from('x')]]);
  await deliverDirectory({ directory, environment: 'dev', tree, isKept: () => false });
  const left = await readdir(directory, { recursive: true });
  expect(left.filter((name) => name.includes('4ac5')).toSorted()).toEqual([young, `${young}/x.yaml`]);
});
