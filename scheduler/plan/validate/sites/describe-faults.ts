import { FleetError, formatPlace } from '#bundles/errors';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { canonicalJson, type Json } from '#bundles/json/canonical';
import { nameSome } from '#bundles/name-some';
import { formatChannel } from '#bundles/names';
import { tieError } from '../../compose/compose-site.ts';
import type { SiteFault, TieFault, UntakenFault, ValueFault } from './judge-places.ts';
import { describePlace } from './site-places.ts';

/** One fault, with all agents that have it. */
export type SiteFinding = {
  /** `held`: a field that a site input names is gone, so that the new package reaches no site. */
  readonly kind: SiteFault['kind'] | 'held';
  readonly error: FleetError;
  /** '<site>/<agent>', a site, or the labels of an agent. */
  readonly agents: readonly string[];
  /** 'environment/cluster type'; undefined: of a tie. */
  readonly channel: string | undefined;
  readonly assignment: string | undefined;
  /** Of the value. */
  readonly name: string;
  /** Whether the repository alone is wrong: layers tie, or give a value that does not fit. Else the sites lack something, which holds only them. */
  readonly isRepository: boolean;
};

/** The bundles that the agents of a channel follow now. @param channel as formatChannel writes it */
export type ConfigsBefore = (channel: string) => readonly BundleConfig[];

const NAMES = 5;

/** Groups faults that differ only in the agent. */
export const describeFaults = (
  faults: readonly SiteFault[],
  before: ConfigsBefore = () => [],
): readonly SiteFinding[] =>
  [...Map.groupBy(faults, keyOf).values()].map((same) => {
    const real = same.filter(({ place: { known } }) => known !== 'selected' && known !== 'together');
    const [first] = (real.length > 0 ? real : same) as [SiteFault, ...SiteFault[]];
    const agents = [...new Set((real.length > 0 ? real : same).map(({ place }) => describePlace(place)))];
    const who = nameSome(agents, NAMES);
    switch (first.kind) {
      case 'tie':
        return describeTie(first, agents, who);
      case 'untaken':
        return describeUntaken(first, agents, who);
      case 'missing':
      case 'wrong':
      case 'unusable':
        return describeValue(first, agents, who, before);
    }
  });

const keyOf = (fault: SiteFault): string => {
  switch (fault.kind) {
    case 'tie': {
      const { layers, path } = fault.tie;
      return JSON.stringify([
        fault.kind,
        fault.place.known === 'together',
        layers.map(({ at }) => formatPlace(at)),
        path,
      ]);
    }
    case 'untaken':
      return JSON.stringify([fault.kind, formatChannel(fault.channel.channel), fault.name]);
    case 'missing':
    case 'wrong':
    case 'unusable': {
      const { kind, channel, assignment, name, why, at } = fault;
      return JSON.stringify([
        kind,
        formatChannel(channel.channel),
        assignment,
        name,
        why,
        at && formatPlace(at),
      ]);
    }
  }
};

const describeTie = ({ tie, place }: TieFault, agents: readonly string[], who: string): SiteFinding => ({
  kind: 'tie',
  error: tieError(tie, who),
  agents,
  channel: undefined,
  assignment: undefined,
  name: tie.path.map(String).join('.'),
  // Of agents that nobody declared it is a possibility.
  isRepository: place.known !== 'together',
});

const describeUntaken = (
  { name, channel, place }: UntakenFault,
  agents: readonly string[],
  who: string,
): SiteFinding => ({
  kind: 'untaken',
  error: new FleetError(
    'SITE_VALUES',
    `no application of ${formatChannel(channel.channel)} takes the value ${name}, which people gave ${who}`,
    {
      hint: `Remove it with: fleet-scheduler sites set ${place.agent.site} --unset ${name}, or let an application ask for it under siteInputs`,
    },
  ),
  agents,
  channel: formatChannel(channel.channel),
  assignment: undefined,
  name,
  isRepository: false,
});

const describeValue = (
  { kind, name, assignment, channel, config, why, at, place }: ValueFault,
  agents: readonly string[],
  who: string,
  before: ConfigsBefore,
): SiteFinding => {
  const named = formatChannel(channel.channel);
  const holds = `${assignment} is held there until then, and nothing else`;
  const { site } = place.agent;
  const set = `fleet-scheduler sites set ${site || '<site>'} ${name}=...`;
  const change = typeChange(name, config, before(named));
  const remedy =
    place.known === 'enrolled' ? `give it with: ${set}` : `enrol the site and give it with: ${set}`;
  const error =
    kind === 'missing'
      ? new FleetError('SITE_VALUES', `${who} has no value ${name}, which ${assignment} of ${named} needs`, {
          hint: `Set it in a Config, or ${remedy}; ${holds}`,
        })
      : new FleetError(
          'SITE_VALUES',
          `the value ${name} of ${who} does not fit ${assignment} of ${named}: ${why}${change === undefined ? '' : `; ${change}`}`,
          {
            at,
            hint: at
              ? 'Correct it there; a site keeps the values that it has until then'
              : `Correct it with: ${set}; ${holds}`,
          },
        );
  return {
    kind,
    error,
    agents,
    channel: named,
    assignment,
    name,
    isRepository: kind !== 'missing' && at !== undefined,
  };
};

/** 'its type was integer in the last release, and is string now'; undefined: it is the same, or new. */
const typeChange = (
  name: string,
  config: BundleConfig,
  before: readonly BundleConfig[],
): string | undefined => {
  const now = typeOf(config, name);
  for (const one of before) {
    const old = typeOf(one, name);
    if (old !== undefined && now !== undefined && old !== now)
      return `its type was ${old} in the last release, and is ${now} now`;
  }
  return undefined;
};

/** 'integer', or 'integer or null'; undefined: the bundle has no such input. */
const typeOf = ({ siteInputs: { schema } }: BundleConfig, name: string): string | undefined => {
  const properties = (schema['properties'] ?? {}) as Readonly<Record<string, Json>>;
  if (!Object.hasOwn(properties, name)) return undefined;
  const { type } = (properties[name] ?? {}) as { readonly type?: Json };
  if (type === undefined) return 'any';
  return [type]
    .flat()
    .map((one) => canonicalJson(one).replaceAll('"', ''))
    .join(' or ');
};
