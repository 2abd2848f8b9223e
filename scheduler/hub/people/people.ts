import type { Principal } from './principal.ts';
import { allowancesOf, isAdmin, type RoleRule, rulesOf } from './role.ts';
import type { OidcProvider } from './oidc-provider.ts';
import type { SessionRow } from '../store/tables.ts';
import { VERBS } from '../sites/tokens/allowance.ts';

/** Sign-in and roles of people at this hub. */
export type People = {
  /** Origin of the page as browsers name it; undefined: the host that a request names. */
  readonly origin: string | undefined;
  readonly oidc: OidcProvider | undefined;
  readonly roles: readonly RoleRule[];
  /** Longest life of a session, of a session of somebody who may decide, and the longest time without a request. */
  readonly sessionMs: number;
  readonly decidingMs: number;
  readonly idleMs: number;
};

const HOUR_MS = 3_600_000;

/** A hub without sign-in by OIDC: tokens, and break-glass sessions of an hour. */
export const NO_PEOPLE: People = {
  origin: undefined,
  oidc: undefined,
  roles: [],
  sessionMs: 12 * HOUR_MS,
  decidingMs: 4 * HOUR_MS,
  idleMs: HOUR_MS,
};

/** How long a session of these roles lasts: the groups of its sign-in count until then. */
export const lifeOf = (
  rules: readonly RoleRule[],
  { sessionMs, decidingMs }: Pick<People, 'sessionMs' | 'decidingMs'>,
): number => (rules.every(({ role }) => role === 'viewer') ? sessionMs : Math.min(sessionMs, decidingMs));

/**
 * The person of a session with their current roles: roles are computed at each request from the current rules, so a role
 * removed from the configuration ends with the restart that reads it.
 */
export const personOf = (row: SessionRow, { roles }: Pick<People, 'roles'>): Principal => {
  const { id, kind, person } = row;
  switch (kind) {
    case 'oidc': {
      const rules = rulesOf(roles, { person, groups: JSON.parse(row.groups) as string[] });
      return {
        kind,
        id,
        person: `${person} (OIDC ${hostOf(row.issuer ?? '')})`,
        allowances: allowancesOf(rules),
        isAdmin: isAdmin(rules),
      };
    }
    case 'break-glass':
      return {
        kind,
        id,
        person: `${person} (break-glass ${row.token ?? id})`,
        allowances: [...VERBS.map((verb) => ({ verb, environment: '*' })), { verb: 'values', sites: {} }],
        isAdmin: true,
      };
  }
};

const hostOf = (issuer: string): string => (URL.canParse(issuer) ? new URL(issuer).host : issuer);
