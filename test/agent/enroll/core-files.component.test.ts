import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';

const UNITS = join(import.meta.dirname, '../../../deploy');

it.each(globSync('{systemd,debian}/*.service', { cwd: UNITS }).toSorted())(
  'the unit %s has LimitCORE=0, because its program holds keys, tokens or secrets in memory',
  (name) => {
    // The runner's programs may raise their own limit, so that it is soft there.
    expect(readFileSync(join(UNITS, name), 'utf8')).toMatch(/^LimitCORE=0(:infinity)?$/m);
  },
);
