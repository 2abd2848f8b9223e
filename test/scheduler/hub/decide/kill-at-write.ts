import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';

/** Loaded before a program with --import: kills it with SIGKILL before its n-th change below a directory, as a power cut would. */

const at = Number(process.env['FLEET_TEST_KILL_AT']);
const below = process.env['FLEET_TEST_KILL_BELOW'] ?? '/none';
let changes = 0;

const CHANGES = ['rename', 'link', 'unlink', 'rm', 'writeFile', 'mkdir', 'open', 'appendFile'] as const;

const count = (path: unknown): void => {
  if (typeof path !== 'string' || !path.startsWith(below)) return;
  changes += 1;
  if (changes === at) process.kill(process.pid, 'SIGKILL');
};

const wrap = (holder: Record<string, unknown>, name: string): void => {
  const original = holder[name];
  if (typeof original !== 'function') return;
  holder[name] = (...args: unknown[]): unknown => {
    const isRead = /^open/.test(name) && (args[1] === undefined || args[1] === 'r');
    if (!isRead) count(args[0]);
    return (original as (...given: unknown[]) => unknown).apply(holder, args);
  };
};

for (const name of CHANGES) {
  wrap(fs.promises as unknown as Record<string, unknown>, name);
  wrap(fs as unknown as Record<string, unknown>, `${name}Sync`);
}
syncBuiltinESMExports();
