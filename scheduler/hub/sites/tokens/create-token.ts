import { randomBytes } from 'node:crypto';
import { defined } from '#bundles/defined';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import type { Channel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { hashToken, tokenId, tokenKey } from '#bundles/trust/root/token-key';
import { type Change, noteChange } from '../../changes/note-change.ts';
import type { Store } from '../../store/open-store.ts';
import type { TokenRow } from '../../store/tables.ts';
import type { Labels } from '../agent-record.ts';
import { type Allowance, formatAllowance } from './allowance.ts';
import { encodeToken, TOKEN_BYTES } from './token.ts';

/** A token for one enrolment, for reading the fleet's state, for decisions by the API, or for one break-glass session. */
export type TokenRequest =
  | {
      readonly scope: 'enroll';
      readonly site: string;
      /** undefined: the first agent of the site that uses it. */
      readonly agent?: string | undefined;
      /** undefined: as in the request. */
      readonly channel?: Channel | undefined;
      readonly labels?: Labels | undefined;
      /** Allows a known agent to change its key. */
      readonly replaceKey: boolean;
    }
  | {
      readonly scope: 'reader';
      /** Environments and workspaces that it may read about; undefined: everything. */
      readonly allowances?: readonly Allowance[] | undefined;
    }
  | {
      readonly scope: 'decide';
      /** Person that statements name for decisions with this token. */
      readonly person: string;
      readonly allowances: readonly Allowance[];
    }
  | {
      readonly scope: 'break-glass';
      readonly person: string;
    };

export type CreatedToken = {
  /** Shown once, stored nowhere. */ readonly token: string;
  readonly row: TokenRow;
};

export const createToken = async (
  store: Store,
  order: TokenRequest,
  { note, expires, now }: { readonly note: string | undefined; readonly expires: Date; readonly now: Date },
): Promise<CreatedToken> => {
  const token = encodeToken(order.scope, randomBytes(TOKEN_BYTES));
  const hash = hashToken(token);
  const row: TokenRow = {
    id: tokenId(hash),
    hash,
    proof_key: order.scope === 'enroll' ? tokenKey(token).public.pem : null,
    ...termsOf(order),
    note: note ?? null,
    created_at: formatTime(now),
    expires_at: formatTime(expires),
    used_at: null,
    used_by: null,
    used_key: null,
    revoked_at: null,
  };
  await store.transact(async (tx) => {
    await tx.insertInto('token').values(row).execute();
    const change = { change: CREATES[row.scope], about: row.id, old: null, new: describeToken(row) };
    await noteChange(tx, change, store.by, now);
  });
  return { token, row };
};

const CREATES = {
  enroll: 'tokens create',
  reader: 'tokens create',
  decide: 'tokens create',
  'break-glass': 'break-glass',
} as const satisfies Record<TokenRow['scope'], string>;

/** A token for the audit log: its purpose, without anything that proves it. */
export const describeToken = (row: TokenRow): NonNullable<Change['new']> =>
  defined({
    scope: row.scope,
    for: row.site !== null ? `${row.site}/${row.agent ?? '*'}` : undefined,
    channel: row.environment !== null ? `${row.environment}/${row.cluster_type ?? ''}` : undefined,
    labels: row.labels !== null ? (parseJson(row.labels) as Json) : undefined,
    replaceKey: row.replace_key === 1 ? true : undefined,
    person: row.person ?? undefined,
    allowances: row.allowances !== null ? (parseJson(row.allowances) as Json) : undefined,
    note: row.note ?? undefined,
    expires: row.expires_at,
  });

type Terms = Pick<
  TokenRow,
  | 'scope'
  | 'site'
  | 'agent'
  | 'environment'
  | 'cluster_type'
  | 'labels'
  | 'replace_key'
  | 'person'
  | 'allowances'
>;

const NO_TERMS = {
  site: null,
  agent: null,
  environment: null,
  cluster_type: null,
  labels: null,
  replace_key: 0,
  person: null,
  allowances: null,
} as const;

const termsOf = (order: TokenRequest): Terms => {
  switch (order.scope) {
    case 'enroll':
      return {
        ...NO_TERMS,
        scope: order.scope,
        site: order.site,
        agent: order.agent ?? null,
        environment: order.channel?.environment ?? null,
        cluster_type: order.channel?.clusterType ?? null,
        labels: order.labels === undefined ? null : canonicalJson(order.labels),
        replace_key: order.replaceKey ? 1 : 0,
      };
    case 'break-glass':
      return { ...NO_TERMS, scope: order.scope, person: order.person };
    case 'reader':
      return {
        ...NO_TERMS,
        scope: order.scope,
        allowances:
          order.allowances === undefined ? null : canonicalJson(order.allowances.map(formatAllowance)),
      };
    case 'decide':
      return {
        ...NO_TERMS,
        scope: order.scope,
        person: order.person,
        allowances: canonicalJson(order.allowances.map(formatAllowance)),
      };
  }
};
