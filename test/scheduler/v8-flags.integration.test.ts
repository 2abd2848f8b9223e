import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const youngAfter = (how: 'limited' | 'default'): number => {
  const script = join(import.meta.dirname, 'v8-flags/fill-memory.ts');
  // The default depends on the memory of the machine.
  const argv = ['--max-semi-space-size=64', script, how];
  return Number(execFileSync(process.execPath, argv, { encoding: 'utf8' }));
};

test('the young generation of a program that builds stays small, which V8 alone lets grow', () => {
  expect(youngAfter('limited')).toBeLessThanOrEqual(32);
  expect(youngAfter('default')).toBeGreaterThan(32);
});
