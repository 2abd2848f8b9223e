import { mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ErrorCode } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';

/** RuntimeDirectory of fleet-agent-medium@.service. */
const RUN_FOLDER = '/run/fleet-agent-medium';

/** Why a medium was not mounted. */
export type NotAdmitted =
  | { readonly kind: 'encrypted' }
  | { readonly kind: 'file-system'; readonly fileSystem: string; readonly allowed: readonly string[] }
  | { readonly kind: 'too-large'; readonly gib: number }
  /** Another program has mounted it, such as the file manager of a desktop. */
  | { readonly kind: 'in-use'; readonly at: string }
  /** The agent's configuration is invalid: whether plugIn is on is unknown. */
  | { readonly kind: 'configuration'; readonly message: string };

/** Result of the import of a medium. */
export type Taken =
  | {
      readonly kind: 'applied';
      /** Version of the accepted release; undefined where the medium has none for this machine. */
      readonly release: number | undefined;
      readonly failed: readonly string[];
      readonly held: readonly string[];
      /** The release upgrades the agent itself, and a later phase continues when that has ended. */
      readonly upgrading?: boolean;
    }
  | { readonly kind: 'refused'; readonly code: ErrorCode; readonly message: string; readonly exit: number }
  /** Not a medium of Fleet Ferry. */
  | { readonly kind: 'foreign' }
  /** It was pulled out, or cannot be read any more. */
  | { readonly kind: 'unreadable' };

/** Result of writing the reports. */
export type Reported =
  | { readonly kind: 'written'; readonly events: number }
  | { readonly kind: 'full' }
  | { readonly kind: 'read-only' }
  | { readonly kind: 'unreadable' }
  | { readonly kind: 'failed'; readonly code: ErrorCode; readonly message: string };

/** How far the phases of one medium came. A phase that was killed leaves its name and no result. */
export type Progress =
  | { readonly phase: 'stopped'; readonly why: NotAdmitted }
  | { readonly phase: 'mounting' }
  | { readonly phase: 'taking' }
  | { readonly phase: 'taken'; readonly taken: Taken }
  | { readonly phase: 'reporting'; readonly taken: Taken }
  | { readonly phase: 'reported'; readonly taken: Taken; readonly reported: Reported };

/**
 * Folder where the unit mounts a device. Not below its RuntimeDirectory: systemd binds that into the namespace of each command
 * without the mounts below it.
 */
export const mountPoint = (device: string): string => join('/run/fleet-agent-media', device);

export const createMountPoint = async (device: string): Promise<void> => {
  await mkdir(mountPoint(device), { recursive: true, mode: 0o700 });
};

const fileOf = (device: string, folder: string): string => join(folder, `${device}.json`);

export const writeProgress = (device: string, progress: Progress, folder = RUN_FOLDER): Promise<void> =>
  writeFileAtomically(fileOf(device, folder), Buffer.from(JSON.stringify(progress)));

/** undefined: no phase has begun. The file is written by this program below /run, for root alone. */
export const readProgress = async (device: string, folder = RUN_FOLDER): Promise<Progress | undefined> => {
  const text = await readFile(fileOf(device, folder), 'utf8').catch(() => undefined);
  return text === undefined ? undefined : (JSON.parse(text) as Progress);
};

export const forgetProgress = (device: string, folder = RUN_FOLDER): Promise<void> =>
  rm(fileOf(device, folder), { force: true });

/**
 * Writes variables for the next commands of the unit, which reads them as its EnvironmentFile=: how to mount, and the result
 * for a hook.
 */
export const writeVariables = (
  device: string,
  variables: Readonly<Record<string, string>>,
  folder = RUN_FOLDER,
): Promise<void> => {
  const lines = Object.entries(variables).map(([name, value]) => `${name}=${quoted(value)}\n`);
  return writeFileAtomically(join(folder, `${device}.env`), Buffer.from(lines.join('')));
};

/** As systemd.exec(5), EnvironmentFile=: in double quotes a backslash escapes itself, quotes, '$' and '`'. */
const quoted = (value: string): string =>
  `"${value.replaceAll(/[\r\n]+/g, ' ').replaceAll(/["\\$`]/g, (found) => `\\${found}`)}"`;
