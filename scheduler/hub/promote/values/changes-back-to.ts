import { FleetError } from '#bundles/errors';
import { valueDifferences } from '#bundles/formats/author-schema/decided-values';
import type { Timestamp } from '#bundles/time';
import type { Hub } from '../../hub.ts';
import { agentsWithValues } from '../../sites/agents-with-values.ts';
import { siteValuesOf } from '../../sites/issue-site.ts';
import { findSite, type ValueChange } from '../../sites/set-values.ts';
import { valuesAt, valuesVersions } from '../../sites/values-at.ts';

export type ChangesBack = {
  /** Version of the values that the site has then. */
  readonly target: number;
  /** Of the site first, then of its agents. Values that it did not have then are removed. */
  readonly changes: readonly ValueChange[];
  /** Agents with other values then that are not enrolled any more: theirs stay. */
  readonly gone: readonly string[];
};

/**
 * The changes that give a site the values of an earlier version, or time. @throws FleetError SITE_MISSING; USAGE for a version or time that the
 * record does not have
 */
export const changesBackTo = async (
  hub: Hub,
  site: string,
  until: { readonly version: number } | { readonly at: Timestamp },
): Promise<ChangesBack> => {
  const { db, fleet } = hub.store;
  const row = await findSite(db, site, undefined);
  const target = await valuesAt(db, site, until);
  if (!target || ('version' in until && until.version > row.version)) {
    const versions = await valuesVersions(db, site, 10);
    const asked = 'version' in until ? until.version : until.at;
    throw new FleetError('USAGE', `no values of ${site} are recorded for ${asked}`, {
      hint: `Versions are ${versions.map(({ version, at }) => `${version} of ${at}`).join(', ') || 'none'}`,
    });
  }
  const enrolled = new Set((await agentsWithValues(db, site)).map(({ name }) => name));
  const byAgent = Map.groupBy(
    valueDifferences(siteValuesOf(row, fleet, site), target.document),
    ({ agent }) => agent,
  );
  const isGone = (agent: string | undefined): boolean => agent !== undefined && !enrolled.has(agent);
  return {
    target: target.version,
    gone: [...byAgent.keys()].flatMap((agent) => (agent !== undefined && isGone(agent) ? [agent] : [])),
    changes: [...byAgent].flatMap(([agent, values]): ValueChange[] => {
      if (isGone(agent)) return [];
      const set = values.flatMap(({ name, new: value }) =>
        value === undefined ? [] : [[name, value] as const],
      );
      const unset = values.flatMap(({ name, new: value }) => (value === undefined ? [name] : []));
      return [{ site, agent, set: Object.fromEntries(set), unset }];
    }),
  };
};
