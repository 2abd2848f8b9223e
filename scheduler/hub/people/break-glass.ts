import { formatTime, parseTime } from '#bundles/time';
import type { Store } from '../store/open-store.ts';
import { checkToken, invalid } from '../sites/tokens/check-token.ts';
import { createSession, type OpenSession } from './session.ts';

/** How long a code can be used. The session that it opens ends when the code's `expires_at` says. */
const CODE_MS = 15 * 60_000;

/**
 * Opens a session of an admin with a code that was made at the office's machine. It is used up in the transaction that opens the session.
 * @throws FleetError TOKEN_INVALID
 */
export const breakGlass = (store: Store, code: string, now: Date): Promise<OpenSession> =>
  store.transact(async (tx) => {
    const row = await checkToken(tx, code, 'break-glass', now);
    if (row.used_at !== null) throw invalid(`the code ${row.id} was used on ${row.used_at}`);
    const until = parseTime(row.created_at).getTime() + CODE_MS;
    if (until <= now.getTime()) throw invalid(`the code ${row.id} could be used for 15 minutes only`);
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
    return opened;
  });
