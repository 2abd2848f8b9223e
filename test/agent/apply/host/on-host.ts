/**
 * Runs inside a booted host: plans, applies, settles or observes a package with the real target on '/'. What the agent keeps in its
 * database is kept in a file here. Each line `[id, { verb, spec, limit }]` of its input is answered with a line `[id, { answer }]` or
 * `[id, { error }]`.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeSync,
} from 'node:fs';
import { createInterface } from 'node:readline';
import { hostTarget } from '../../../../agent/apply/host/host-target.ts';
import { runCommand } from '../../../../agent/apply/host/run-command.ts';
import type { OwnedObject } from '../../../../agent/model/target.ts';
import { isFleetError } from '../../../../bundles/errors.ts';
import { type BuiltPackage, desiredFrom } from './built-package.ts';
import { applyTo, lines, never, type PackageSpec, packageOf } from './sandbox.ts';

type Request = {
  readonly verb: 'plan' | 'apply' | 'settle' | 'observe';
  readonly spec: PackageSpec | null;
  readonly limit?: number;
  /** Instead of `spec`: a package as the scheduler makes it. */
  readonly built?: BuiltPackage;
};

const state = '/var/lib/agent';
const file = `${state}/inventory.json`;

const inventory = {
  get owned(): readonly OwnedObject[] {
    return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as readonly OwnedObject[]) : [];
  },
  set owned(objects: readonly OwnedObject[]) {
    const handle = openSync(`${file}.new`, 'w');
    writeSync(handle, JSON.stringify(objects));
    fsyncSync(handle);
    closeSync(handle);
    renameSync(`${file}.new`, file);
  },
};

const answer = async ({ verb, spec, limit, built }: Request): Promise<unknown> => {
  mkdirSync(state, { recursive: true });
  // A new one each time, as if the agent had been started again.
  const target = hostTarget({
    state,
    root: '/',
    services: 'systemd',
    backups: `${state}/backups`,
    maxBackupBytes: 64 << 20,
    pinnedBackups: () => new Set(),
    isRoot: true,
    run: runCommand,
  });
  const desired = built ? await desiredFrom(built, state) : packageOf(spec ?? {});
  switch (verb) {
    case 'plan': {
      const wanted = spec || built ? desired : undefined;
      return lines((await target.plan(wanted, inventory.owned, new Map(), never)).steps);
    }
    case 'apply': {
      const { results } = await applyTo(
        target,
        inventory,
        spec || built ? desired : undefined,
        new Map(),
        limit,
      );
      return lines(results);
    }
    case 'settle':
      return target.settle(desired, never);
    case 'observe':
      return target.observe(desired, inventory.owned, never);
    default:
      return verb satisfies never;
  }
};

const answerOrError = async (request: Request): Promise<object> => {
  try {
    return { answer: await answer(request) };
  } catch (error) {
    if (!isFleetError(error)) throw error;
    const { code, message, printed } = error;
    return { error: { code, message, ...(printed && { printed }) } };
  }
};

for await (const line of createInterface({ input: process.stdin })) {
  const [id, request] = JSON.parse(line) as [number, Request];
  process.stdout.write(`${JSON.stringify([id, await answerOrError(request)])}\n`);
}
