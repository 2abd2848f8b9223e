import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { formatChannel } from '#bundles/names';
import type { SiteFinding } from '../plan/validate/sites/describe-faults.ts';
import { adviseSites, type Enrolled, type SiteAdvice } from '../plan/validate/sites/advise-sites.ts';
import { layersOfPlatform } from '../plan/validate/sites/channel-layers.ts';
import type { EnvironmentBuild } from './environment-build.ts';

/**
 * Advice of adviseSites for an environment as it was built, before anything of it is signed. While an assignment without an earlier package is
 * held, its site inputs are unknown, and nothing is said about values that nobody takes.
 */
export const adviseBuilt = async (
  { platform, bundles }: Pick<EnvironmentBuild, 'platform' | 'bundles'>,
  enrolled: Enrolled | undefined,
): Promise<SiteAdvice> => {
  const configs = new Map(bundles.map(({ clusterType, bundle }) => [clusterType.name, [bundle.config]]));
  const advised = await adviseSites(layersOfPlatform(platform), configs, enrolled);
  const aboutHeld = enrolled ? describeHeld(platform.environment, bundles, enrolled) : [];
  const advice = { ...advised, findings: [...aboutHeld, ...advised.findings] };
  const isWhole = bundles.every(({ held }) => held.every(({ kept }) => kept !== undefined));
  if (isWhole) return advice;
  return { findings: advice.findings.filter(({ kind }) => kind !== 'untaken'), idle: [] };
};

/** One finding for each held assignment whose new package lacks a field that a site input names, with the agents that keep the present package. */
const describeHeld = (
  environment: string,
  bundles: EnvironmentBuild['bundles'],
  { agents, before }: Enrolled,
): readonly SiteFinding[] =>
  bundles.flatMap(({ clusterType, held }) => {
    const channel = formatChannel({ environment, clusterType: clusterType.name });
    const taking = new Set(
      before(channel).flatMap(({ siteInputs }) => siteInputs.fields.map(({ assignment }) => assignment)),
    );
    const here = agents.filter((one) => formatChannel(one.channel) === channel);
    const names = here.map(({ site, agent }) => `${site}/${agent}`);
    return held.flatMap(({ assignment, error }): SiteFinding[] => {
      const known = assignment.target.name;
      if (error.code !== 'REFERENCE_MISSING' || names.length === 0 || !taking.has(known)) return [];
      const message = `${nameSome(names, NAMED)} ${names.length === 1 ? 'keeps' : 'keep'} the present package of ${known} of ${channel}: ${error.message}`;
      return [
        {
          kind: 'held',
          error: new FleetError('REFERENCE_MISSING', message, { at: error.at, hint: error.hint }),
          agents: names,
          channel,
          assignment: known,
          name: '',
          isRepository: false,
        },
      ];
    });
  });

/** Agents that the sentence names; the finding has all. */
const NAMED = 50;
