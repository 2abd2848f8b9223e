/**
 * Runs inside a booted host: plans, applies, settles or observes a package with the real target on '/', and prints what came
 * of it as JSON. What the agent keeps in its database is kept in a file here. `{ verb, spec, limit }` on its input.
 */
import {
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { text } from 'node:stream/consumers';
import { hostTarget } from '../../../../agent/apply/host/host-target.ts';
import { runCommand } from '../../../../agent/apply/host/run-command.ts';
import type { DesiredPackage, OwnedObject } from '../../../../agent/model/target.ts';
import { digestOf } from '../../../../bundles/digest.ts';
import { openBlobDirectory } from '../../../../bundles/formats/layout/blob-directory.ts';
import { isFleetError } from '../../../../bundles/errors.ts';
import { applyTo, lines, never, type PackageSpec, packageOf } from './sandbox.ts';

type Request = {
  readonly verb: 'plan' | 'apply' | 'settle' | 'observe';
  readonly spec: PackageSpec | null;
  readonly limit?: number;
  /** Instead of `spec`: a package as the scheduler makes it. */
  readonly built?: BuiltPackage;
};

export type BuiltPackage = {
  /** Path -> Base64. */
  readonly files: Readonly<Record<string, string>>;
  /** Base64, put into the store. */
  readonly blobs: readonly string[];
  readonly siteInputs: DesiredPackage['siteInputs'];
};

const state = '/var/lib/agent';
const file = `${state}/inventory.json`;
mkdirSync(state, { recursive: true });

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

const store = openBlobDirectory(state, 'the store');

const desiredOf = async ({ files, blobs, siteInputs }: BuiltPackage): Promise<DesiredPackage> => {
  for (const bytes of blobs.map((blob) => Buffer.from(blob, 'base64'))) {
    mkdirSync(dirname(store.path(digestOf(bytes))), { recursive: true });
    writeFileSync(store.path(digestOf(bytes)), bytes);
  }
  return {
    assignment: 'built',
    package: digestOf(JSON.stringify(files)),
    siteValues: digestOf(JSON.stringify(siteInputs)),
    files: new Map(Object.entries(files).map(([path, bytes]) => [path, Buffer.from(bytes, 'base64')])),
    blobs: store,
    siteInputs,
  };
};

const answer = async ({ verb, spec, limit, built }: Request): Promise<unknown> => {
  const desired = built ? await desiredOf(built) : packageOf(spec ?? {});
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

try {
  const request = JSON.parse(await text(process.stdin)) as Request;
  process.stdout.write(JSON.stringify({ answer: await answer(request) }));
} catch (error) {
  if (!isFleetError(error)) throw error;
  process.stdout.write(JSON.stringify({ error: { code: error.code, message: error.message } }));
}
