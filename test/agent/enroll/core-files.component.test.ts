import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const UNITS = join(import.meta.dirname, '../../../deploy');

it.each(globSync('{systemd,debian}/*.service', { cwd: UNITS }).toSorted())(
  'L17: the unit %s has LimitCORE=1, because its program holds keys, tokens or secrets in memory',
  (name) => {
    // fs/coredump.c: a limit of 0 makes no file, and a handler that core_pattern pipes to gets everything; at 1 there is neither.
    // The runner's programs may raise their own limit, so that it is soft there.
    const unit = readFileSync(join(UNITS, name), 'utf8');
    expect(/^LimitCORE=1(:infinity)?$/m.test(unit) ? 'ACCEPT' : unit).toBe('ACCEPT');
  },
);
