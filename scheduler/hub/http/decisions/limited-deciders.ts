import type { FastifyRequest } from 'fastify';
import type { Digest } from '#bundles/digest';
import { nameSome } from '#bundles/name-some';
import { seesWorkspace } from '../../people/sight.ts';
import type { CheckApproval } from '../../promote/decide/approve-for.ts';
import type { Chain } from '../../promote/decide/chain.ts';
import { linksOf, type Link } from '../../promote/facts/link.ts';
import { changesOf } from '../../promote/gate/assess.ts';
import type { GateHub } from '../../promote/gate/gate-hub.ts';
import { type Limits, whyOutsideLimits } from '../../promote/judge/judge-limits.ts';
import type { Verdict } from '../../promote/judge/verdict.ts';
import { isAllowed, workspacesOf } from '../../sites/tokens/allowance.ts';
import { environmentOf, notAllowed, principalOf } from '../access/enforce-access.ts';

/** Limits of a caller that may use the verb only for workspaces of the environment; undefined: it has none, or no such allowance. */
export const limitsOf = (request: FastifyRequest, verb: 'approve' | 'reject'): Limits | undefined => {
  const { allowances } = principalOf(request);
  const environment = environmentOf(request);
  const workspaces = [...new Set(workspacesOf(allowances, verb, environment))];
  if (isAllowed(allowances, verb, environment) || workspaces.length === 0) return undefined;
  return { workspaces, sees: (workspace) => seesWorkspace(allowances, environment, workspace) };
};

/** Whether the policy of a link asks for approvals by workspace, so that an approval of a part counts. */
const asksByWorkspace = (link: Link | undefined): boolean => link?.policy?.approvals?.eachWorkspace === true;

/**
 * Refuses what a limited approver may not hand over: an approval of everything or of a stage, one for workspaces of others, and one of a
 * candidate that changes more, unless the policy asks by workspace.
 */
export const checkApproval =
  ({ hub, promotion }: Chain, request: FastifyRequest, signal: AbortSignal): CheckApproval =>
  async ({ candidate, stage, workspaces }) => {
    const limits = limitsOf(request, 'approve');
    if (!limits) return;
    const to = environmentOf(request);
    const refuse = (what: string): Error => notAllowed(principalOf(request), `approve:${to} ${what}`);
    const own = nameSome(limits.workspaces);
    if (stage !== undefined) throw refuse(`of stage ${stage} of a rollout, only of what changes in ${own}`);
    if (workspaces === undefined) throw refuse(`of everything, only of what changes in ${own}`);
    const foreign = workspaces.filter((workspace) => !limits.workspaces.includes(workspace));
    if (foreign.length > 0) throw refuse(`for ${nameSome(foreign)}, only for ${own}`);
    const link = linksOf(promotion).find((one) => one.to === to);
    const changes = await changesOf(hub, to, candidate, signal);
    const why = whyOutsideLimits(changes, { ...limits, workspaces }, asksByWorkspace(link));
    if (why !== undefined) throw refuse(`of this candidate, ${why}`);
  };

/** Refuses the rejection of a candidate that changes more than the caller may decide about: it would stop others. */
export const checkRejection =
  ({ hub }: Chain, request: FastifyRequest, signal: AbortSignal) =>
  async (candidate: Digest): Promise<void> => {
    const limits = limitsOf(request, 'reject');
    if (!limits) return;
    const to = environmentOf(request);
    const why = whyOutsideLimits(await changesOf(hub, to, candidate, signal), limits, false);
    if (why !== undefined) throw notAllowed(principalOf(request), `reject:${to} of this candidate, ${why}`);
  };

/** Refusals that a limited approver would get for a candidate whose gate was judged, for the page. */
export const describeLimits = async (
  { hub, link, verdict, limits }: { hub: GateHub; link: Link; verdict: Verdict; limits: Limits },
  candidate: Digest,
  signal: AbortSignal,
): Promise<{
  readonly workspaces: readonly string[];
  /** The end of a sentence about the candidate; null: nothing is against it. */
  readonly whyNotApprove: string | null;
  readonly whyNotReject: string | null;
}> => {
  const { workspaces } = limits;
  if (!['waiting', 'ready', 'paused'].includes(verdict.state))
    return { workspaces, whyNotApprove: null, whyNotReject: null };
  const changes = await changesOf(hub, link.to, candidate, signal);
  return {
    workspaces,
    whyNotApprove: whyOutsideLimits(changes, limits, asksByWorkspace(link)) ?? null,
    whyNotReject: whyOutsideLimits(changes, limits, false) ?? null,
  };
};
