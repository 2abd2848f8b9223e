import { judgeSiteValues } from '#bundles/formats/author-schema/judge-site-values';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { FleetError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { nameSome } from '#bundles/name-some';
import { type Channel, formatChannel } from '#bundles/names';
import { didYouMean } from '#bundles/nearest-name';
import { readRelease } from '../../load/releases/read-release.ts';
import type { Hub } from '../hub.ts';
import { channelOf } from './agent-record.ts';
import { enrolledAgents } from './enrolled-agents.ts';
import { siteValuesOf } from './issue-site.ts';
import type { ValueChange } from './set-values.ts';

type Properties = Readonly<Record<string, BundleConfig['siteInputs']['schema']>>;

/** The site inputs of a channel's newest release. */
type Needs = { readonly release: string; readonly inputs: Properties };

/**
 * Checks values against the newest releases of the channels that the site's agents follow: a value must match the schema of its
 * site input, and at least one release must have an input of that name. Channels without a release are ignored.
 * @param allowUnknown accepts names that no release asks for, for a future release
 * @throws FleetError SITE_VALUES, without the value in the message
 */
export const checkValues = async (
  hub: Hub,
  { site, agent, set, terms }: ValueChange,
  allowUnknown: boolean,
): Promise<void> => {
  const { db } = hub.store;
  const row = await db.selectFrom('site').selectAll().where('name', '=', site).executeTakeFirst();
  const agents = await enrolledAgents(db, site);
  const own = siteValuesOf(row, hub.keys.root.fleet, site).agents;
  const readers = agents
    .filter(({ name }) => agent === undefined || name === agent)
    .map((it) => ({ name: it.name, channel: terms?.channel ?? channelOf(it) }));
  const needs = await readNeeds(
    hub,
    readers.map(({ channel }) => channel),
  );
  for (const [name, value] of Object.entries(set)) {
    // An agent's own value overrides the site's.
    const taking =
      agent === undefined ? readers.filter((it) => !Object.hasOwn(own[it.name] ?? {}, name)) : readers;
    const channels = new Set(taking.map(({ channel }) => formatChannel(channel)));
    await checkValue(
      name,
      value,
      [...channels].map((channel) => needs.get(channel)),
      allowUnknown,
    );
  }
};

/** By formatChannel; undefined for a channel without a release. */
const readNeeds = async (
  { keys, layout: directory }: Hub,
  channels: readonly Channel[],
): Promise<ReadonlyMap<string, Needs | undefined>> => {
  const layout = await openOrStartLayout(directory);
  const needs = new Map<string, Needs | undefined>();
  for (const channel of channels) {
    const name = formatChannel(channel);
    if (needs.has(name)) continue;
    const found = await readRelease(layout, channel, keys.roots);
    const inputs: Record<string, Properties[string]> = {};
    for (const [subject, digest] of found?.subjects ?? []) {
      if (!subject.startsWith('bundle/')) continue;
      const { config } = await readBundle(layout.blobs, digest);
      Object.assign(inputs, config.siteInputs.schema['properties']);
    }
    needs.set(name, found && { release: `release ${found.predicate.version} of ${name}`, inputs });
  }
  return needs;
};

const checkValue = async (
  name: string,
  value: unknown,
  needs: readonly (Needs | undefined)[],
  allowUnknown: boolean,
): Promise<void> => {
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
  for (const { release, inputs } of asking) {
    const schema = { type: 'object', properties: { [name]: inputs[name] ?? {} } };
    const judge = async (one: unknown): Promise<string | undefined> =>
      (await judgeSiteValues(schema, { [name]: one })).wrong;
    const wrong = await judge(value);
    if (wrong === undefined) continue;
    const isText = typeof value !== 'string' && (await judge(JSON.stringify(value))) === undefined;
    throw new FleetError('SITE_VALUES', `the value does not fit ${release}: ${wrong}`, {
      subject: name,
      ...(isText && {
        hint: `Text that looks like a number, true, false, null or JSON is read as such; '${name}="7"' is the text 7`,
      }),
    });
  }
};
