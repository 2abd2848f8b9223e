import type { Labels } from '../sites/agent-record.ts';
import {
  type Allowance,
  type ValuesAllowance,
  WORKSPACE_VERBS,
  type Verb,
  VERBS,
} from '../sites/tokens/allowance.ts';

export const ROLES = ['viewer', 'operator', 'approver', 'editor', 'author', 'admin'] as const;
export type Role = (typeof ROLES)[number];

/** Allowances of each role. An approval is signed by its person's own key, regardless of the role. */
const VERBS_OF: Readonly<Record<Role, readonly Verb[]>> = {
  viewer: ['read'],
  operator: ['read', 'promote', 'pause', 'resume', 'rollback', 'rollout', 'record', 'wait', 'alarms'],
  approver: ['read', 'approve', 'reject', 'wait'],
  // Values of sites alone.
  editor: [],
  author: ['read', 'author'],
  admin: VERBS,
};

/** Roles that may be limited to workspaces. An admin also decides what no workspace owns: pauses, rollouts, sessions, whole channels. */
export const WORKSPACE_ROLES: readonly Role[] = ['viewer', 'operator', 'approver'];

/** Gives a role to members of groups and to named people. Of `groups` and `people` one match is enough. */
export type RoleRule = {
  readonly role: Role;
  /** As the groups claim of the provider names them. */
  readonly groups?: readonly string[];
  /** As the person claim of the provider names them, compared without case. */
  readonly people?: readonly string[];
  /** undefined: all. */
  readonly environments?: readonly string[];
  /** Only of the roles in WORKSPACE_ROLES; undefined: all. */
  readonly workspaces?: readonly string[];
  /** Only of editors: labels of the agents whose values they change, as a siteSelector; undefined: all. */
  readonly sites?: Labels;
  /** Only of editors: values whose site input has one of these `editableBy`; undefined: all. */
  readonly editableBy?: readonly string[];
};

type Known = { readonly person: string; readonly groups: readonly string[] };

export const rulesOf = (rules: readonly RoleRule[], { person, groups }: Known): readonly RoleRule[] =>
  rules.filter(
    (rule) =>
      rule.groups?.some((group) => groups.includes(group)) === true ||
      rule.people?.some((one) => one.toLowerCase() === person.toLowerCase()) === true,
  );

/** Allowances of these rules, without duplicates. */
export const allowancesOf = (rules: readonly RoleRule[]): readonly Allowance[] => {
  const all = rules.flatMap((rule): readonly Allowance[] => [...environmentsOf(rule), ...valuesOf(rule)]);
  return [...new Map(all.map((one) => [JSON.stringify(one), one])).values()];
};

const environmentsOf = ({ role, environments = ['*'], workspaces }: RoleRule): readonly Allowance[] =>
  environments.flatMap((environment) =>
    (workspaces ?? [undefined]).flatMap((workspace) =>
      VERBS_OF[role].flatMap((verb) => {
        if (workspace === undefined) return [{ verb, environment }];
        return WORKSPACE_VERBS.includes(verb) ? [{ verb, environment, workspace }] : [];
      }),
    ),
  );

const valuesOf = (rule: RoleRule): readonly ValuesAllowance[] => {
  if (isAdmin([rule])) return [{ verb: 'values', sites: {} }];
  if (rule.role !== 'editor') return [];
  const { sites = {}, editableBy } = rule;
  return editableBy === undefined
    ? [{ verb: 'values', sites }]
    : editableBy.map((role) => ({ verb: 'values', sites, editableBy: role }));
};

/** An admin of some environments decides about these; the sessions of others are for admins of all. */
export const isAdmin = (rules: readonly RoleRule[]): boolean =>
  rules.some(({ role, environments }) => role === 'admin' && environments === undefined);
