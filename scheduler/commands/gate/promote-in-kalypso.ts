import { Flags } from '@oclif/core';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { identityOf } from '../../deliver/git/commit-identity.ts';
import { type DeliveredBase, deliverBase } from '../../deliver/kalypso/deliver-base.ts';
import {
  type BasePromotion,
  type BasePromotionRequest,
  planBasePromotion,
} from '../../deliver/kalypso/promote-base.ts';
import type { KalypsoRoot } from '../../load/kalypso/find-environments.ts';
import { readRoot } from '../../load/load-platform.ts';
import type { PlatformOptions } from '../../load/platform/load-options.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import type { Configuration } from '../../settings/configuration.ts';

/** Flags of promote for a control plane in Kalypso's form. */
export const kalypsoFlags = {
  from: Flags.string({ description: "Kalypso's form: the environment whose BaseRepo commit is promoted" }),
  commit: Flags.string({
    description: "Kalypso's form: a commit of the BaseRepo's branch, for the first environment",
  }),
  'pull-request': Flags.boolean({
    description:
      "Kalypso's form: propose the commit on a branch of its own, and open a pull request where a token is given",
  }),
  forge: Flags.string({
    description: "Kalypso's form: github, gitea, gitlab or azure, with =<address of its API>",
  }),
  committer: Flags.string({ description: "Kalypso's form: author and committer, as 'Name <address>'" }),
  'sign-commits': Flags.boolean({ description: "Kalypso's form: sign commits with git's own settings" }),
};

export type KalypsoFlags = {
  readonly from?: string | undefined;
  readonly commit?: string | undefined;
  readonly 'pull-request': boolean;
  readonly explain: boolean;
  readonly reason?: string | undefined;
  readonly candidate?: string | undefined;
};

/** The control plane of a platform in Kalypso's form. @throws FleetError the platform's first problem */
export const findKalypsoRoot = async (
  platform: string,
  sources: Sources,
): Promise<KalypsoRoot | undefined> => {
  const root = await readRoot(platform, sources);
  return root.form === 'kalypso' ? root.kalypso : undefined;
};

/** @throws FleetError USAGE for flags that only a control plane in Kalypso's form has */
export const refuseKalypsoFlags = (flags: Readonly<Record<string, unknown>>): void => {
  const given = Object.keys(kalypsoFlags).find((name) => flags[name] !== undefined && flags[name] !== false);
  if (given === undefined) return;
  throw new FleetError('USAGE', `--${given} is for a control plane in Kalypso's form`, {
    hint: 'In a platform with fleet.yaml, promotedFrom determines the promoted environment; --publish delivers the tree',
  });
};

export type KalypsoPromotion = {
  readonly lines: readonly string[];
  /** Why the commit status could not be set. The promotion is written. */
  readonly problem: FleetError | undefined;
  readonly json: object;
};

type Access = PlatformOptions & {
  readonly sources: Sources;
  readonly configuration: Configuration;
  readonly person: string;
  readonly now: Date;
  readonly signal: AbortSignal;
};

/** Promotes in a control plane of Kalypso's form. @returns the result, as text and as data */
export const promoteInKalypso = async (
  root: KalypsoRoot,
  to: string,
  flags: KalypsoFlags,
  { configuration, person, now, signal, ...options }: Access,
): Promise<KalypsoPromotion> => {
  const plan = await planBasePromotion(options, root, requestOf(to, flags));
  const env = { ...options.env };
  const done = await deliverBase(plan, {
    pullRequest: flags['pull-request'],
    forge: configuration.forge,
    identity: identityOf(configuration),
    cacheDirectory: options.cacheDirectory,
    connection: registryOptions({ ...configuration, env }),
    env,
    person,
    reason: flags.reason,
    dryRun: flags.explain,
    now,
    signal,
  });
  const { problem, ...rest } = done;
  const { files: _, ...planned } = plan;
  return { lines: linesOf(plan, done), problem, json: { ...planned, ...rest } };
};

const COMMIT = /^(?:[0-9a-f]{40}|[0-9a-f]{64})$/;

const requestOf = (to: string, { from, commit, candidate }: KalypsoFlags): BasePromotionRequest => {
  if (candidate !== undefined)
    throw new FleetError('USAGE', 'a control plane in Kalypso’s form has commits and no candidates', {
      hint: 'Give --from <environment>, or --commit <id>',
    });
  if (from !== undefined && commit !== undefined)
    throw new FleetError('USAGE', '--from and --commit exclude each other', {
      hint: 'Give --commit for the first environment, and --from for the others',
    });
  if (from !== undefined) return { to, from };
  if (commit !== undefined && COMMIT.test(commit)) return { to, commit };
  throw new FleetError(
    'USAGE',
    commit === undefined ? `the commit to promote to ${to} is missing` : `${commit} is not a whole commit id`,
    {
      hint: 'Give --from <environment before>, or for the first environment --commit <id of 40 digits>: Kalypso’s repositories do not say the chain',
    },
  );
};

const linesOf = (plan: BasePromotion, done: DeliveredBase): readonly string[] => [
  ...plan.promoted.map(
    ({ name, before, commit }) =>
      `${plan.to}: BaseRepo ${name} ${before?.slice(0, 12) ?? 'not pinned'} -> ${commit.slice(0, 12)}`,
  ),
  `${plan.to}: ${describeOutcome(plan, done)}`,
  ...(done.superseded.length > 0 ? [`${plan.to}: superseded ${nameSome(done.superseded)}`] : []),
  ...done.statuses.map(
    (commit) => `${plan.to}: status "${plan.to} environment" set on ${commit.slice(0, 12)}`,
  ),
];

const describeOutcome = ({ branch }: BasePromotion, done: DeliveredBase): string => {
  switch (done.outcome) {
    case 'pushed':
      return `${branch} pushed ${done.commit?.slice(0, 12)}`;
    case 'proposed':
      return `${branch} proposed by ${done.pullRequest ?? done.proposal}`;
    case 'unchanged':
      return done.proposal === undefined
        ? `${branch} has it already`
        : `${branch} proposed already by ${done.pullRequest ?? done.proposal}`;
    case 'declined':
      return `${branch} declined: ${done.pullRequest ?? done.proposal} was closed without merging`;
    case 'planned':
      return `${branch} would change`;
  }
};
