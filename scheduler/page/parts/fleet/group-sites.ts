import { labelKey } from './facets.ts';
import type { FleetSite } from './fleet-site.ts';

/** Divisions of the picture of sites that are no labels. */
export const SITE_GROUPS = { none: 'none', environment: 'environment' } as const;

type Group = {
  /** '': all sites. */
  readonly name: string;
  /** Address that shows this group alone. */
  readonly to: string;
  readonly sites: readonly FleetSite[];
};

type Grouped = {
  /** Sites of the picture. */
  readonly sites: readonly FleetSite[];
  readonly groups: readonly Group[];
  readonly by: string;
  readonly choices: readonly string[];
  /** The group that is shown alone, the address without it, and the table of its sites; name null: all sites. */
  readonly inside: { readonly name: string | null; readonly back: string; readonly table: string };
};

/**
 * Divides sites by `?by=`, and shows one group alone with `?in=region=north`.
 * @param labels names of labels that divide sites
 */
export const groupSites = (
  all: readonly FleetSite[],
  labels: readonly string[],
  query: URLSearchParams,
): Grouped => {
  const choices = [...labels, SITE_GROUPS.environment, SITE_GROUPS.none];
  const inside = query.get('in');
  const [, label = '', value = ''] = /^([^=]*)=(.*)$/s.exec(inside ?? '') ?? [];
  const sites = inside === null ? all : all.filter((site) => groupsOf(site, label).includes(value));
  const asked = query.get('by') ?? '';
  const by = choices.includes(asked) ? asked : (labels[0] ?? SITE_GROUPS.environment);
  const next = choices[(choices.indexOf(by) + 1) % choices.length] ?? SITE_GROUPS.none;
  const without = new URLSearchParams(query);
  without.delete('in');
  const table = new URLSearchParams();
  const environment = query.get('environment');
  if (environment !== null) table.set('environment', environment);
  const isLabelled = all.some(({ place }) => place.labels[label] === value);
  if (inside !== null && labels.includes(label) && isLabelled) table.set(labelKey(label), value);
  const groups = new Map<string, FleetSite[]>();
  for (const site of sites)
    for (const name of groupsOf(site, by)) {
      const known = groups.get(name);
      if (known) known.push(site);
      else groups.set(name, [site]);
    }
  return {
    sites,
    by,
    choices,
    groups: [...groups]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, of]) => {
        const to = new URLSearchParams(without);
        to.set('in', `${by}=${name}`);
        to.set('by', next);
        return { name, to: `?${to}`, sites: of };
      }),
    inside: { name: inside === null ? null : value, back: `?${without}`, table: `/sites?${table}` },
  };
};

const groupsOf = ({ place }: FleetSite, by: string): readonly string[] => {
  switch (by) {
    case SITE_GROUPS.none:
      return [''];
    case SITE_GROUPS.environment:
      return [...new Set(place.channels.map((channel) => channel.split('/')[0] ?? ''))];
    default:
      return [place.labels[by] ?? `no ${by}`];
  }
};
