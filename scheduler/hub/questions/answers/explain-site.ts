import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { WITHHELD } from '#bundles/formats/author-schema/changed-values';
import { judgeSiteValues } from '#bundles/formats/author-schema/judge-site-values';
import { hiddenBy, type IsHidden } from '#bundles/formats/author-schema/hidden-values';
import { type Origin, valuePlaces } from '#bundles/formats/author-schema/value-places';
import { siteFields } from '#bundles/formats/bounds/site-fields';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import { isSameJson } from '#bundles/json/is-same-json';
import { formatChannel } from '#bundles/names';
import { didYouMean } from '#bundles/nearest-name';
import type { Hub } from '../../hub.ts';
import { channelOf, labelsOf } from '../../sites/agent-record.ts';
import type { AgentRow } from '../../store/tables.ts';
import { agentsWithValues } from '../../sites/agents-with-values.ts';
import { readHidden } from '../../sites/hidden-values.ts';
import { siteValuesOf } from '../../sites/issue-site.ts';
import { layeredAgent } from '../../../plan/compose/layered-agent.ts';
import { type ReleasedChannelLayers, readChannelLayers } from '../../sites/read-channel-layers.ts';
import { admittedLocal } from '../../sites/admitted-local.ts';
import { authorOf, readLocalInForce, type SiteEdit } from '../../sites/local-edits.ts';
import { findSite } from '../../sites/set-values.ts';
import { type DecidedValue, valuesAt } from '../../sites/values-at.ts';
import {
  type ExplainedSetting,
  findChanges,
  settingLines,
  settingsOfInput,
  withholdSetting,
} from './explain-setting.ts';
import type { Blamed, readBlame } from '../../../load/sources/read-blame.ts';
import type { ChannelLayers } from '../../../plan/validate/sites/channel-layers.ts';
import type { LayeredAgent, SiteComposition } from '../../../plan/compose/compose-site.ts';

/** A value of one place; `value` is withheld if it may be secret. Who, when and why only of values that people gave. */
export type PlacedValue = {
  readonly origin: Origin;
  readonly value: Json;
  readonly person?: string | null;
  readonly since?: string;
  readonly reason?: string | null;
  /** Of a value from layers: the settings that it is made of. A value that is no mapping or list has one. */
  readonly settings?: readonly ExplainedSetting[];
  /** The layers give another value now. Status says why the site does not have it; absent: it has theirs. */
  readonly isBehind?: true;
};

/** One site input of an assignment at an agent. */
export type ExplainedInput = {
  readonly name: string;
  /** The value that counts; undefined: no place gives one, and the field stays as the package has it. */
  readonly used: PlacedValue | undefined;
  /** The values that it overrides, the nearest first. */
  readonly overrides: readonly PlacedValue[];
  /** Fields that take it: '<file><pointer>'. */
  readonly fields: readonly string[];
  /** Why the assignment cannot be applied with it: missing, or not as the schema says. */
  readonly fault?: string;
};

export type ExplainedAssignment = { readonly assignment: string; readonly inputs: readonly ExplainedInput[] };

export type ExplainedAgent = {
  readonly agent: string;
  readonly channel: string;
  /** undefined: the channel has no release. */
  readonly release: number | undefined;
  readonly assignments: readonly ExplainedAssignment[];
  /** Values for this agent that no assignment takes. */
  readonly untaken: readonly string[];
};

type Asked = {
  readonly agent?: string | undefined;
  readonly assignment?: string | undefined;
  /** Finds who changed lines of the repository; undefined: nobody is named. */
  readonly blame?: ((asked: readonly Blamed[]) => ReturnType<typeof readBlame>) | undefined;
};

/**
 * Says for each value that assignments at a site take where it comes from, who gave it, what it overrides and which field takes it; by the
 * newest releases of the channels that its agents follow. Of a value from layers it names each layer with file and line. @throws FleetError SITE_MISSING, AGENT_UNKNOWN, USAGE for an assignment that no agent has
 */
