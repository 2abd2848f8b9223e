import { formatTime } from '#bundles/time';
import { FleetError, isFleetError } from '#bundles/errors';
import { parsePublicKey } from '#bundles/trust/keys/key';
import { isProof } from '#bundles/trust/root/sign-request';
import type { EnrolmentRequest, TokenProof } from '../enroll/read-requests.ts';
import type { TokenRow, Tx } from '../../store/tables.ts';
import { checkNamedToken, checkToken, invalid } from './check-token.ts';

/** Adds the agent to a refusal, because a medium has requests of many. */
const ofRequest = (error: unknown, { id }: EnrolmentRequest): unknown =>
  isFleetError(error, 'TOKEN_INVALID')
    ? new FleetError('TOKEN_INVALID', `${id}: ${error.message}`, { cause: error, hint: error.hint })
    : error;

/**
 * Checks that a token may enrol this agent. The same agent with the same key may repeat this until the token expires, because a
 * response can get lost. For all others the token is used up.
 * @throws FleetError TOKEN_INVALID
 */
const checkFor = (row: TokenRow, request: EnrolmentRequest): TokenRow => {
  if (row.site !== request.site)
    throw invalid(`the token ${row.id} is for another site than ${request.site}, that of ${request.id}`);
  if (row.agent !== null && row.agent !== request.agent)
    throw invalid(`the token ${row.id} is for another agent than ${request.id}`);
  if (row.used_at !== null && (row.used_by !== request.id || row.used_key !== request.key.hint))
    throw invalid(
      `the token ${row.id} of ${request.id} was used on ${row.used_at} by ${row.used_by}${row.used_by === request.id ? ' with another key' : ''}`,
    );
  return row;
};

/** Finds the token that a request on a medium proves. @throws FleetError TOKEN_INVALID */
export const provenToken = async (
  tx: Tx,
  proof: TokenProof,
  request: EnrolmentRequest,
  now: Date,
): Promise<TokenRow> => {
  const row = await checkNamedToken(tx, proof.token, 'enroll', now).catch((error: unknown) => {
    throw ofRequest(error, request);
  });
  if (row.proof_key === null)
    throw invalid(`the token ${row.id} of ${request.id} was made by a version that has no proofs of tokens`);
  if (!isProof(proof.document, proof.signature, parsePublicKey(row.proof_key)))
    throw invalid(
      `${request.path} does not prove the token ${row.id} for ${request.id}: its sender does not have the token, or somebody changed it`,
    );
  return checkFor(row, request);
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
  const row = checkFor(await checkToken(tx, token, 'enroll', now), request);
  await useToken(tx, row, request, now);
  return row;
};
