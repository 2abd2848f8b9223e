import { FleetError, type Place } from '#bundles/errors';
import type { ValuesReview } from '../../../settings/values-review.ts';
import type { Hub } from '../../hub.ts';
import { checkValues, readTakers, type Takers } from '../../sites/check-values.ts';
import { setManyValues } from '../../sites/set-many-values.ts';
import { agentUnknown, siteMissing, type ValueChange } from '../../sites/set-values.ts';
import { policiesFor } from '../../sites/values-policies.ts';
import type { StoredRollout } from '../../sites/values-rollout.ts';
import { siteSigner } from '../../sites/site-signer.ts';
import type { SiteRow, Tx } from '../../store/tables.ts';
import { type JudgedProposal, judgeProposal } from './judge-proposal.ts';
import { proposeValues } from './propose-values.ts';
import { placesOf, rulesFor } from './rules-for.ts';

/** A change of one site, or of one of its agents, and the line of a file that asks for it. */
export type AskedChange = { readonly change: ValueChange; readonly at?: Place };

export type CheckedChanges = {
  /** Those that fit, with text that is a number where the site input takes one (checkValues). */
  readonly changes: readonly ValueChange[];
  /** One for each that does not; its subject is the site, or '<site>/<agent>'. */
  readonly problems: readonly FleetError[];
};

/** Checks changes against the sites that are known and the newest releases that they follow. */
export const checkChanges = async (
  hub: Hub,
  asked: readonly AskedChange[],
  allowUnknown: boolean,
): Promise<CheckedChanges> => {
  const sites = await readTakers(
    hub.store.db,
    asked.map(({ change }) => change.site),
  );
  const known = { needs: new Map(), sites };
  const problems: FleetError[] = [];
  const changes: ValueChange[] = [];
  for (const { change, at } of asked) {
    try {
      requireTaker(sites, change);
      changes.push({ ...change, set: await checkValues(hub, change, allowUnknown, known) });
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      const { code, message, hint } = error;
      const who = change.agent === undefined ? change.site : `${change.site}/${change.agent}`;
      problems.push(new FleetError(code, message, { subject: who, at, hint, cause: error }));
    }
  }
  return { changes, problems };
};

/** @throws FleetError SITE_MISSING, AGENT_UNKNOWN */
const requireTaker = ({ rows, agents }: Takers, { site, agent }: ValueChange): void => {
  if (!rows.has(site)) throw siteMissing(site);
  if (agent !== undefined && !agents.get(site)?.some(({ name }) => name === agent))
    throw agentUnknown(site, agent);
};

export type ChangeTerms = {
  readonly allowUnknown: boolean;
  readonly now: Date;
  /** Changes that need approvals are proposed, and not made; undefined: none does. */
  readonly review: ValuesReview | undefined;
  /** Name of the change in the audit log; 'sites set' without. */
  readonly change?: string;
  /** Runs first in the transaction, and ends it by an error. */
  readonly within?: ((tx: Tx) => Promise<void>) | undefined;
  /** The hub decides, although changes of values are decided in the repository. */
  readonly here?: boolean | undefined;
  /** Withdraws changes that wait at these sites for the stage of a rollout. */
  readonly withdraw?: readonly string[] | undefined;
};

/**
 * Proposes checked changes that the review wants approvals of. @returns undefined: they may be made at once, or nothing differs
 * @throws FleetError VALUES_CHANGED
 */
export const proposeIfReviewed = async (
  hub: Hub,
  changes: readonly ValueChange[],
  { review, now, allowUnknown, within }: ChangeTerms,
): Promise<JudgedProposal | undefined> => {
  if ((await rulesFor(hub, review, placesOf(changes))).length === 0) return undefined;
  const proposal = await proposeValues(hub, changes, { now, allowUnknown, within });
  return proposal && (await judgeProposal(hub, proposal, review));
};

/** Whether values are decided in the repository of the platform, and not at the hub. */
export const decidesInRepository = (review: ValuesReview | undefined): boolean =>
  review?.write !== undefined && review.write !== 'hub';

/** @throws FleetError USAGE if values are decided in the repository */
export const refuseForRepository = (review: ValuesReview | undefined): void => {
  if (!decidesInRepository(review)) return;
  throw new FleetError('USAGE', 'values of sites are decided in the repository of the platform here', {
    hint: 'Change the Config in that repository, or run fleet-scheduler sites set or sites import, which write it there; with --here, sites set and sites import change the values at the hub',
  });
};

export type DecidedChanges =
  | { readonly kind: 'proposed'; readonly proposal: JudgedProposal }
  /** `rows`: sites with another statement, which the layout does not have yet. */
  | {
      readonly kind: 'made';
      readonly rows: readonly SiteRow[];
      /** Rollouts that bring the change to the other sites. */
      readonly rollouts: readonly StoredRollout[];
    };

/**
 * Makes checked changes at once or in the stages of their environment, or proposes them where the review wants approvals: all of them or none, by the person and reason of the store.
 * @throws FleetError VALUES_CHANGED, SITE_MISSING, AGENT_UNKNOWN; USAGE where the repository decides; the codes of signing
 */
export const decideValues = async (
  hub: Hub,
  changes: readonly ValueChange[],
  terms: ChangeTerms,
): Promise<DecidedChanges> => {
  if (terms.here !== true) refuseForRepository(terms.review);
  const proposal = await proposeIfReviewed(hub, changes, terms);
  if (proposal) return { kind: 'proposed', proposal };
  const { review: _, here: __, ...more } = terms;
  const [signer, policies] = [await siteSigner(hub), await policiesFor(hub)];
  const { sites: rows, rollouts } = await setManyValues(hub.store, { changes, signer, policies, ...more });
  return { kind: 'made', rows, rollouts };
};
