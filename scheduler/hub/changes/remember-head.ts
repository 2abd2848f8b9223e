import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { readCheckedLines, readSignedHead } from '../../load/releases/audit-log.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import type { Store } from '../store/open-store.ts';
import type { Database, Tx } from '../store/tables.ts';

type Office = { readonly store: Store; readonly keys: KeyDirectory; readonly layout: string };

/**
 * The newest entry of the layout's audit log, if it is the one that this database knows of: then the log is as it was when the database was
 * last written, and has no note that still waits. @throws FleetError as readSignedHead
 */
export const knownHead = async (office: Office): Promise<Digest | undefined> => {
  const known = await readHead(office);
  if (known === null) return undefined;
  const signed = await readSignedHead(await openOrStartLayout(office.layout), office.keys.roots);
  return signed?.head === known ? known : undefined;
};

/**
 * Compares the audit log of the layout with the newest entry that this database knows of, and remembers the newest one now. The signatures
 * of an older log are all valid: somebody who can write to the layout can put it back, and only another place shows that it is older. While
 * notes wait, nothing is remembered here: appendChanges remembers the entries of the notes that it removes.
 * @throws FleetError AUDIT_TRUNCATED if the log lacks the entry; the codes of readAuditLog, without those of statements
 */
export const rememberHead = async (office: Office): Promise<void> => {
  // Read first: the log only grows, so what is known now is in the log that is read later.
  const known = await readHead(office);
  const digests = await readDigests(office);
  if (known !== null && !digests.includes(known)) throw truncated(known, office.layout);
  // A process that knows the entry of a waiting note would append it again.
  const note = await office.store.db
    .selectFrom('pending_change')
    .select('number')
    .limit(1)
    .executeTakeFirst();
  if (!note) await setHead(office.store.db, digests.at(-1) ?? null, known);
};

/** After a restore: the log that is there now is the newest one, whatever the database said. */
export const forgetHead = async (office: Office): Promise<void> => {
  const known = await readHead(office);
  await setHead(office.store.db, (await readDigests(office)).at(-1) ?? null, known);
};

/** The newest entry that the database knows of; null: none. */
export const readHead = async ({ store }: Pick<Office, 'store'>): Promise<Digest | null> =>
  (await store.db.selectFrom('fleet').select('audit_head').executeTakeFirstOrThrow()).audit_head;

const readDigests = async ({ layout: directory, keys }: Office): Promise<readonly Digest[]> => {
  const layout = await openOrStartLayout(directory);
  return (await readCheckedLines(layout, keys.roots)).map(({ digest }) => digest);
};

/** Needs no transaction of its own. What another process has remembered since `before` stays. */
export const setHead = async (
  db: Database | Tx,
  head: Digest | null,
  before: Digest | null,
): Promise<void> => {
  if (head === before) return;
  await db
    .updateTable('fleet')
    .set({ audit_head: head })
    .where('audit_head', before === null ? 'is' : '=', before)
    .execute();
};

const truncated = (head: Digest, layout: string): FleetError =>
  new FleetError(
    'AUDIT_TRUNCATED',
    `the audit log in ${layout} does not have an entry that it had when this database was last written`,
    {
      subject: head,
      hint: 'Somebody removed entries or put an older log back: restore the newest copy of the layout, then run fleet-scheduler restore --in-place; nothing is appended until then',
    },
  );
