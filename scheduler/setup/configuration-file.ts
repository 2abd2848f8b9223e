import { randomUUID } from 'node:crypto';
import { lstatSync, type Stats } from 'node:fs';
import { open, readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { renameSynced } from '#bundles/formats/layout/rename-synced';
import { readTrustedFile } from '#bundles/read-trusted-file';
import { unlessMissing } from '#bundles/unless-missing';
import { mistakesIn } from '../settings/configuration.ts';

/** A configuration file as it was read, or one that does not exist yet. */
export type ConfigurationFile = { readonly path: string; readonly text: string; readonly exists: boolean };

/** Nobody but the user of the hub reads a new one. */
const PRIVATE = 0o600;

/**
 * Reads the file that setup is about.
 * @throws FleetError CONFIG_INVALID for the first mistake of an existing file; USAGE for a link, and for root in a folder of another user; PERMISSION
 */
export const readForSetup = async (given: string, cwd: string): Promise<ConfigurationFile> => {
  const path = resolve(cwd, given);
  const found = lstatSync(path, { throwIfNoEntry: false });
  if (found?.isSymbolicLink())
    throw new FleetError('USAGE', 'this file is a link, which setup would replace by a file', {
      at: { file: path },
      hint: 'Name the file itself with --config. In Kubernetes the configuration is in a ConfigMap: run setup on a copy, and apply it',
    });
  await refuseRootElsewhere(dirname(path));
  if (!found) return { path, text: '', exists: false };
  const text = readTrusted(path);
  const [mistake] = mistakesIn(text, path);
  if (mistake) throw mistake;
  return { path, text, exists: true };
};

const readTrusted = (path: string): string => {
  try {
    return readTrustedFile(path).toString('utf8');
  } catch (error) {
    throw toFleetError(error, `reading ${path}`);
  }
};

/** Files of root in the folder of the hub's user could not be read by the hub. */
const refuseRootElsewhere = async (folder: string): Promise<void> => {
  const found = await unlessMissing(stat(folder), `reading ${folder}`);
  if (!found)
    throw new FleetError('USAGE', `there is no folder ${folder}`, {
      hint: 'Make it, for the user of the hub',
    });
  if (process.geteuid?.() !== 0 || found.uid === 0) return;
  throw new FleetError('USAGE', `the folder ${folder} belongs to user ${found.uid}, and this runs as root`, {
    hint: 'Run it as the user of the hub: runuser -u fleet-scheduler -- fleet-scheduler setup',
  });
};

/** A text beside the configuration file, so that its paths mean the same. */
export type Draft = AsyncDisposable & {
  readonly path: string;
  /** Replaces the configuration file with the draft. @throws FleetError EDIT_CONFLICT if the file is not as it was read */
  readonly replace: () => Promise<void>;
};

export const writeDraft = async (
  { path, text: was, exists }: ConfigurationFile,
  text: string,
): Promise<Draft> => {
  const draft = join(dirname(path), `.${basename(path)}.${randomUUID()}.new`);
  const remove = (): Promise<void> => rm(draft, { force: true });
  const before = exists ? await stat(path) : undefined;
  await writeNew(draft, text, before);
  return {
    path: draft,
    replace: async () => {
      const now = await unlessMissing(readFile(path, 'utf8'), `reading ${path}`);
      if (now !== (exists ? was : undefined))
        throw new FleetError('EDIT_CONFLICT', 'the file was changed meanwhile', {
          at: { file: path },
          hint: 'Run setup again',
        });
      try {
        await renameSynced(draft, path);
      } catch (error) {
        throw toFleetError(error, `writing ${path}`);
      }
    },
    [Symbol.asyncDispose]: remove,
  };
};

/** A new file, with the rights of another one if it is given; without a part of it where it fails. @throws FleetError IO, PERMISSION, DISK_FULL */
export const writeNew = async (path: string, text: string, like?: Stats): Promise<void> => {
  let isMade = false;
  try {
    await using file = await open(path, 'wx', PRIVATE);
    isMade = true;
    await file.writeFile(text);
    if (like) {
      await file.chown(like.uid, like.gid);
      await file.chmod(like.mode & 0o777);
    }
    await file.sync();
  } catch (error) {
    if (isMade) await rm(path, { force: true });
    throw toFleetError(error, `writing ${path}`);
  }
};
