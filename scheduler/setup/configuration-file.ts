import { randomUUID } from 'node:crypto';
import { existsSync, lstatSync, type Stats } from 'node:fs';
import { open, readdir, readFile, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { renameSynced } from '#bundles/formats/layout/rename-synced';
import { readTrustedFile } from '#bundles/read-trusted-file';
import { HOUR_MS } from '#bundles/time';
import { unlessMissing } from '#bundles/unless-missing';
import { mistakesIn } from '../settings/configuration.ts';

/** A configuration file as it was read, or one that does not exist yet. */
export type ConfigurationFile = {
  readonly path: string;
  readonly text: string;
  readonly exists: boolean;
  /** undefined: it does not exist. */
  readonly rights: Rights | undefined;
};

export type Rights = Pick<Stats, 'uid' | 'gid' | 'mode'>;

/** The end of a draft's name: a UUID. */
const DRAFT = /\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\.new$/;

/** Nobody but the user of the hub reads a new one. */
const PRIVATE = 0o600;
const GROUP_READS = 0o040;
const OTHERS_READ = 0o004;
/** Drafts of this age are of a run that was killed. */
const KILLED_MS = HOUR_MS;

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
  if (!found) return { path, text: '', exists: false, rights: undefined };
  const text = readTrusted(path);
  const [mistake] = mistakesIn(text, path);
  if (mistake) throw mistake;
  return { path, text, exists: true, rights: found };
};

/**
 * Rights of a secret that root writes beside a configuration which the group of the hub reads.
 * @returns undefined: of this process, mode 0600
 */
export const secretRights = (configuration: Rights | undefined): Rights | undefined => {
  if (process.geteuid?.() !== 0 || configuration === undefined) return undefined;
  const { uid, gid } = configuration;
  return isReadByGroup(configuration) ? { uid, gid, mode: PRIVATE | GROUP_READS } : undefined;
};

/** Whether a group other than that of root reads the file. */
const isReadByGroup = ({ gid, mode }: Rights): boolean => gid !== 0 && (mode & GROUP_READS) !== 0;

/** The step that is left to people about files that root wrote, and that no other user can read. */
export const filesOfRoot = async (paths: readonly string[]): Promise<readonly string[]> => {
  if (process.geteuid?.() !== 0) return [];
  const found = await Promise.all(paths.map(async (path) => ({ path, rights: await stat(path) })));
  const own = found.filter(
    ({ rights }) => rights.uid === 0 && !isReadByGroup(rights) && (rights.mode & OTHERS_READ) === 0,
  );
  if (own.length === 0) return [];
  const files = own.map(({ path }) => path).join(' ');
  return [
    `Only root reads what was written: chown USER ${files}, with the user of the hub, such as fleet-scheduler.`,
  ];
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
  await removeKilled(path);
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
      // Another run takes it for one that was killed, while a person thinks for an hour.
      if (!existsSync(draft)) await writeNew(draft, text, before);
      try {
        await renameSynced(draft, path);
      } catch (error) {
        throw toFleetError(error, `writing ${path}`);
      }
    },
    [Symbol.asyncDispose]: remove,
  };
};

/** Drafts have what the configuration has, such as the password of a database. */
const removeKilled = async (path: string): Promise<void> => {
  const folder = dirname(path);
  const drafts = (await readdir(folder)).filter(
    (name) => name.startsWith(`.${basename(path)}.`) && DRAFT.test(name),
  );
  for (const name of drafts) {
    const draft = join(folder, name);
    const found = await unlessMissing(stat(draft), `reading ${draft}`);
    if (found && Math.abs(Date.now() - found.mtimeMs) > KILLED_MS) await rm(draft, { force: true });
  }
};

/** A new file, with the rights of another one if it is given; without a part of it where it fails. @throws FleetError IO, PERMISSION, DISK_FULL */
export const writeNew = async (path: string, text: string, like?: Rights): Promise<void> => {
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
