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

const wrap = (holder: object, name: string): void => {
  const original: unknown = Reflect.get(holder, name);
  if (typeof original !== 'function') return;
  const counting = (...args: unknown[]): unknown => {
    const isRead = name.startsWith('open') && (args[1] === undefined || args[1] === 'r');
    if (!isRead) count(args[0]);
    return Reflect.apply(original, holder, args);
  };
  Reflect.set(holder, name, counting);
};

for (const name of CHANGES) {
  wrap(fs.promises, name);
  wrap(fs, `${name}Sync`);
}
syncBuiltinESMExports();
