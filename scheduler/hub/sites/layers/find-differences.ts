import { FleetError, formatPlace } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import type { DeclaredSite, Labels } from '../../../model/model.ts';
import { layeredAgent } from '../../../plan/compose/layered-agent.ts';
import { idleLayers } from '../../../plan/validate/sites/idle-layers.ts';
import type { AgentRow } from '../../store/tables.ts';
import { channelOf, labelsOf } from '../agent-record.ts';
import type { ChannelLayers } from '../../../plan/validate/sites/channel-layers.ts';

/**
 * Differences between what the repository declares and what is enrolled, layers that select no agent, and values that nothing takes. Each
 * is advice: the enrolment counts, and nothing is changed because of one.
 * @param agents enrolled, of all sites
 */
export const findDifferences = (
  agents: readonly AgentRow[],
  layers: ReadonlyMap<string, ChannelLayers>,
): readonly FleetError[] => {
  const found = [
    ...[...differencesBySite(agents, layers).values()].flat(),
    ...idleLayers(
      agents.flatMap((row) => {
        const name = formatChannel(channelOf(row));
        const channel = layers.get(name);
        return channel
          ? [{ agent: layeredAgent({ ...row, labels: labelsOf(row) }, channel.released), channel: name }]
          : [];
      }),
      layers,
    ),
  ];
  return [...new Map(found.map((error) => [error.message, error])).values()];
};

/** Differences between the declaration and the enrolment of each site that is declared. Sites without any are left out. */
export const differencesBySite = (
  agents: readonly AgentRow[],
  layers: ReadonlyMap<string, ChannelLayers>,
): ReadonlyMap<string, readonly FleetError[]> => {
  const declared = new Map<string, DeclaredSite>();
  for (const { released } of layers.values())
    for (const [name, site] of released?.sites ?? []) if (!declared.has(name)) declared.set(name, site);
  const bySite = Map.groupBy(agents, ({ site }) => site);
  return new Map(
    [...declared.values()].flatMap((site) => {
      const found = compareSite(site, bySite.get(site.name) ?? []);
      return found.length === 0 ? [] : [[site.name, found] as const];
    }),
  );
};

const differs = (message: string, of: Pick<FleetError, 'at' | 'hint'>) =>
  new FleetError('SITE_DIFFERS', message, of);

const compareSite = (site: DeclaredSite, enrolled: readonly AgentRow[]): readonly FleetError[] => {
  const { name, at } = site;
  if (enrolled.length === 0)
    return [
      differs(`site ${name} is declared, and no agent of it is enrolled`, {
        at,
        hint: 'Enrol it with: fleet-scheduler sites enroll <medium>, or remove the Site',
      }),
    ];
  const known = new Map(enrolled.map((row) => [row.name, row]));
  const names = new Set(site.agents.map((agent) => agent.name));
  return [
    ...site.agents.flatMap((agent) => {
      const row = known.get(agent.name);
      const id = `${name}/${agent.name}`;
      if (row) return compareAgent(site, agent, row);
      const about = { at: agent.at, hint: `Enrol it, or remove it from Site ${name}` };
      return [differs(`agent ${id} is declared, and is not enrolled`, about)];
    }),
    ...enrolled.flatMap((row) => compareLabels(row, site.labels, site)),
    ...(site.agents.length === 0
      ? []
      : enrolled
          .filter((row) => !names.has(row.name))
          .map((row) =>
            differs(`agent ${row.id} is enrolled, and Site ${name} does not declare it`, {
              at,
              hint: `Add it to Site ${name}, or revoke it`,
            }),
          )),
  ];
};

const compareAgent = (
  { name }: DeclaredSite,
  agent: DeclaredSite['agents'][number],
  row: AgentRow,
): readonly FleetError[] => {
  const channel = formatChannel(channelOf(row));
  const lacking = Object.entries(agent.labels).filter(([key]) => !Object.hasOwn(labelsOf(row), key));
  return [
    ...(agent.channel === undefined || agent.channel === channel
      ? []
      : [
          differs(`agent ${row.id} follows ${channel}, and is declared for ${agent.channel}`, {
            at: agent.at,
            hint: `The enrolment counts; move it with: fleet-scheduler sites set ${name} --agent ${agent.name} --channel ${agent.channel}`,
          }),
        ]),
    ...compareLabels(row, agent.labels, agent),
    ...lacking.map(([key, value]) =>
      differs(`agent ${row.id} is enrolled without the label ${key}=${value} that is declared for it`, {
        at: agent.at,
        hint: 'The enrolment counts; enrol it again with the label, or declare it for the whole site',
      }),
    ),
  ];
};

const compareLabels = (
  row: AgentRow,
  declared: Labels,
  { at }: Pick<DeclaredSite, 'at'>,
): readonly FleetError[] => {
  const own = labelsOf(row);
  return Object.entries(declared)
    .filter(([key, value]) => Object.hasOwn(own, key) && own[key] !== value)
    .map(([key, value]) =>
      differs(`agent ${row.id} is enrolled with ${key}=${own[key]}, and declared with ${key}=${value}`, {
        at,
        hint: 'The enrolment counts; change one of the two',
      }),
    );
};

/** One line for each difference, as commands print it. */
export const describeDifference = ({ message, at, hint }: FleetError): string =>
  `${at ? `${formatPlace(at)}: ` : ''}${message}${hint === undefined ? '' : `. ${hint}`}`;
