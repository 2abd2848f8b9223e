import { readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { logDestination } from '../../cli/log-destination.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

test('a full log disk blocks no program, and pending lines are written when space is free', async () => {
  await using directory = await temporaryDirectory('log');
  const file = join(directory.path, 'log');
  await symlink('/dev/full', file);
  const destination = logDestination(file);
  const log = pino({ base: null, timestamp: false }, destination);
  log.info('first');
  log.info('second');
  await rm(file);
  destination.reopen();
  log.info('third');
  const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
  expect(lines.map((line) => (JSON.parse(line) as { msg: string }).msg)).toEqual([
    'first',
    'second',
    'third',
  ]);
});
