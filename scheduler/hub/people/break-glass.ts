import { formatTime, parseTime } from '#bundles/time';
import { noteChange } from '../changes/note-change.ts';
import { checkToken, invalid } from '../sites/tokens/check-token.ts';
import { usableUntil } from '../sites/tokens/token-life.ts';
import type { Store } from '../store/open-store.ts';
import { createSession, type OpenSession } from './session.ts';

/**
 * Opens an admin's session with a break-glass code, which the transaction that opens the session marks as used.
 * @throws FleetError TOKEN_INVALID
 */
export const breakGlass = (store: Store, code: string, now: Date): Promise<OpenSession> =>
  store.transact(async (tx) => {
    const row = await checkToken(tx, code, 'break-glass', now);
    if (row.used_at !== null) throw invalid(`the code ${row.id} was used on ${row.used_at}`);
    if (usableUntil(row) <= formatTime(now))
      throw invalid(`the code ${row.id} could be used for 15 minutes only`);
    const opened = await createSession(tx, {
      kind: 'break-glass',
      issuer: null,
      subject: null,
      person: row.person ?? row.id,
      groups: '[]',
      token: row.id,
      endsAt: parseTime(row.expires_at),
      now,
    });
    await tx
      .updateTable('token')
      .set({ used_at: formatTime(now), used_by: `session ${opened.row.id}` })
      .where('id', '=', row.id)
      .execute();
    const { id: session, ends_at: until } = opened.row;
    const change = { change: 'break-glass', about: row.id, old: null, new: { session, until } };
    await noteChange(tx, change, { person: row.person, reason: row.note }, now);
    return opened;
  });
