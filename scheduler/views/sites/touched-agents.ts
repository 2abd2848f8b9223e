import { compareBytes } from '#bundles/digest';
import {
  type ChangedValue,
  changedValues,
  formatChangedValue,
} from '#bundles/formats/author-schema/changed-values';
import { valuePlaces } from '#bundles/formats/author-schema/value-places';
import { writeOnlyNames } from '#bundles/formats/author-schema/write-only-names';
import { siteFields } from '#bundles/formats/bounds/site-fields';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import type { AssignmentDiff } from '../diff/compare-environments.ts';

/** An agent's bundles and the values of its site. */
export type AgentState = { readonly configs: readonly BundleConfig[]; readonly document: SiteValues };

/** An assignment that would be applied again, and why: other values, another package, or it comes or goes. */
export type TouchedAssignment = {
  readonly assignment: string;
  readonly why: readonly ('values' | 'package' | 'added' | 'removed')[];
  /** Values that it takes and that differ; those that may be secrets are withheld. */
  readonly values: readonly ChangedValue[];
};

export type TouchedAgent = {
  readonly site: string;
  readonly agent: string;
  readonly channel: string;
  /** Without those that stay as they are. */
  readonly assignments: readonly TouchedAssignment[];
};

/** How packages of a channel differ, by assignment. Those that are the same are left out. */
export type PackageOutcomes = ReadonlyMap<string, AssignmentDiff['outcome']>;

/**
 * The assignments of an agent that a change of its bundles or values would apply again, sorted by name.
 * @param packages an assignment that is held stays as it is
 */
export const touchedAssignments = (
  agent: string,
  {
    before,
    after,
    packages,
  }: { readonly before: AgentState; readonly after: AgentState; readonly packages: PackageOutcomes },
): readonly TouchedAssignment[] => {
  const [old, now] = [packagesOf(agent, before), packagesOf(agent, after)];
  return [...new Set([...old.keys(), ...now.keys()])]
    .toSorted(compareBytes)
    .flatMap((assignment): readonly TouchedAssignment[] => {
      const outcome = packages.get(assignment);
      if (outcome === 'held') return [];
      const [one, other] = [old.get(assignment), now.get(assignment)];
      const hidden = new Set([...(one?.hidden ?? []), ...(other?.hidden ?? [])]);
      const values = changedValues(one?.values ?? {}, other?.values ?? {}, hidden);
      if (!one) return [{ assignment, why: ['added'], values }];
      if (!other) return [{ assignment, why: ['removed'], values: [] }];
      const why = [
        ...(outcome === undefined ? [] : ['package' as const]),
        ...(values.length === 0 ? [] : ['values' as const]),
      ];
      return why.length === 0 ? [] : [{ assignment, why, values }];
    });
};

type Package = {
  readonly values: Readonly<Record<string, Json>>;
  readonly hidden: ReadonlySet<string>;
};

const packagesOf = (agent: string, { configs, document }: AgentState): ReadonlyMap<string, Package> =>
  new Map(
    configs.flatMap((config) => {
      const hidden = writeOnlyNames(config.siteInputs.schema);
      return config.assignments.map(({ id }): [string, Package] => {
        const places = valuePlaces(config, document, { agent, assignment: id });
        const all = Object.fromEntries(places.flatMap(({ values }) => Object.entries(values)));
        const taken = new Set(
          siteFields(config, Object.keys(all))
            .filter(({ assignment }) => assignment === id)
            .map(({ input }) => input),
        );
        const values = Object.fromEntries(Object.entries(all).filter(([name]) => taken.has(name)));
        return [id, { values, hidden }];
      });
    }),
  );

const WHY = {
  values: 'other values',
  package: 'another package',
  added: 'it comes',
  removed: 'it is removed',
} as const;

/** Lines for people, and a last one that counts. */
export const formatTouched = (agents: readonly TouchedAgent[], all: number): readonly string[] => {
  const touched = agents.filter(({ assignments }) => assignments.length > 0);
  const packages = touched.reduce((sum, { assignments }) => sum + assignments.length, 0);
  return [
    ...touched.flatMap(({ site, agent, channel, assignments }) => [
      `${site}/${agent}  ${channel}`,
      ...assignments.flatMap(({ assignment, why, values }) => [
        `  ${assignment}  ${why.map((one) => WHY[one]).join(', ')}`,
        ...values.map((value) => `    ${formatChangedValue(value)}`),
      ]),
    ]),
    `${touched.length} of ${all} agents would change: ${packages} packages would be applied again`,
  ];
};
