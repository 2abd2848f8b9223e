import { judgeSiteValues } from '#bundles/formats/author-schema/judge-site-values';
import { numberIn } from '#bundles/formats/author-schema/parse-value';
import type { Json } from '#bundles/json/canonical';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { formatChannel } from '#bundles/names';
import { didYouMean } from '#bundles/nearest-name';
import type { Hub } from '../hub.ts';
import { channelOf } from './agent-record.ts';
import { siteValuesOf } from './issue-site.ts';
import { parts } from '../store/parts.ts';
import type { AgentRow, Database, SiteRow } from '../store/tables.ts';
import { type KnownNeeds, type Needs, readNeeds } from './read-needs.ts';
import type { ValueChange } from './set-values.ts';

/** Records of sites, and the agents there that take values. */
export type Takers = {
  readonly rows: ReadonlyMap<string, SiteRow>;
  readonly agents: ReadonlyMap<string, readonly AgentRow[]>;
};

/** Facts that checks of several changes share. */
export type KnownValues = {
  readonly needs: KnownNeeds;
  /** Of all sites that the changes name; undefined: each check reads its site. */
  readonly sites?: Takers;
};

/** Reads the records of sites, and their agents that take values, in a few statements. */
export const readTakers = async (db: Database, sites: readonly string[]): Promise<Takers> => {
  const rows: SiteRow[] = [];
  const agents: AgentRow[] = [];
  for (const names of parts([...new Set(sites)])) {
    rows.push(...(await db.selectFrom('site').selectAll().where('name', 'in', names).execute()));
    agents.push(
      ...(await db
        .selectFrom('agent')
        .selectAll()
        .where('site', 'in', names)
        .where('revoked_at', 'is', null)
        .execute()),
    );
  }
  return {
    rows: new Map(rows.map((row) => [row.name, row])),
    agents: Map.groupBy(agents, ({ site }) => site),
  };
};

/**
 * Checks values against the newest releases of the channels that the site's agents follow: a value must match the schema of its
 * site input, and at least one release must have an input of that name. Channels without a release are ignored.
 * @param allowUnknown accepts names that no release asks for, for a future release
 * @param known what was read for other sites, or for all of them
 * @returns the values to set: text like 0.5 is the number where every site input of that name takes a number and no text
 * @throws FleetError SITE_VALUES, without the value in the message
 */
export const checkValues = async (
  hub: Hub,
  { site, agent, set, terms }: ValueChange,
  allowUnknown: boolean,
  known: KnownValues = { needs: new Map() },
): Promise<ValueChange['set']> => {
  const { db } = hub.store;
  const facts = known.sites ?? (await readTakers(db, [site]));
  const agents = facts.agents.get(site) ?? [];
  const own = siteValuesOf(facts.rows.get(site), hub.keys.root.fleet, site).agents;
  const readers = agents
    .filter(({ name }) => agent === undefined || name === agent)
    .map((it) => ({ name: it.name, channel: terms?.channel ?? channelOf(it) }));
  const needs = await readNeeds(
    hub,
    readers.map(({ channel }) => channel),
    known.needs,
  );
  const fitted: Record<string, Json> = {};
  for (const [name, value] of Object.entries(set)) {
    // An agent's own value overrides the site's.
    const taking =
      agent === undefined ? readers.filter((it) => !Object.hasOwn(own[it.name] ?? {}, name)) : readers;
    const channels = new Set(taking.map(({ channel }) => formatChannel(channel)));
    fitted[name] = await fitValue(
      name,
      value,
      [...channels].map((channel) => needs.get(channel)),
      allowUnknown,
    );
  }
  return fitted;
};

const fitValue = async (
  name: string,
  value: Json,
  needs: readonly (Needs | undefined)[],
  allowUnknown: boolean,
): Promise<Json> => {
  const released = needs.filter((it) => it !== undefined);
  const asking = released.filter(({ inputs }) => Object.hasOwn(inputs, name));
  if (asking.length === 0 && released.length > 0 && released.length === needs.length && !allowUnknown) {
    const names = released.flatMap(({ inputs }) => Object.keys(inputs));
    const asked = names.length === 0 ? 'It asks for none' : `It asks for ${nameSome([...new Set(names)])}`;
    throw new FleetError(
      'SITE_VALUES',
      `${nameSome(released.map(({ release }) => release))} asks for no value ${name}`,
      {
        subject: name,
        hint: `${didYouMean(name, names) ?? ''}${asked}; --allow-unknown sets a value for a release that is still to come`,
      },
    );
  }
  const judge = async ({ inputs }: Needs, one: Json): Promise<string | undefined> => {
    const schema = { type: 'object', properties: { [name]: inputs[name] ?? {} } };
    const { wrong, faults } = await judgeSiteValues(schema, { [name]: one });
    const fault = faults.get(name);
    return fault?.kind === 'unusable' ? wrong : (fault?.why ?? wrong);
  };
  const wrongOf = async (one: Json) => {
    for (const need of asking) {
      const wrong = await judge(need, one);
      if (wrong !== undefined) return { need, wrong };
    }
    return undefined;
  };
  const found = await wrongOf(value);
  if (!found) return value;
  const number = numberIn(value);
  if (number !== undefined && !(await wrongOf(number))) return number;
  const isText = typeof value !== 'string' && (await judge(found.need, JSON.stringify(value))) === undefined;
  throw new FleetError('SITE_VALUES', `the value does not fit ${found.need.release}: ${found.wrong}`, {
    subject: name,
    hint: isText
      ? `Text that looks like a number, true, false, null or JSON is read as such; '${name}="7"' is the text 7`
      : undefined,
  });
};
