import { createReadStream, existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import SQLite from 'better-sqlite3';
import { FleetError, toFleetError } from '#bundles/errors';
import { readRegularFile } from '#bundles/formats/archive/read-regular-file';
import { openLayout } from '#bundles/formats/layout/layout';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { parseJson } from '#bundles/json/parse-json';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import { keepDatabasePrivate } from '#cli/keep-private';
import { beginRestore, readUnfinishedRestore } from '../../../release/write/unfinished-restore.ts';
import { isDatabaseUrl } from '../../../settings/database-url.ts';
import type { Hub } from '../../hub.ts';
import { copyLayout } from './copy-layout.ts';
import { type KnownNumbers, numbersIn } from './known-numbers.ts';

/** backup.json: contents of a backup, and the numbers issued before it. */
export type Backup = {
  readonly fleet: string;
  readonly at: Timestamp;
  /** Name of the file with the database; null: PostgreSQL, which pg_dump saves. */
  readonly database: string | null;
  readonly numbers: KnownNumbers;
};

const FILE = 'backup.json';
const LAYOUT = 'layout';
const DATABASE = 'hub.db';

/**
 * Copies the layout and then the SQLite database into a folder, while the hub runs: the database can bring a layout up to date, and not
 * the other way round. backup.json comes last, so a folder without it is not a backup.
 * @throws FleetError USAGE for a file, or a folder with other files; MEDIUM_MISSING without a layout; DISK_FULL, PERMISSION, IO
 */
export const backUp = async (
  hub: Hub,
  db: string,
  folder: string,
  { now, signal }: { readonly now: Date; readonly signal: AbortSignal },
): Promise<Backup> => {
  const at = formatTime(now);
  const layout = await openLayout(hub.layout);
  await createFolder(folder);
  const others = (await readdir(folder)).filter((name) => ![LAYOUT, DATABASE].includes(name));
  if (others.length > 0)
    throw new FleetError('USAGE', `${folder} is not empty: it has ${others[0]}`, {
      hint: 'Give each backup a folder of its own',
    });
  await copyLayout(hub.layout, join(folder, LAYOUT), signal);
  const database = isDatabaseUrl(db) ? null : DATABASE;
  if (database !== null) await copyDatabase(db, join(folder, database));
  const numbers = await numbersIn(layout, hub.keys.roots);
  const backup: Backup = { fleet: hub.store.fleet, at, database, numbers };
  await writeFileAtomically(join(folder, FILE), Buffer.from(`${JSON.stringify(backup, null, 2)}\n`));
  return backup;
};

const createFolder = async (folder: string): Promise<void> => {
  try {
    await createDirectory(folder, 0o700);
  } catch (error) {
    throw toFleetError(error, `making the folder ${JSON.stringify(folder)}`);
  }
};

/** SQLite's online backup: a consistent copy, while others read and write. */
const copyDatabase = async (from: string, to: string): Promise<void> => {
  try {
    keepDatabasePrivate(to);
    using database = opened(from);
    await database.db.backup(to);
  } catch (error) {
    throw toFleetError(error, `copying ${from}`);
  }
};

const opened = (file: string): Disposable & { readonly db: SQLite.Database } => {
  const db = new SQLite(file, { readonly: true, fileMustExist: true });
  return { db, [Symbol.dispose]: () => void db.close() };
};

/** @throws FleetError MEDIUM_MISSING, BAD_JSON, WRONG_FLEET */
export const readBackup = async (folder: string, fleet: string): Promise<Backup> => {
  const file = join(folder, FILE);
  const text = await readRegularFile(file).catch((error: unknown) => {
    throw new FleetError('MEDIUM_MISSING', `${folder} is not a backup: ${FILE} is missing`, { cause: error });
  });
  const backup = parseJson(text.toString('utf8')) as Backup;
  parseTime(backup.at);
  if (backup.fleet === fleet) return backup;
  throw new FleetError(
    'WRONG_FLEET',
    `${folder} is a backup of fleet ${backup.fleet}, the keys are of ${fleet}`,
  );
};

/**
 * Puts a backup where nothing is, after a file that keeps others from writing there (unfinished-restore.ts). A call after an
 * interruption continues: what was there at its end is complete, and has changed since.
 * @throws FleetError USAGE if the layout or the database is there already, or comes from another backup; DISK_FULL, PERMISSION, IO
 */
export const putBack = async (
  folder: string,
  { at, database }: Backup,
  { layout, db }: { readonly layout: string; readonly db: string },
  signal: AbortSignal,
): Promise<void> => {
  const index = join(layout, 'index.json');
  const before = await readUnfinishedRestore(layout);
  if (before === undefined) {
    for (const place of [index, ...(isDatabaseUrl(db) ? [] : [db])])
      if (existsSync(place))
        throw new FleetError('USAGE', `${place} is there already`, {
          hint: 'Move it away first; --in-place works on the existing one',
        });
  } else if (before.at !== at)
    throw new FleetError(
      'USAGE',
      `${layout} is being restored from the backup of ${before.at} in ${before.from}`,
      {
        hint: 'Finish that, or remove what it has copied: the layout and the database',
      },
    );
  if ((database === null) !== isDatabaseUrl(db))
    throw new FleetError(
      'USAGE',
      `${folder} is a backup of a hub with ${database === null ? 'PostgreSQL' : 'SQLite'}`,
      {
        hint: 'Give the --db of the same kind',
      },
    );
  await beginRestore(layout, { from: folder, at });
  if (!existsSync(index)) await copyLayout(join(folder, LAYOUT), layout, signal);
  if (database === null || existsSync(db)) return;
  try {
    await createDirectory(dirname(db), 0o700);
    await writeFileAtomically(db, createReadStream(join(folder, database)), 0o600);
  } catch (error) {
    throw toFleetError(error, `writing ${db}`);
  }
};
