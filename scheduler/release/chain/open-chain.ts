import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import type { PromotionPredicate } from '#bundles/formats/statements/predicates';
import type { TrustRoot } from '#bundles/trust/root/root';
import { checkSources } from '../../assemble/candidate/check-candidate.ts';
import { type GivenCandidate, isOwn } from '../../assemble/candidate/given-candidate.ts';
import { lockedSources } from '../../assemble/candidate/locked-sources.ts';
import { promotedSources } from '../../assemble/candidate/promoted-sources.ts';
import { readCandidate } from '../../assemble/candidate/read-candidate.ts';
import { sharedDigest } from '../../assemble/candidate/shared-digest.ts';
import type { Root } from '../../load/load-platform.ts';
import { loadPromotion } from '../../load/platform/load-promotion.ts';
import {
  type AuditLog,
  EMPTY_LOG,
  promotedTo,
  readAuditLog,
  rejectionOf,
} from '../../load/releases/audit-log.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import { createProblems } from '../../model/problems.ts';
import type { Promoted, Promotion, PromotionPolicy } from '../../model/promotion.ts';
import { readSubmitted, submittedTo } from './submitted.ts';

/** The source of a build of one environment of the chain. */
export type Place =
  /** From the newest state: the first environment of a chain, or one outside of it. */
  | {
      readonly kind: 'newest';
      readonly isLinked: boolean;
      /** The candidate that a pipeline submitted: it is built instead of the newest state, until another one is submitted. */
      readonly submitted: GivenCandidate | undefined;
    }
  /** From the promoted candidate, with the newest layer of the environment. */
  | {
      readonly kind: 'promoted';
      readonly promoted: Promoted;
      /** Candidate to build: the promoted one, or the environment's own that was made from it. */
      readonly candidate: GivenCandidate;
      /** Sources that read what `candidate` names, as far as it was promoted. */
      readonly sourcesOf: (newest: Sources) => Sources;
      readonly direct: PromotionPolicy['direct'];
      readonly decision: Decision;
    }
  /** Not built: NOT_PROMOTED. */
  | { readonly kind: 'waiting'; readonly why: FleetError }
  /** Not built: mistakes in promotion/. */
  | { readonly kind: 'invalid'; readonly problems: readonly FleetError[] };

/** Why the candidate was promoted, for people. */
export type Decision = {
  readonly statement: PromotionPredicate;
  /** The policy of the link as it is now. */
  readonly policy: PromotionPolicy | undefined;
  /** The candidate that was promoted before; undefined for the first one. */
  readonly before: Digest | undefined;
};

export type Chain = {
  /** @param given what --candidate names @throws FleetError NOT_PROMOTED for another candidate than the promoted one */
  readonly placeOf: (environment: string, given: GivenCandidate | undefined) => Promise<Place>;
};

/** The chain's entry in the bundle statements of an environment, and whether it is required. */
export type BuildLineage = {
  readonly shared: Digest;
  /** Undefined for an environment without promotions. */
  readonly promoted: Digest | undefined;
  /**
   * True for a link of the chain: a channel gets a new release if its statement changed, even if its bundle did not. Otherwise a
   * change that only a later environment notices could never be promoted.
   */
  readonly isLinked: boolean;
  /** Whether a bundle may change without a promotion. */
  readonly direct: PromotionPolicy['direct'];
};

export const lineageOf = (place: Place, shared: Digest): BuildLineage =>
  place.kind === 'promoted'
    ? { shared, promoted: place.promoted.shared, isLinked: true, direct: place.direct }
    : { shared, promoted: undefined, isLinked: place.kind === 'newest' && place.isLinked, direct: 'allow' };

/** The chain and policies of a platform, and the mistakes in them. */
export type Policies = { readonly promotion: Promotion; readonly problems: readonly FleetError[] };

/** @param sources reads the newest state: the policies are part of no candidate */
export const loadPolicies = async (sources: Sources, root: Root): Promise<Policies> => {
  const problems = createProblems();
  return { promotion: await loadPromotion(sources, root, problems), problems: problems.found };
};

export type ChainInput = {
  /** Of the newest state. */
  readonly root: Root;
  /** Called only if an environment is chained. */
  readonly policies: () => Promise<Policies>;
  /** Directory of the layout with the audit log and the candidates; undefined: nothing is known to be promoted. */
  readonly layout: string | undefined;
  /** All roots of the fleet, oldest first. */
  readonly roots: readonly TrustRoot[];
  readonly signal: AbortSignal;
};

/**
 * Opens the chain of a platform with its promotions so far.
 * @returns undefined for a platform without `promotedFrom` to which no candidate was submitted
 * @throws FleetError the codes of readAuditLog, if an environment is chained and the log is damaged
 */
