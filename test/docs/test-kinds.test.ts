// oxlint-disable-next-line no-restricted-imports
import { spawnSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Sqlite from 'better-sqlite3';
import { expect, test } from 'vitest';

/** vitest.config.ts runs unit tests under Node's permission model: what a component needs is denied here. */
test.each([
  ['writes no file', () => mkdtempSync(join(tmpdir(), 'fleet-ferry-unit-'))],
  ['opens no database', () => new Sqlite(':memory:')],
  ['starts no process', () => spawnSync('true')],
])('a unit test %s', (_, attempt) => {
  expect(attempt).toThrow(expect.objectContaining({ code: expect.stringMatching(/^ERR_(ACCESS|DLOPEN)/) }));
});
