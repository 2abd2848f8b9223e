import { readFile, rm, symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { logDestination } from '../../cli/log-destination.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

test('a log on a full disk stops nobody, and what waited is written once there is room', async () => {
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