export const openChain = async (input: ChainInput): Promise<Chain | undefined> => {
  const { root } = input;
  const entries = root.form === 'fleet' ? root.fleet.entries : [];
  const isChained = entries.some(({ promotedFrom }) => promotedFrom !== undefined);
  if (!isChained && (input.layout === undefined || root.form !== 'fleet')) return undefined;
  const layout = input.layout === undefined ? undefined : await openOrStartLayout(input.layout);
  const log = layout ? await readAuditLog(layout, input.roots) : EMPTY_LOG;
  if (!isChained && !entries.some(({ name }) => submittedTo(log, name) !== undefined)) return undefined;
  const { promotion, problems } = await input.policies();
  return {
    placeOf: async (environment, given) => {
      const before = entries.find(({ name }) => name === environment)?.promotedFrom;
      if (before === undefined)
        return {
          kind: 'newest',
          isLinked: entries.some(({ promotedFrom }) => promotedFrom === environment),
          submitted: given ? undefined : await readSubmitted(layout, log, environment, input.signal),
        };
      if (problems.length > 0) return { kind: 'invalid', problems };
      const last = promotedTo(log, environment);
      if (!last) {
        const why = notPromoted(
          environment,
          `no candidate was promoted from ${before} to ${environment} yet`,
        );
        if (given) throw why;
        return { kind: 'waiting', why };
      }
      const { from, to, number, shared } = last;
      const rejection = rejectionOf(log.entries, environment, shared);
      if (rejection !== undefined) {
        const why = rejected(to, last.candidate, rejection);
        if (given) throw why;
        return { kind: 'waiting', why };
      }
      const promoted: Promoted = { from, to, number, candidate: last.candidate, shared };
      const base = await readCandidate(promoted.candidate, layout ? [layout.blobs] : [], input.signal);
      checkNamed(base, promoted);
      if (given) checkGiven(given, base, promoted);
      // The environment's own candidate, made from the promoted one, may be built again.
      const own = given && isOwn(given, environment) ? given : undefined;
      return {
        kind: 'promoted',
        promoted,
        candidate: own ?? base,
        sourcesOf: (newest) =>
          promotedSources(own ? lockedSources(newest, own, environment) : newest, base, environment),
        direct: policyOf(promotion, environment)?.direct ?? 'allow',
        decision: {
          statement: last.predicate,
          policy: policyOf(promotion, environment),
          before: promotedBefore(log, environment, number)?.candidate,
        },
      };
    },
  };
};

const policyOf = ({ promotionPolicies }: Promotion, environment: string): PromotionPolicy | undefined =>
  promotionPolicies.find(({ to }) => to === environment);

const promotedBefore = ({ entries }: AuditLog, environment: string, number: number) =>
  promotedTo(
    {
      entries: entries.filter(
        (entry) =>
          entry.kind === 'promotion' && entry.predicate.to === environment && entry.predicate.number < number,
      ),
    },
    environment,
  );

/**
 * Checks that a promotion's candidate has the shared digest that it names.
 * @throws FleetError NOT_PROMOTED
 */
const checkNamed = ({ document, digest }: GivenCandidate, { from, to, shared, number }: Promoted): void => {
  if (document.environment === from && sharedDigest(document) === shared) return;
  throw notPromoted(
    to,
    `promotion ${number} to ${to} names candidate ${shortDigest(digest)}, which differs from the content that it names for ${from}`,
  );
};

/** @throws FleetError NOT_PROMOTED unless the candidate is the promoted one, or the environment's own made from it */
const checkGiven = (
  given: GivenCandidate,
  promoted: GivenCandidate,
  { from, to, shared }: Promoted,
): void => {
  const { environment } = given.document;
  if (environment === from && sharedDigest(given.document) === shared) return;
  const refusal = (): FleetError =>
    notPromoted(
      to,
      `candidate ${shortDigest(given.digest)} was not promoted to ${to}; ${shortDigest(promoted.digest)} was`,
      environment === from ? ` --candidate ${given.digest}` : '',
    );
  const own = promoted.document.sources.map(({ role, path }) => `${role}\0${path}`);
  const isForeign = given.document.sources.some(
    ({ role, path }) => role === 'platform' && !own.includes(`${role}\0${path}`),
  );
  if (environment !== to || given.document.parent !== promoted.digest || isForeign) throw refusal();
  try {
    checkSources(promoted, given.document.sources, to, false);
  } catch (error) {
    if (isFleetError(error, 'CANDIDATE_MISMATCH')) throw refusal();
    throw error;
  }
};

export const notPromoted = (to: string, message: string, flags = ''): FleetError =>
  new FleetError('NOT_PROMOTED', message, {
    subject: to,
    hint: `Promote with: fleet-scheduler promote ${to}${flags}`,
  });

const rejected = (to: string, candidate: Digest, rejection: string): FleetError =>
  new FleetError('NOT_PROMOTED', `the promoted candidate ${shortDigest(candidate)} was ${rejection}`, {
    subject: to,
    hint: `Promote another candidate with: fleet-scheduler promote ${to}; or go back with: fleet-scheduler rollback ${to}`,
  });

/** Error for a promoted candidate whose sources no longer match; its hint says how to restore them. */
export const cannotBuildPromoted = (to: string, { message, hint }: FleetError): FleetError => {
  const promote = `promote another candidate with: fleet-scheduler promote ${to}`;
  return new FleetError('NOT_PROMOTED', message, {
    subject: to,
    hint: hint === undefined ? `Restore it, or ${promote}` : `${hint}, or ${promote}`,
  });
};
