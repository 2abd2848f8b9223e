import { FleetError } from '#bundles/errors';
import { formatTime, type Timestamp } from '#bundles/time';
import { noteChange } from '../../changes/note-change.ts';
import type { By, Store } from '../../store/open-store.ts';
import type { Database, TokenRow, Tx } from '../../store/tables.ts';
import { describeToken } from './create-token.ts';
import { usableUntil } from './token-life.ts';

export type ListedToken = {
  readonly id: string;
  readonly scope: TokenRow['scope'];
  readonly state: 'open' | 'used' | 'ended' | 'revoked';
  /** 'plant-7/press-1', 'plant-7/*' */
  readonly for: string | null;
  readonly channel: string | null;
  readonly labels: Readonly<Record<string, string>> | null;
  readonly replaceKey: boolean;
  /** Person of a token for decisions, and its allowances ('promote:qa'). null and [] for other tokens. */
  readonly person: string | null;
  readonly allowances: readonly string[];
  readonly note: string | null;
  readonly createdAt: Timestamp;
  /** Of an unused break-glass code: when it can no longer be redeemed; of a used one: when its session ends. */
  readonly expiresAt: Timestamp;
  readonly usedAt: Timestamp | null;
  readonly usedBy: string | null;
};

/** All tokens, newest first, without any secret. */
export const listTokens = async (db: Database, now: Date): Promise<readonly ListedToken[]> => {
  const rows = await db.selectFrom('token').selectAll().orderBy('created_at', 'desc').orderBy('id').execute();
  return rows.map((row) => ({
    id: row.id,
    scope: row.scope,
    state: stateOf(row, now),
    for: row.site === null ? null : `${row.site}/${row.agent ?? '*'}`,
    channel: row.environment === null ? null : `${row.environment}/${row.cluster_type ?? ''}`,
    labels: row.labels === null ? null : (JSON.parse(row.labels) as Record<string, string>),
    replaceKey: row.replace_key === 1,
    person: row.person,
    allowances: row.allowances === null ? [] : (JSON.parse(row.allowances) as string[]),
    note: row.note,
    createdAt: row.created_at,
    expiresAt: row.used_at === null ? usableUntil(row) : row.expires_at,
    usedAt: row.used_at,
    usedBy: row.used_by,
  }));
};

const stateOf = (row: TokenRow, now: Date): ListedToken['state'] => {
  if (row.revoked_at !== null) return 'revoked';
  if (row.used_at !== null) return 'used';
  return usableUntil(row) <= formatTime(now) ? 'ended' : 'open';
};

/** @returns false if it was revoked before @throws FleetError TOKEN_INVALID for an unknown id */
export const revokeToken = (store: Store, id: string, now: Date): Promise<boolean> =>
  store.transact(async (tx) => {
    const row = await tx.selectFrom('token').selectAll().where('id', '=', id).executeTakeFirst();
    if (!row) {
      throw new FleetError('TOKEN_INVALID', `there is no token ${JSON.stringify(id.slice(0, 80))}`, {
        hint: 'See fleet-scheduler tokens list',
      });
    }
    return markTokenRevoked(tx, id, store.by, now);
  });

/** @returns false if there is no such token, or it was revoked before */
export const markTokenRevoked = async (tx: Tx, id: string, by: By, now: Date): Promise<boolean> => {
  const row = await tx.selectFrom('token').selectAll().where('id', '=', id).executeTakeFirst();
  if (!row || row.revoked_at !== null) return false;
  const at = formatTime(now);
  await tx.updateTable('token').set({ revoked_at: at }).where('id', '=', id).execute();
  await tx
    .updateTable('session')
    .set({ ended_at: at, ended_why: 'its code was revoked' })
    .where('token', '=', id)
    .where('ended_at', 'is', null)
    .execute();
  const change = { change: 'tokens revoke', about: id, old: describeToken(row), new: null };
  await noteChange(tx, change, by, now);
  return true;
};
