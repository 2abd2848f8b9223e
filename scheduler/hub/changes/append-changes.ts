import type { Digest } from '#bundles/digest';
import { type ErrorCode, FleetError, isFleetError } from '#bundles/errors';
import type { ChangePredicate } from '#bundles/formats/statements/predicates';
import { parseJson } from '#bundles/json/parse-json';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { appendEntries, type NewEntry } from '../../release/audit/append-entry.ts';
import { signChange } from '../../release/audit/sign-change.ts';
import { openReleases } from '../../release/write/open-releases.ts';
import type { LockOptions } from '../../release/write/wait-for-layout.ts';
import type { Store } from '../store/open-store.ts';
import { knownHead, readHead, rememberHead, setHead } from './remember-head.ts';

export type AppendedChanges = {
  readonly appended: number;
  /** Why notes stay in the database until a later call; undefined: none does. */
  readonly waiting: FleetError | undefined;
};

/** Codes of conditions that end without a change of this code or its input. */
const RETRIED_CODES: readonly ErrorCode[] = ['BUSY', 'KEY_MISSING', 'SIGNER_UNREACHABLE'];

/** Entries signed and appended at a time. */
const AT_ONCE = 1000;

/**
 * Signs the noted changes and appends them to the audit log, oldest first. A note is removed when its entry is on disk; a call after a
 * kill in between finds the entry in the log. Notes wait while another process holds the layout, where the audit key is not in this key
 * directory or the root has none, and while the log lacks an entry that the database knows of.
 * @throws FleetError the codes of appendEntry but BUSY, KEY_MISSING and SIGNER_UNREACHABLE; DISK_FULL, IO
 */
export const appendChanges = async (
  { store, keys, layout }: { readonly store: Store; readonly keys: KeyDirectory; readonly layout: string },
  options: LockOptions,
): Promise<AppendedChanges> => {
  const office = { store, keys, layout };
  const known = await knownHead(office);
  if (known === undefined) {
    const truncated = await rememberHead(office).catch((error: unknown) => {
      if (isFleetError(error, 'AUDIT_TRUNCATED')) return error;
      throw error;
    });
    if (truncated) return { appended: 0, waiting: truncated };
  }
  return await append(office, options, known);
};

/** @param known newest entry of a log that has none of the notes; undefined: it may have some */
const append = async (
  { store, keys, layout }: Parameters<typeof appendChanges>[0],
  options: LockOptions,
  known: Digest | undefined,
): Promise<AppendedChanges> => {
  let appended = 0;
  let head = known;
  const done = (waiting?: FleetError) => ({ appended, waiting });
  for (;;) {
    // Read before the notes: the entries of notes that are there then are newer than it, or it is kept.
    const before = await readHead({ store });
    const rows = await store.db
      .selectFrom('pending_change')
      .selectAll()
      .orderBy('number')
      .limit(AT_ONCE)
      .execute();
    if (rows.length === 0) return done();
    if (keys.root.audit.length === 0) return done(noAuditKey());
    let last: Digest | undefined;
    try {
      using releases = await openReleases(layout, options);
      const key = await keys.key('audit');
      const entries: NewEntry[] = [];
      for (const { change } of rows)
        entries.push(await signChange(predicateOf(change, keys.root.fleet), key));
      const results = await appendEntries(releases, keys, entries, { now: options.now, known: head });
      last = results.at(-1)?.entry.digest;
    } catch (error) {
      if (!isFleetError(error) || !RETRIED_CODES.includes(error.code)) throw error;
      return done(error);
    }
    // Under the lock of writers: a note of the same number may be a new one, after another process has removed this one. The newest entry is
    // remembered with it, also while other notes wait: a log without it is older.
    await store.transact(async (tx) => {
      for (const { number, change } of rows)
        await tx
          .deleteFrom('pending_change')
          .where('number', '=', number)
          .where('change', '=', change)
          .execute();
      if (last !== undefined) await setHead(tx, last, before);
    });
    appended += rows.length;
    head = last;
  }
};

const predicateOf = (change: string, fleet: string): ChangePredicate => ({
  fleet,
  ...(parseJson(change) as Omit<ChangePredicate, 'fleet' | 'critical'>),
  critical: [],
});

const noAuditKey = (): FleetError =>
  new FleetError('KEY_MISSING', 'the root of the fleet has no audit key', {
    hint: 'Give it one: fleet-scheduler root rotate --add audit=audit.pub',
  });
