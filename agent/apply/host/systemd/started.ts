import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Digest } from '#bundles/digest';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import type { KeyedHash } from '../../../model/package-secrets.ts';
import { errno, hostError } from '../host-error.ts';
import type { HostTargetOptions } from '../host-options.ts';

/**
 * Records the files that each unit was last started with. A file is changed first and its unit restarted later, and a power failure
 * between the two must not lose the restart. So the step that changes a file first marks its units as stale, durably, and the restart
 * removes the mark. 'daemon-reload' is the record of systemd itself.
 */
export type Started = 'unknown' | 'stale' | Inputs;

/** Digest by path; for a secret a keyed hash. */
export type Inputs = { readonly [path: string]: Digest | ReturnType<KeyedHash> };

export const RELOAD = 'daemon-reload';
/** Key for the links of an enabled unit whose [Install] section changes. No unit can have this name. */
export const linksOf = (unit: string): string => `${unit}.links`;

const folder = (options: HostTargetOptions): string => join(options.backups, 'started');
const record = (options: HostTargetOptions, name: string): string => join(folder(options), `${name}.json`);

/** Key for the units that were stopped in order to start a socket, and that have to start again. */
export const stoppedFor = (socket: string): string => `${socket}.stopped`;

export const readStarted = (options: HostTargetOptions, name: string): Promise<Started> =>
  // A damaged record causes one extra restart.
  readRecord<Started>(options, name, { missing: 'unknown', damaged: 'stale' });

export const writeStarted = (
  options: HostTargetOptions,
  name: string,
  started: Exclude<Started, 'unknown'>,
): Promise<void> => writeRecord(options, name, started);

export const readStopped = (options: HostTargetOptions, socket: string): Promise<readonly string[]> =>
  readRecord<readonly string[]>(options, stoppedFor(socket), { missing: [], damaged: [] });

export const writeStopped = (
  options: HostTargetOptions,
  socket: string,
  units: readonly string[],
): Promise<void> => writeRecord(options, stoppedFor(socket), units);

/** Records are renamed into place, so they are never partial. */
const readRecord = async <T>(
  options: HostTargetOptions,
  name: string,
  { missing, damaged }: { readonly missing: T; readonly damaged: T },
): Promise<T> => {
  try {
    return JSON.parse(await readFile(record(options, name), 'utf8')) as T;
  } catch (error) {
    if (errno(error) === 'ENOENT') return missing;
    if (error instanceof SyntaxError) return damaged;
    throw hostError(error, `reading what ${name} was started with`);
  }
};

const writeRecord = async (options: HostTargetOptions, name: string, value: unknown): Promise<void> => {
  try {
    await mkdir(options.backups, { recursive: true, mode: 0o700 });
    await writeFileAtomically(record(options, name), Buffer.from(JSON.stringify(value)), 0o600);
  } catch (error) {
    throw hostError(error, `remembering what ${name} was started with`);
  }
};

export const forgetStarted = async (options: HostTargetOptions, name: string): Promise<void> => {
  try {
    await rm(record(options, name));
    await syncDirectory(folder(options));
  } catch (error) {
    if (errno(error) !== 'ENOENT') throw hostError(error, `forgetting what ${name} was started with`);
  }
};

/** True if the unit must be restarted to use these files. Files without a record are assumed to be in use. */
export const isOutdated = (started: Started, inputs: Inputs): boolean => {
  if (started === 'stale') return true;
  if (started === 'unknown') return false;
  return Object.entries(inputs).some(
    ([path, digest]) => Object.hasOwn(started, path) && started[path] !== digest,
  );
};