export const explainSite = async (
  hub: Hub,
  site: string,
  { agent, assignment, blame }: Asked = {},
): Promise<readonly ExplainedAgent[]> => {
  const { db } = hub.store;
  const row = await findSite(db, site, agent);
  const document = siteValuesOf(row, hub.keys.root.fleet, site);
  const decided = (await valuesAt(db, site))?.values ?? [];
  const rows = (await agentsWithValues(db, site)).filter(({ name }) => agent === undefined || name === agent);
  const { layers } = await readChannelLayers(hub, rows.map(channelOf));
  const composed = new Map(
    rows.flatMap((enrolled) => {
      const channel = layers.get(formatChannel(channelOf(enrolled)));
      const composition = channel?.compose(layeredRow(enrolled, channel));
      return channel && composition ? [[enrolled.name, { channel, composition }] as const] : [];
    }),
  );
  const changeOf = await findChanges([...composed.values()], blame);
  const edits = await readLocalInForce(db, site);
  const { wasHidden } = (await readHidden(hub, rows))(rows);
  const explained: ExplainedAgent[] = [];
  for (const enrolled of rows) {
    const known = { document, decided, changeOf, edits, wasHidden, composed: composed.get(enrolled.name) };
    explained.push(await explainAgent(enrolled, known));
  }
  return assignment === undefined ? explained : onlyOf(assignment, explained, site);
};

/** @throws FleetError USAGE if no agent has the assignment */
const onlyOf = (
  assignment: string,
  explained: readonly ExplainedAgent[],
  site: string,
): readonly ExplainedAgent[] => {
  const known = new Set(explained.flatMap((one) => one.assignments.map(({ assignment: id }) => id)));
  if (!known.has(assignment))
    throw new FleetError('USAGE', `no agent of ${site} has an assignment ${assignment}`, {
      hint: didYouMean(assignment, [...known]) ?? 'See them without it',
    });
  return explained.map((one) => ({
    ...one,
    assignments: one.assignments.filter(({ assignment: id }) => id === assignment),
  }));
};

type KnownOfSite = {
  readonly document: SiteValues;
  readonly decided: readonly DecidedValue[];
  readonly changeOf: Awaited<ReturnType<typeof findChanges>>;
  /** Edits of people at the site that have not ended, of all its agents. */
  readonly edits: Awaited<ReturnType<typeof readLocalInForce>>;
  /** Whether a release of its agents hides a value, or an earlier one did. */
  readonly wasHidden: IsHidden;
  /** undefined: the channel of the agent has no release. */
  readonly composed:
    | {
        readonly channel: ReleasedChannelLayers;
        readonly composition: NonNullable<ReturnType<ChannelLayers['compose']>>;
      }
    | undefined;
};

const explainAgent = async (
  enrolled: AgentRow,
  { document, decided, changeOf, edits, wasHidden, composed }: KnownOfSite,
): Promise<ExplainedAgent> => {
  const { name } = enrolled;
  const { channel: found, composition } = composed ?? {};
  const assignments: ExplainedAssignment[] = [];
  const configs = found?.configs ?? [];
  const local = edits.filter((one) => one.agentName === name);
  const admitted = await admittedLocal(configs, local);
  for (const config of configs)
    for (const { id } of config.assignments) {
      const layered = composition?.assignments.get(id) ?? composition?.whole;
      const settingsOf: Place['settingsOf'] = (of) => settingsOfInput(layered, of, changeOf);
      const place = { document, decided, agent: name, local, admitted, layered, settingsOf, wasHidden };
      assignments.push({ assignment: id, inputs: await explainInputs(config, id, place) });
    }
  const taken = new Set(assignments.flatMap(({ inputs }) => inputs.map((one) => one.name)));
  const given = decided.filter((one) => one.agent === null || one.agent === name);
  return {
    agent: name,
    channel: formatChannel(channelOf(enrolled)),
    release: found?.release,
    assignments,
    untaken: found ? [...new Set(given.map((one) => one.name))].filter((one) => !taken.has(one)) : [],
  };
};

const layeredRow = (row: AgentRow, { released }: Pick<ChannelLayers, 'released'>): LayeredAgent =>
  layeredAgent({ ...row, labels: labelsOf(row) }, released);

type Place = {
  readonly document: SiteValues;
  readonly decided: readonly DecidedValue[];
  readonly agent: string;
  /** Edits of people at the site on this agent that it has not ended, and those of their values that the release admits. */
  readonly local: readonly SiteEdit[];
  readonly admitted: SiteValues['values'];
  /** The composition by the layers of the newest release. */
  readonly layered: SiteComposition | undefined;
  readonly settingsOf: (of: {
    readonly name: string;
    readonly fixed: boolean;
  }) => readonly ExplainedSetting[];
  readonly wasHidden: IsHidden;
};

