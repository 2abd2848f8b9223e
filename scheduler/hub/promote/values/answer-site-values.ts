import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { isSameJson } from '#bundles/json/is-same-json';
import type { Json } from '#bundles/json/canonical';
import type { ValuesOfSite } from '#bundles/schemas/types/hub-decisions';
import type { Hub } from '../../hub.ts';
import { type ExplainedAgent, explainSite, type PlacedValue } from '../../questions/answers/explain-site.ts';
import { channelOf } from '../../sites/agent-record.ts';
import { type KnownNeeds, readNeeds } from '../../sites/read-needs.ts';
import { agentsWithValues } from '../../sites/agents-with-values.ts';
import { readHeld } from '../../sites/layers/compose-sites.ts';
import { readChannelLayers } from '../../sites/read-channel-layers.ts';
import { findSite } from '../../sites/set-values.ts';
import type { Allowance } from '../../sites/tokens/allowance.ts';
import type { IsHidden } from '#bundles/formats/author-schema/hidden-values';
import { readProposals, shortId } from './propose-values.ts';
import { editableBy } from './rules-for.ts';
import { readHiddenIn } from '../../sites/hidden-values.ts';
import { mayChange, seesValues, toValuesAgent, type ValuesAgent } from './values-access.ts';

type ValuesPlace = ValuesOfSite['places'][number];
/** One site input at a place: the site, or one of its agents. */
type FormValue = ValuesPlace['values'][number];

/**
 * The values that a site and its agents take, each with its schema, its origin, and whether the caller may change it.
 * @returns undefined: the caller sees no agent of the site, or there is no such site @throws FleetError the codes of the layout
 */
export const answerSiteValues = async (
  hub: Hub,
  site: string,
  allowances: readonly Allowance[],
): Promise<Omit<ValuesOfSite, 'at'> | undefined> => {
  const seen = await readSeen(hub, site, allowances);
  if (!seen) return undefined;
  const { version, channels, everyAgent, names } = seen;
  const needs = await readNeeds(hub, channels, new Map());
  const explained = (await explainSite(hub, site)).filter(({ agent }) => names.has(agent));
  const held = (await readHeld(hub.store.db)).get(site);
  const context: Context = {
    site,
    allowances,
    needs,
    isHidden: await readHiddenIn(hub, needs),
    waiting: await waitingAt(hub, site),
  };
  return {
    site,
    version,
    held: held
      ? {
          since: held.since,
          reasons: held.reasons.map(({ code, message, hint }) => ({ code, message, ...defined({ hint }) })),
        }
      : null,
    places: [
      placeOf(context, null, explained, everyAgent),
      ...explained.map((one) =>
        placeOf(
          context,
          one.agent,
          [one],
          everyAgent.filter(({ agent }) => agent === one.agent),
        ),
      ),
    ],
    untaken: explained.flatMap(({ agent, untaken }) => untaken.map((name) => ({ agent, name }))),
  };
};

/** Whether a caller sees values of a site; false also without such a site. @throws FleetError the codes of the layout */
export const seesSite = async (hub: Hub, site: string, allowances: readonly Allowance[]): Promise<boolean> =>
  (await readSeen(hub, site, allowances)) !== undefined;

/** A site and its agents. @returns undefined: the caller sees none of them. `names` are those that the caller sees */
const readSeen = async (hub: Hub, site: string, allowances: readonly Allowance[]) => {
  const { db } = hub.store;
  const enrolled = await agentsWithValues(db, site);
  const channels = enrolled.map((row) => channelOf(row));
  const { layers } = await readChannelLayers(hub, channels);
  const everyAgent = enrolled.map((row) => toValuesAgent(row, layers));
  const visible = everyAgent.filter((agent) => seesValues(allowances, agent));
  if (visible.length === 0) return undefined;
  const { version } = await findSite(db, site, undefined);
  return { version, channels, everyAgent, names: new Set(visible.map(({ agent }) => agent)) };
};

type Waiting = ReadonlyMap<string, NonNullable<FormValue['proposal']>>;

type Context = {
  readonly site: string;
  readonly allowances: readonly Allowance[];
  readonly needs: KnownNeeds;
  readonly isHidden: IsHidden;
  readonly waiting: Waiting;
};

