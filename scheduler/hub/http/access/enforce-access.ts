import type { FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';
import { formatChannel, parseName } from '#bundles/names';
import { resolveSight } from '../../questions/history/resolve-sight.ts';
import type { Principal } from '../../people/principal.ts';
import { sightOf } from '../../people/sight.ts';
import type { Visible } from '../../people/visible.ts';
import { readDesired } from '../../questions/state/read-desired.ts';
import {
  environmentAllowances,
  isAllowed,
  valuesAllowances,
  type Verb,
  workspacesOf,
} from '../../sites/tokens/allowance.ts';
import type { Context, PeopleContext } from '../context.ts';
import type { HubServer } from '../hub-server.ts';
import type { Access } from './access.ts';
import { authenticate } from './authenticate.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller, on routes that need a token or a session. */
    principal?: Principal;
    /** Workspaces that the caller may decide about, where it may not about the whole environment. */
    workspaces?: readonly string[];
  }
}

/**
 * Enforces the access rule of every route. The server does not start if a route has no rule. Runs after the rate limit, which
 * bounds guessing, and before the body is read; an allowance for a workspace is judged again by the assignment in the body.
 */
export const enforceAccess = (server: HubServer, context: PeopleContext): void => {
  server.addHook('onRoute', ({ method, url, config }) => {
    if (config?.access === undefined)
      throw new TypeError(`the route ${String(method)} ${url} does not say who may use it (config.access)`);
  });
  server.addHook('preParsing', async (request) => {
    const { access } = request.routeOptions.config;
    // An unknown path has no route.
    if (access === undefined || access.for === 'anyone' || access.for === 'own proof') return;
    const principal = await authenticate(request, context);
    request.principal = principal;
    judge(principal, access, request);
  });
  server.addHook('preHandler', async (request) => {
    const { access } = request.routeOptions.config;
    if (request.workspaces !== undefined && access?.for === 'environment' && access.byAssignment === true)
      await judgeAssignment(request, request.workspaces, context);
  });
};

/** @throws FleetError TOKEN_SCOPE, ROLE_MISSING, NAME_INVALID */
const judge = (
  principal: Principal,
  access: Exclude<Access, { readonly for: 'anyone' | 'own proof' }>,
  request: FastifyRequest,
): void => {
  switch (access.for) {
    case 'signed in':
      return;
    case 'readers':
      if (sightOf(principal.allowances) === 'nothing') throw notAllowed(principal, 'reading about sites');
      return;
    case 'values':
      if (valuesAllowances(principal.allowances).length > 0) return;
      if (sightOf(principal.allowances) === 'nothing' && !decidesSomewhere(principal))
        throw notAllowed(principal, 'seeing values of sites');
      return;
    case 'readers of everything':
      if (sightOf(principal.allowances) !== undefined)
        throw notAllowed(principal, 'reading about the whole fleet');
      return;
    case 'verb':
      if (
        environmentAllowances(principal.allowances).some(
          ({ verb, workspace }) =>
            verb === access.verb && (access.byWorkspace === true || workspace === undefined),
        )
      )
        return;
      throw notAllowed(principal, access.verb);
    case 'environment': {
      const environment = environmentOf(request);
      if (isAllowed(principal.allowances, access.verb, environment)) return;
      const limited = access.byWorkspace ?? (access.byAssignment === true ? access.verb : undefined);
      if (limited !== undefined) {
        request.workspaces = workspacesOf(principal.allowances, limited, environment);
        if (request.workspaces.length > 0) return;
      }
      throw notAllowed(principal, describeRight(access.verb, environment));
    }
  }
};

const decidesSomewhere = ({ allowances }: Principal): boolean =>
  environmentAllowances(allowances).some(({ verb }) => verb === 'approve' || verb === 'reject');

/** For routes with access for a verb. @throws FleetError TOKEN_SCOPE, ROLE_MISSING */
export const checkAllowed = (principal: Principal, verb: Verb, environment: string): void => {
  if (!isAllowed(principal.allowances, verb, environment))
    throw notAllowed(principal, describeRight(verb, environment));
};

