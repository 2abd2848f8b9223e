import { AsyncLocalStorage } from 'node:async_hooks';
import crypto from 'node:crypto';
import http from 'node:http';
import https from 'node:https';
import { syncBuiltinESMExports } from 'node:module';
import SQLite from 'better-sqlite3';
import { Client } from 'pg';
import { REPORTS_PATH } from '#bundles/formats/events/hub-api';

/**
 * Loaded before a hub with --import. From SIGUSR2 on it counts the steps of a request with a report, which are signatures that are verified,
 * statements of the database, and the answer, and kills the hub with SIGKILL before the step KILL_AT_STEP; 0: never.
 */
const at = Number(process.env['KILL_AT_STEP']);
const inReport = new AsyncLocalStorage<true>();
let armed = false;
let steps = 0;

process.on('SIGUSR2', () => {
  armed = true;
  process.stdout.write(`${JSON.stringify({ msg: 'armed' })}\n`);
});

type Method = (this: unknown, ...args: unknown[]) => unknown;

const wrap = (
  holder: object,
  name: string,
  around: (call: () => unknown, args: readonly unknown[]) => unknown,
): void => {
  const original = Reflect.get(holder, name) as Method | undefined;
  if (original === undefined) throw new Error(`there is no ${name}`);
  Reflect.set(holder, name, function wrapped(this: unknown, ...args: unknown[]): unknown {
    return around(() => Reflect.apply(original, this, args), args);
  });
};

const step = (call: () => unknown): unknown => {
  if (inReport.getStore() === true) {
    steps += 1;
    if (steps === at) process.kill(process.pid, 'SIGKILL');
  }
  return call();
};

wrap(https.Server.prototype, 'emit', (call, [name, request]) =>
  armed && name === 'request' && (request as http.IncomingMessage).url === REPORTS_PATH
    ? inReport.run(true, call)
    : call(),
);
wrap(crypto, 'verify', step);
wrap(http.ServerResponse.prototype, 'end', (call) => {
  const answered = step(call);
  if (inReport.getStore() === true) process.stdout.write(`${JSON.stringify({ msg: 'answers', steps })}\n`);
  return answered;
});
wrap(Client.prototype, 'query', step);
const statement: object = Reflect.getPrototypeOf(new SQLite(':memory:').prepare('select 1')) ?? {};
for (const name of ['run', 'all']) wrap(statement, name, step);
syncBuiltinESMExports();