/** Changes that wait for review, by agent and name. */
const waitingAt = async ({ store }: Hub, site: string): Promise<Waiting> =>
  new Map(
    (await readProposals(store.db, 'waiting')).flatMap(({ row, proposed }) =>
      proposed.changes
        .filter((one) => one.site === site)
        .map(
          ({ agent, name }) =>
            [JSON.stringify([agent, name]), { id: shortId(row.id), person: row.person, at: row.at }] as const,
        ),
    ),
  );

const placeOf = (
  context: Context,
  agent: string | null,
  explained: readonly ExplainedAgent[],
  reached: readonly ValuesAgent[],
): ValuesPlace => {
  const { needs, site, allowances, waiting, isHidden } = context;
  const channels = [...new Set(explained.map(({ channel }) => channel))].toSorted(compareBytes);
  const inputs = Map.groupBy(
    explained.flatMap((one) =>
      one.assignments.flatMap(({ assignment, inputs: own }) =>
        own.map((input) => ({ agent: one.agent, channel: one.channel, assignment, input })),
      ),
    ),
    ({ input }) => input.name,
  );
  const values = [...inputs].flatMap(([name, taking]): FormValue[] => {
    const schemas = taking.flatMap(({ channel }) => {
      const own = needs.get(channel)?.inputs;
      return own && Object.hasOwn(own, name) ? [{ inputs: own, schema: own[name] as Json }] : [];
    });
    const [first] = schemas;
    // A value that only siteConfig puts into a ConfigMap: no release asks for it by name.
    if (!first) return [];
    const stacks = taking.map(({ agent: at, input }) => ({
      at,
      stack: input.used ? [input.used, ...input.overrides] : [],
    }));
    const below = stacks.map(({ stack }) =>
      stack.find(({ origin }) => isBelow(origin, agent === null ? 'site' : 'agent')),
    );
    const [inherited = null] = below;
    const differs = below.some((one) => !isSameJson(one?.value, inherited?.value));
    const roles = [...new Set(schemas.map((one) => editableBy(one.inputs, name)))];
    return [
      {
        name,
        schema: first.schema,
        editableBy: roles[0] ?? null,
        editable: mayChange(allowances, { site, agents: reached }, roles),
        hidden: isHidden(name),
        given:
          stacks.flatMap(({ stack }) =>
            stack.filter((one) => one.origin === (agent === null ? 'site' : 'agent')),
          )[0] ?? null,
        inherited: differs ? null : inherited,
        differs,
        fixed:
          stacks.flatMap(({ stack }) => stack.filter(({ origin }) => origin === 'fixed layers'))[0] ?? null,
        local: stacks.flatMap(({ stack }) => stack.filter(({ origin }) => origin === 'local'))[0] ?? null,
        overriddenAt:
          agent === null
            ? [
                ...new Set(
                  stacks
                    .filter(({ stack }) => stack.some((one) => one.origin === 'agent'))
                    .map(({ at }) => at),
                ),
              ]
            : [],
        assignments: [...new Set(taking.map(({ assignment }) => assignment))].toSorted(compareBytes),
        fields: [...new Set(taking.flatMap(({ input }) => input.fields))],
        fault: taking.map(({ input }) => input.fault).find((one) => one !== undefined) ?? null,
        proposal: waiting.get(JSON.stringify([agent, name])) ?? null,
      },
    ];
  });
  return {
    agent,
    channels,
    labels: commonLabels(reached),
    values: values.toSorted((a, b) => compareBytes(a.name, b.name)),
  };
};

/** Whether a value of this origin is what a place would have without a value of its own. */
const isBelow = (origin: PlacedValue['origin'], place: 'site' | 'agent'): boolean => {
  switch (origin) {
    case 'default':
    case 'layers':
      return true;
    case 'site':
      return place === 'agent';
    case 'agent':
    case 'local':
    case 'fixed layers':
      return false;
  }
};

/** Labels that all these agents have. */
export const commonLabels = (
  agents: readonly Pick<ValuesAgent, 'labels'>[],
): Readonly<Record<string, string>> => {
  const [first, ...others] = agents;
  return Object.fromEntries(
    Object.entries(first?.labels ?? {}).filter(([key, value]) =>
      others.every(({ labels }) => Object.hasOwn(labels, key) && labels[key] === value),
    ),
  );
};