/**
 * Judges by the newest release of the channel, so a workspace that an assignment has left decides no more about it.
 * @throws FleetError TOKEN_SCOPE, ROLE_MISSING, NAME_INVALID
 */
const judgeAssignment = async (
  request: FastifyRequest,
  workspaces: readonly string[],
  { hub }: PeopleContext,
): Promise<void> => {
  const { clusterType = '' } = request.params as { readonly clusterType?: string };
  const channel = {
    environment: environmentOf(request),
    clusterType: parseName(clusterType, 'cluster type'),
  };
  const { assignment } = (request.body ?? {}) as { readonly assignment?: unknown };
  const desired = (await readDesired(hub.layout, [channel], hub.keys.root)).get(formatChannel(channel));
  const team =
    typeof assignment === 'string' && desired?.kind === 'release'
      ? desired.teams?.get(assignment)
      : undefined;
  if (team?.workspace !== undefined && workspaces.includes(team.workspace)) return;
  const what = typeof assignment === 'string' ? `this assignment` : 'a whole channel';
  throw notAllowed(principalOf(request), `deciding about ${what} of ${formatChannel(channel)}`);
};

type AlarmOwner = { readonly environment?: string; readonly workspace?: string };

/** Whether the caller may handle alarms of an environment, or of a workspace in it. Those of the fleet itself are for callers of all environments. */
export const mayHandleAlarms = ({ allowances }: Principal, { environment, workspace }: AlarmOwner): boolean =>
  isAllowed(allowances, 'alarms', environment ?? '*') ||
  (environment !== undefined &&
    workspace !== undefined &&
    workspacesOf(allowances, 'alarms', environment).includes(workspace));

/** @throws FleetError TOKEN_SCOPE, ROLE_MISSING */
export const checkAlarms = (principal: Principal, owner: AlarmOwner): void => {
  if (mayHandleAlarms(principal, owner)) return;
  const { environment = '*', workspace } = owner;
  throw notAllowed(
    principal,
    `alarms:${[environment, workspace].filter((one) => one !== undefined).join('/')}`,
  );
};

const describeRight = (verb: Verb | undefined, environment: string): string =>
  verb === undefined ? `reading about ${environment}` : `${verb}:${environment}`;

/** The refusal of a caller whose allowances do not cover `what`. */
export const notAllowed = ({ kind, id, person }: Principal, what: string): FleetError =>
  kind === 'token'
    ? new FleetError('TOKEN_SCOPE', `the token ${id} does not allow ${what}`, {
        hint: 'Ask for one that does: fleet-scheduler tokens create --allow',
      })
    : new FleetError('ROLE_MISSING', `the roles of ${person ?? id} do not allow ${what}`, {
        hint: 'Ask an admin of the hub for a role that does',
      });

/** The environment in the path. @throws FleetError NAME_INVALID */
export const environmentOf = ({ params }: FastifyRequest): string =>
  parseName((params as { readonly environment?: string }).environment ?? '', 'environment');

/** The caller that `enforceAccess` admitted. */
export const principalOf = ({ principal }: FastifyRequest): Principal => {
  if (principal === undefined) throw new TypeError('a path for callers was reached without one');
  return principal;
};

/** The caller, for a line of the log that is kept for audits. */
export const auditedCaller = ({ id, kind, person = id }: Principal) => ({
  audit: true,
  by: kind,
  [kind === 'token' ? 'token' : 'session']: id,
  person,
});

/** Limits of what the caller may see; undefined: no limits. */
export const visibleTo = async (request: FastifyRequest, { hub }: Context): Promise<Visible | undefined> => {
  const sight = sightOf(principalOf(request).allowances);
  if (sight === undefined) return undefined;
  return resolveSight(hub, sight === 'nothing' ? { whole: new Set(), parts: [], gates: new Set() } : sight);
};
