import { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { hashToken } from '#bundles/trust/root/token-key';
import { isFromFuture } from '../../is-from-future.ts';
import type { Database, TokenRow, Tx } from '../../store/tables.ts';
import { type Allowance, parseAllowance } from './allowance.ts';
import { isToken } from './token.ts';

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
  return checkRow(row, scope, now);
};

/**
 * As checkToken, for a token that is named and not shown. Its holder still has to prove it.
 * @param id public id @throws FleetError TOKEN_INVALID
 */
export const checkNamedToken = async (
  db: Database | Tx,
  id: string,
  scope: TokenRow['scope'],
  now: Date,
): Promise<TokenRow> =>
  checkRow(await db.selectFrom('token').selectAll().where('id', '=', id).executeTakeFirst(), scope, now);

const checkRow = (row: TokenRow | undefined, scope: TokenRow['scope'], now: Date): TokenRow => {
  if (row?.scope !== scope) throw invalid('the token is not known here');
  if (row.revoked_at !== null) throw invalid(`the token ${row.id} was revoked on ${row.revoked_at}`);
  if (isFromFuture(row.created_at, now))
    throw invalid(
      `the token ${row.id} was created on ${row.created_at}, while a clock of the office was ahead`,
    );
  if (row.expires_at <= formatTime(now)) throw invalid(`the token ${row.id} ended on ${row.expires_at}`);
  return row;
};

/** The holder of a token for reading or deciding: the person that statements name, and what the token allows. */
export type TokenCaller = {
  readonly tokenId: string;
  /** undefined: a reader's token, which allows no decisions. */
  readonly person: string | undefined;
  readonly allowances: readonly Allowance[];
};

/** As checkToken, for a token that reads or decides. @throws FleetError TOKEN_INVALID */
export const checkCaller = async (db: Database | Tx, token: string, now: Date): Promise<TokenCaller> => {
  const scope = token.startsWith('ffd_') ? 'decide' : 'reader';
  const { id, person, allowances } = await checkToken(db, token, scope, now);
  const texts = allowances === null ? EVERYTHING : (JSON.parse(allowances) as readonly string[]);
  return { tokenId: id, person: person ?? undefined, allowances: texts.map(parseAllowance) };
};

/** Allowances of a reader's token without limits. */
const EVERYTHING: readonly string[] = ['read:*'];

export const invalid = (message: string): FleetError =>
  new FleetError('TOKEN_INVALID', message, {
    hint: 'Ask for a new one: fleet-scheduler tokens create',
  });
