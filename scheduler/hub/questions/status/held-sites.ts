import { defined } from '#bundles/defined';
import { type FleetError, formatError, formatPlace } from '#bundles/errors';
import { seesWhole, type Visible } from '../../people/visible.ts';
import type { HeldSite } from '../../sites/layers/compose-sites.ts';
import type { ActualAgent } from '../state/what-runs-where.ts';

/** One reason, for programs. */
type Reason = {
  readonly code: string;
  readonly message: string;
  /** '<file>:<line>:<column>' */
  readonly at?: string;
  /** The remedy. */
  readonly hint?: string;
};

/** Reasons that hold the values of a site, for programs: HeldSite. */
export type HeldValues = {
  readonly since: string;
  readonly reasons: readonly Reason[];
  readonly lacking: readonly Reason[];
  readonly differs: readonly Reason[];
};

export const heldValues = (held: HeldSite | undefined): HeldValues | undefined =>
  held && {
    since: held.since,
    reasons: held.reasons.map(toReason),
    lacking: held.lacking.map(toReason),
    differs: held.differs.map(toReason),
  };

const toReason = ({ code, message, at, hint }: FleetError): Reason =>
  defined({ code, message, at: at && formatPlace(at), hint });

/** In the order of the map. */
export const heldSites = (
  held: ReadonlyMap<string, HeldSite>,
): readonly (HeldValues & { readonly site: string })[] =>
  [...held].flatMap(([site, one]) => {
    const values = heldValues(one);
    return values ? [{ site, ...values }] : [];
  });

/** Lines below the table of a status: which sites something holds since when, why, and what to do. */
export const describeHeldSites = (held: ReadonlyMap<string, HeldSite>): readonly string[] =>
  [...held].flatMap(([site, { since, reasons, lacking, differs }]) => [
    ...reasons.map((error) => `${site} keeps its values since ${since}: ${formatError(error)}`),
    ...lacking.map((error) => `${site} lacks a value since ${since}: ${formatError(error)}`),
    ...differs.map((error) => `${site} differs from the repository: ${formatError(error)}`),
  ]);

/** Sites of agents whose whole environment the reader may see. */
export const wholeSites = (
  agents: readonly Pick<ActualAgent, 'site' | 'channel'>[],
  visible: Visible | undefined,
): readonly string[] => [
  ...new Set(agents.filter(({ channel }) => seesWhole(visible, channel.environment)).map(({ site }) => site)),
];
