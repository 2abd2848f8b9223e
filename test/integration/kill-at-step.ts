import crypto from 'node:crypto';
import http from 'node:http';
import { syncBuiltinESMExports } from 'node:module';
import SQLite from 'better-sqlite3';
import { Client } from 'pg';

/**
 * Loaded before a hub with --import. From SIGUSR2 on it counts the steps of ingest, which are signatures that are verified, statements of
 * the database, and answers, and kills the hub with SIGKILL before the step KILL_AT_STEP; 0: never.
 */
const at = Number(process.env['KILL_AT_STEP']);
let armed = false;
let steps = 0;

process.on('SIGUSR2', () => {
  armed = true;
  process.stdout.write(`${JSON.stringify({ msg: 'armed' })}\n`);
});

const wrap = (holder: object, name: string, before: (args: readonly unknown[]) => void): void => {
  const original: unknown = Reflect.get(holder, name);
  if (typeof original !== 'function') throw new Error(`there is no ${name}`);
  Reflect.set(holder, name, function step(this: unknown, ...args: unknown[]): unknown {
    before(args);
    return Reflect.apply(original, this, args);
  });
};

const step = (): void => {
  if (!armed) return;
  steps += 1;
  if (steps === at) process.kill(process.pid, 'SIGKILL');
};

wrap(crypto, 'verify', step);
wrap(http.ServerResponse.prototype, 'end', () => {
  step();
  if (armed) process.stdout.write(`${JSON.stringify({ msg: 'answers', steps })}\n`);
});
wrap(Client.prototype, 'query', step);
const statement: object = Reflect.getPrototypeOf(new SQLite(':memory:').prepare('select 1')) ?? {};
for (const name of ['run', 'all']) wrap(statement, name, step);
syncBuiltinESMExports();
