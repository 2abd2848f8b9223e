import { formatTime } from '#bundles/time';
import type { EnrolmentRequest } from '../enroll/read-requests.ts';
import type { TokenRow, Tx } from '../../store/tables.ts';
import { checkToken, invalid } from './check-token.ts';

/**
 * Checks that a token may enrol this agent. The same agent with the same key may repeat this until the token expires, because a
 * response can get lost. For all others the token is used up.
 * @throws FleetError TOKEN_INVALID
 */
export const tokenFor = async (
  tx: Tx,
  token: unknown,
  request: EnrolmentRequest,
  now: Date,
): Promise<TokenRow> => {
  const row = await checkToken(tx, token, 'enroll', now);
  if (row.site !== request.site)
    throw invalid(`the token ${row.id} is for another site than ${request.site}`);
  if (row.agent !== null && row.agent !== request.agent)
    throw invalid(`the token ${row.id} is for another agent than ${request.agent}`);
  if (row.used_at !== null) {
    if (row.used_by === request.id && row.used_key === request.key.hint) return row;
    throw invalid(`the token ${row.id} was used on ${row.used_at} by ${row.used_by}`);
  }
  return row;
};

/** Uses up a token in the transaction that enrols the agent. */
export const useToken = async (
  tx: Tx,
  row: TokenRow,
  request: EnrolmentRequest,
  now: Date,
): Promise<void> => {
  if (row.used_at !== null) return;
  await tx
    .updateTable('token')
    .set({ used_at: formatTime(now), used_by: request.id, used_key: request.key.hint })
    .where('id', '=', row.id)
    .execute();
};

/** Redeems a token in the transaction that enrols the agent. @throws FleetError TOKEN_INVALID */
export const redeemToken = async (
  tx: Tx,
  token: unknown,
  request: EnrolmentRequest,
  now: Date,
): Promise<TokenRow> => {
  const row = await tokenFor(tx, token, request, now);
  await useToken(tx, row, request, now);
  return row;
};
