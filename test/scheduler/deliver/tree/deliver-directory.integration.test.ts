import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { temporaryDirectory } from '../../file-tree.ts';

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
