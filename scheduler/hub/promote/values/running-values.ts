import { type Digest, digestOf } from '#bundles/digest';
import { valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import { siteFields } from '#bundles/formats/bounds/site-fields';
import type { BundleConfig } from '#bundles/formats/bundle/config';
import type { SiteValues } from '#bundles/formats/statements/predicates';
import { canonicalJson } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import { formatChannel } from '#bundles/names';
import { ownValue } from '#bundles/own-value';
import type { Hub } from '../../hub.ts';
import { channelOf } from '../../sites/agent-record.ts';
import { readNeeds } from '../../sites/read-needs.ts';
import { readLocalInForce } from '../../sites/local-edits.ts';
import { parts } from '../../store/parts.ts';
import type { AgentRow, Database } from '../../store/tables.ts';

type Asked = Pick<AgentRow, 'id' | 'site' | 'name' | 'environment' | 'cluster_type'>;

/**
 * Agents of which a package runs with other values than the site has now, each with such an assignment. An agent reports a statement when it has it, and
 * its packages are applied later. Only values that the package takes count, without those that people at the site override. A document that the hub
 * does not have says nothing.
 */
export const findOtherValues = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  agents: readonly Asked[],
): Promise<ReadonlyMap<string, string>> => {
  const found = new Map<string, string>();
  if (agents.length === 0) return found;
  const { db } = hub.store;
  const needs = await readNeeds(
    hub,
    agents.map((row) => channelOf(row)),
    new Map(),
  );
  const inForce = (await readLocalInForce(db)).filter(({ value }) => value !== null);
  const local = Map.groupBy(inForce, ({ agent }) => agent);
  for (const part of parts(agents)) {
    const states = await db
      .selectFrom('assignment_state')
      .select(['agent', 'assignment', 'package', 'site_values'])
      .where(
        'agent',
        'in',
        part.map(({ id }) => id),
      )
      .where('package', 'is not', null)
      .where('site_values', 'is not', null)
      .orderBy('assignment')
      .execute();
    const documents = await readDocuments(db, part, new Set(states.map((one) => one.site_values)));
    const byAgent = Map.groupBy(states, ({ agent }) => agent);
    for (const row of part) {
      const now = documents.now.get(row.site);
      const overridden = new Set((local.get(row.id) ?? []).map(({ name }) => name));
      const configs = needs.get(formatChannel(channelOf(row)))?.configs ?? [];
      const other = (byAgent.get(row.id) ?? []).find(({ assignment, package: own, site_values: digest }) => {
        if (!now || digest === null || digest === now.digest) return false;
        const config = configs.find((one) =>
          one.assignments.some((it) => it.id === assignment && it.package === own),
        );
        const before = documents.known.get(documentKey(row.site, digest));
        if (!config || !before) return false;
        const terms = { config, agent: row.name, assignment, overridden };
        return takenDigest(before, terms) !== takenDigest(now.document, terms);
      });
      if (other) found.set(row.id, other.assignment);
    }
  }
  return found;
};

type Documents = {
  /** By site. */
  readonly now: ReadonlyMap<string, { readonly digest: Digest; readonly document: SiteValues }>;
  /** By documentKey. */
  readonly known: ReadonlyMap<string, SiteValues>;
};

const documentKey = (site: string, digest: Digest): string => `${site} ${digest}`;

const readDocuments = async (
  db: Database,
  agents: readonly Asked[],
  digests: ReadonlySet<Digest | null>,
): Promise<Documents> => {
  const names = [...new Set(agents.map(({ site }) => site))];
  const sites = await db
    .selectFrom('site')
    .select(['name', 'site_values'])
    .where('name', 'in', names)
    .execute();
  const known = new Map<string, SiteValues>();
  for (const part of parts([...digests].filter((one) => one !== null))) {
    const rows = await db
      .selectFrom('site_values_version')
      .select(['site', 'digest', 'document'])
      .where('site', 'in', names)
      .where('digest', 'in', part)
      .execute();
    for (const { site, digest, document } of rows)
      known.set(documentKey(site, digest), parseJson(document) as SiteValues);
  }
  return {
    known,
    now: new Map(
      sites.map(({ name, site_values: text }) => [
        name,
        { digest: digestOf(text), document: parseJson(text) as SiteValues },
      ]),
    ),
  };
};

/** Digest of the values of a document that an assignment takes, without the overridden ones. */
const takenDigest = (
  document: SiteValues,
  {
    config,
    agent,
    assignment,
    overridden,
  }: {
    readonly config: BundleConfig;
    readonly agent: string;
    readonly assignment: string;
    readonly overridden: ReadonlySet<string>;
  },
): Digest => {
  const given = valuesOfAgent(document, agent, assignment);
  const names = siteFields(config, Object.keys(given))
    .filter((field) => field.assignment === assignment && !overridden.has(field.input))
    .map(({ input }) => input);
  const taken = [...new Set(names)].flatMap((name) => {
    const value = ownValue(given, name);
    return value === undefined ? [] : [[name, value] as const];
  });
  return digestOf(canonicalJson(Object.fromEntries(taken), 'doubles'));
};
