import { isSelected } from '#bundles/trust/accept/is-selected';
import {
  differByAssignment,
  judgeSiteValues,
  valuesOfAgent,
} from '#bundles/formats/author-schema/judge-site-values';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { formatChannel, sameChannel } from '#bundles/names';
import type { Offer, OfferedSite } from '../offer.ts';

const MAX_NAMED = 10;

/**
 * Validates the values of every site on the medium against the schemas of the releases on it, as the agents will.
 * @returns one line for each agent with packages that it will not apply, naming them and the values; no value itself is in it
 * @throws FleetError SITE_VALUES for values that the agent refuses with the whole release
 */
export const checkSiteValues = async ({
  sites,
  channels,
}: Pick<Offer, 'sites' | 'channels'>): Promise<readonly string[]> => {
  const found: Found[] = [];
  for (const site of sites) found.push(...(await judgeSite(site, channels)));
  const wrong = found.flatMap(({ who, refused }) => (refused === undefined ? [] : [`${who}: ${refused}`]));
  if (wrong.length > 0)
    throw new FleetError('SITE_VALUES', `a site would refuse this medium: ${nameSome(wrong, MAX_NAMED)}`, {
      hint: HINT,
    });
  return found.flatMap(({ who, faults, packages }) =>
    faults.length === 0
      ? []
      : [`${who} will not apply ${nameSome(packages, MAX_NAMED)}: ${nameSome(faults, MAX_NAMED)}. ${HINT}`],
  );
};

const HINT = 'Correct the values with: fleet-scheduler sites set';

type Found = {
  readonly who: string;
  readonly refused?: string | undefined;
  readonly packages: readonly string[];
  readonly faults: readonly string[];
};

const judgeSite = async (
  { site, agents, values }: OfferedSite,
  channels: Offer['channels'],
): Promise<readonly Found[]> => {
  const found: Found[] = [];
  for (const { name, channel, labels } of agents) {
    const offered = channels.find((it) => sameChannel(it.channel, channel));
    if (!offered || !isSelected(offered.rollout, { site, agent: name }, labels)) continue;
    for (const { siteInputs } of offered.bundles)
      for (const { assignment, only } of partsOf(siteInputs, values, name)) {
        const own = valuesOfAgent(values, name, assignment);
        const { wrong, faults } = await judgeSiteValues(siteInputs.schema, own, only);
        const fields = siteInputs.fields.filter(({ input }) => faults.has(input));
        found.push({
          who: `${site}/${name} (${formatChannel(channel)})`,
          refused: wrong,
          packages:
            assignment === undefined ? [...new Set(fields.map((one) => one.assignment))] : [assignment],
          faults: [...faults].map(([input, { kind, why }]) =>
            kind === 'unusable' ? `${input} cannot be judged: ${why}` : why,
          ),
        });
      }
  }
  return found;
};

type SiteInputs = Offer['channels'][number]['bundles'][number]['siteInputs'];

/** The inputs that are judged at once: all, or those of each assignment where assignments have values of their own. */
const partsOf = (
  { fields }: SiteInputs,
  values: OfferedSite['values'],
  agent: string,
): readonly { readonly assignment?: string; readonly only?: ReadonlySet<string> }[] => {
  if (!differByAssignment(values, agent)) return [{}];
  return [...Map.groupBy(fields, ({ assignment }) => assignment)].map(([assignment, own]) => ({
    assignment,
    only: new Set(own.map(({ input }) => input)),
  }));
};