const explainInputs = async (
  config: BundleConfig,
  assignment: string,
  place: Place,
): Promise<readonly ExplainedInput[]> => {
  const { schema } = config.siteInputs;
  const stack = valuePlaces(config, place.document, {
    agent: place.agent,
    assignment,
    local: place.admitted,
  });
  const names = [...new Set(stack.flatMap(({ values }) => Object.keys(values)))];
  const fields = siteFields(config, names).filter((field) => field.assignment === assignment);
  const values = Object.assign({}, ...stack.map((one) => one.values)) as SiteValues['values'];
  const inputs = new Set(fields.map(({ input }) => input));
  const { faults } = await judgeSiteValues(schema, values, inputs);
  const hides = hiddenBy([schema]);
  return [...Map.groupBy(fields, ({ input }) => input)].map(([name, taking]) => {
    const given = stack
      .filter((one) => Object.hasOwn(one.values, name))
      .map(({ origin, values: own }): PlacedValue => {
        const by = decidedOf(place, origin, name);
        const isHidden = hides(name) || place.wasHidden(name);
        const value = isHidden ? WITHHELD : (own[name] ?? null);
        return {
          origin,
          value,
          ...(by && { person: by.person, since: by.since, reason: by.reason }),
          ...layeredPart(place, origin, name, { own: own[name], isHidden }),
        };
      })
      .toReversed();
    const [used, ...overrides] = given;
    return {
      name,
      used,
      overrides,
      fields: taking.map(({ file, pointer }) => `${file}${pointer}`),
      ...defined({ fault: faults.get(name)?.why }),
    };
  });
};

/** The settings of a value from layers. While the layers give another one than the site has, they are not those of its value. */
const layeredPart = (
  { layered, settingsOf }: Place,
  origin: Origin,
  name: string,
  { own, isHidden }: { readonly own: Json | undefined; readonly isHidden: boolean },
): Pick<PlacedValue, 'settings' | 'isBehind'> => {
  if (origin !== 'layers' && origin !== 'fixed layers') return {};
  const now = origin === 'layers' ? layered?.values : layered?.fixed;
  if (!now || !Object.hasOwn(now, name) || !isSameJson(now[name], own)) return { isBehind: true };
  const settings = settingsOf({ name, fixed: origin === 'fixed layers' });
  return { settings: isHidden ? settings.map(withholdSetting) : settings };
};

type Decided = Pick<DecidedValue, 'person' | 'since' | 'reason'>;

const decidedOf = ({ decided, agent, local }: Place, origin: Origin, name: string): Decided | undefined => {
  if (origin === 'local') {
    const edit = local.find((one) => one.name === name);
    return edit && { person: authorOf(edit), since: edit.at, reason: edit.reason };
  }
  if (origin !== 'site' && origin !== 'agent') return undefined;
  const whose = origin === 'site' ? null : agent;
  return decided.find((one) => one.agent === whose && one.name === name);
};

/** Lines for people. */
export const formatSite = (site: string, agents: readonly ExplainedAgent[]): readonly string[] =>
  agents.flatMap(({ agent, channel, release, assignments, untaken }) => [
    `${site}/${agent}  ${channel}  ${release === undefined ? 'no release yet' : `release ${release}`}`,
    ...assignments.flatMap(({ assignment, inputs }) => [
      `  ${assignment}${inputs.length === 0 ? '  takes no value of the site' : ''}`,
      ...inputs.flatMap((one) => inputLines(one)),
    ]),
    ...untaken.map((name) => `  ! ${name} is given, and no assignment takes it`),
  ]);

const inputLines = ({ name, used, overrides, fields, fault }: ExplainedInput): readonly string[] => [
  `    ${name} = ${used ? describePlaced(used) : 'none: the field stays as the package has it'}`,
  ...(used?.settings ?? []).flatMap((setting) => settingLines(setting, '      ')),
  ...overrides.flatMap((one) => [
    `      overrides ${describePlaced(one)}`,
    ...(one.settings ?? []).flatMap((setting) => settingLines(setting, '        ')),
  ]),
  ...fields.map((field) => `      to ${field}`),
  ...(fault === undefined ? [] : [`      ! ${fault}`]),
];

const describePlaced = ({ origin, value, person, since, reason, isBehind }: PlacedValue): string => {
  const by =
    since === undefined ? '' : `, by ${person ?? 'a rule'} at ${since}${reason ? `: ${reason}` : ''}`;
  const behind = isBehind ? ', which the layers no longer give: see sites list' : '';
  return `${JSON.stringify(value)}  from ${origin}${by}${behind}`;
};
