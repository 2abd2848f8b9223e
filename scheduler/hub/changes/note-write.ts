import { randomUUID } from 'node:crypto';
import { canonicalJson } from '#bundles/json/canonical';
import { type ErrorCode, isFleetError } from '#bundles/errors';
import { parseJson } from '#bundles/json/parse-json';
import { formatTime } from '#bundles/time';
import type { Store } from '../store/open-store.ts';
import { type Change, noteChange } from './note-change.ts';

/** A decision that is written outside of the database, such as into a repository: no transaction covers both. */
export type NotedWrite<Written> = {
  /** Changes as they are known before the write: they are noted if its end stays unknown. */
  readonly begun: readonly Change[];
  readonly write: () => Promise<Written>;
  /** Changes that the write made; none if it wrote nothing. */
  readonly changesOf: (written: Written) => readonly Change[];
};

/** Codes of a write that surely changed nothing. After others, such as a lost connection, the repository may have it. */
const UNWRITTEN: readonly ErrorCode[] = ['BUSY', 'EDIT_CONFLICT', 'GIT_REFUSED', 'SOURCE_MISSING', 'USAGE'];

/** Longer than any write takes. */
const UNFINISHED_MS = 900_000;

/**
 * Carries out a write and notes what it changed, in the name of the store's person. A row in the database tells of the write before it begins, so
 * that noteUnfinishedWrites notes it if a kill or a lost connection hides its end.
 * @throws FleetError what `write` throws; as transact
 */
export const noteWrite = async <Written>(
  store: Store,
  { begun, write, changesOf }: NotedWrite<Written>,
  now: Date,
): Promise<Written> => {
  const id = randomUUID();
  const forget = (db: Pick<Store['db'], 'deleteFrom'>) =>
    db.deleteFrom('unfinished_write').where('id', '=', id).execute();
  await store.transact(async (tx) => {
    const changes = canonicalJson({ by: { ...store.by }, begun: begun.map((change) => ({ ...change })) });
    await tx
      .insertInto('unfinished_write')
      .values({ id, begun_at: formatTime(now), changes })
      .execute();
  });
  let written: Written;
  try {
    written = await write();
  } catch (error) {
    if (isFleetError(error) && UNWRITTEN.includes(error.code)) await store.transact(forget);
    throw error;
  }
  await store.transact(async (tx) => {
    await forget(tx);
    for (const change of changesOf(written)) await noteChange(tx, change, store.by, now);
  });
  return written;
};

/** Notes each write that began long ago and has no end: the repository may have it, and the audit log says so. @returns the number of writes */
export const noteUnfinishedWrites = async (store: Store, now: Date): Promise<number> => {
  const since = formatTime(new Date(now.getTime() - UNFINISHED_MS));
  const old = await store.db
    .selectFrom('unfinished_write')
    .select('id')
    .where('begun_at', '<=', since)
    .execute();
  if (old.length === 0) return 0;
  return await store.transact(async (tx) => {
    const rows = await tx
      .selectFrom('unfinished_write')
      .selectAll()
      .where('begun_at', '<=', since)
      .orderBy('begun_at')
      .orderBy('id')
      .execute();
    for (const { id, changes } of rows) {
      const { by, begun } = parseJson(changes) as {
        readonly by: Store['by'];
        readonly begun: readonly Change[];
      };
      for (const change of begun) await noteChange(tx, change, by, now);
      await tx.deleteFrom('unfinished_write').where('id', '=', id).execute();
    }
    return rows.length;
  });
};
