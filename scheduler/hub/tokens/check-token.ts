import { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import type { Database, TokenRow, Tx } from '../store/tables.ts';
import { hashToken, isToken } from './token.ts';

/**
 * Looks up a token and checks scope, revocation and expiry, but not whether it was used.
 * @throws FleetError TOKEN_INVALID
 */
export const checkToken = async (
  db: Database | Tx,
  token: unknown,
  scope: TokenRow['scope'],
  now: Date,
): Promise<TokenRow> => {
  const row = isToken(token)
    ? await db.selectFrom('token').selectAll().where('hash', '=', hashToken(token)).executeTakeFirst()
    : undefined;
  if (row?.scope !== scope) throw invalid('the token is not known here');
  if (row.revoked_at !== null) throw invalid(`the token ${row.id} was revoked on ${row.revoked_at}`);
  if (row.expires_at <= formatTime(now)) throw invalid(`the token ${row.id} ended on ${row.expires_at}`);
  return row;
};

export const invalid = (message: string): FleetError =>
  new FleetError('TOKEN_INVALID', message, {
    hint: 'Ask for a new one: fleet-scheduler tokens create',
  });
