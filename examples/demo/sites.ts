import type { Channel } from '#bundles/names';
import { isSelected } from '#bundles/trust/accept/is-selected';
import type { HubServer } from '../../scheduler/hub/http/hub-server.ts';
import type { Desired } from '../../scheduler/hub/questions/state/what-runs-where.ts';
import type { TokenRequest } from '../../scheduler/hub/sites/tokens/create-token.ts';
import { type DemoAgent, type Happening, joinAgent } from './agents.ts';

export type DemoSite = {
  readonly agent: DemoAgent;
  readonly environment: string;
  /** Index in its environment, from 0. It decides which faults the site has, so every demo is the same. */
  readonly index: number;
};

export type DemoFleet = {
  readonly sites: readonly DemoSite[];
  readonly channels: readonly Channel[];
  /** The release that a site applied last. */
  readonly applied: Map<DemoSite, number>;
};

/** A medium that visits the sites and then returns to the hub. @param at the time of its return */
export type Medium = { readonly path: string; readonly at: Date };

type Office = {
  readonly server: HubServer;
  readonly token: (order: TokenRequest) => Promise<string>;
  readonly now: () => Date;
};

/** Test machines beside the sites of prod. */
const TEST_SITES = { dev: 2, qa: 6 } as const;

/** Halls have a press, shops a till. */
const kindOf = (index: number): { readonly place: string; readonly clusterType: 'press' | 'till' } =>
  index % 2 === 0 ? { place: 'plant', clusterType: 'press' } : { place: 'shop', clusterType: 'till' };

/** Two thirds of the sites are in the north. */
const regionOf = (index: number): string => (index % 3 === 2 ? 'south' : 'north');
const lineOf = (index: number): string => `line-${(index % 4) + 1}`;

/** Enrols one agent a site over the hub's route. */
export const enrolSites = async ({ server, token, now }: Office, count: number): Promise<DemoFleet> => {
  const sites: DemoSite[] = [];
  const channels = new Map<string, Channel>();
  for (const [environment, of] of Object.entries({ ...TEST_SITES, prod: count }))
    for (let index = 0; index < of; index += 1) {
      const { place, clusterType } = kindOf(index);
      const number = String(index + 1).padStart(3, '0');
      const site = environment === 'prod' ? `${place}-${number}` : `${environment}-${place}-${number}`;
      const channel = { environment, clusterType };
      channels.set(`${environment}/${clusterType}`, channel);
      const right = await token({ scope: 'enroll', site, replaceKey: false });
      const labels = { region: regionOf(index), line: lineOf(index) };
      const joining = { site, agent: `${clusterType}-1`, channel, labels };
      const agent = await joinAgent(server, joining, right, now());
      sites.push({ agent, environment, index });
    }
  return { sites, channels: [...channels.values()], applied: new Map() };
};

const isProd = ({ environment }: DemoSite): boolean => environment === 'prod';

/** Sites without the second version; they are behind. */
const missed = (site: DemoSite): boolean => isProd(site) && site.index % 29 === 9;

/** Halls whose newest report is a month old. */
const isSilent = (site: DemoSite): boolean => isProd(site) && site.index % 24 === 8;
const SILENT_DAYS = 30;

/** Sites without a report. */
const isMute = (site: DemoSite): boolean => isProd(site) && site.index % 41 === 12;

/** Each selected site that has not applied its release reports by medium that it did. @param isAsked limits this to some sites */
export const reportApplied = async (
  { sites, applied }: DemoFleet,
  medium: Medium,
  desiredOf: (channel: Channel) => Desired | undefined,
  isAsked: (site: DemoSite) => boolean = () => true,
): Promise<void> => {
  for (const site of sites) {
    const { agent } = site;
    const desired = desiredOf(agent.channel);
    if (!isAsked(site) || isMute(site) || desired?.kind !== 'release') continue;
    if (missed(site) && desired.version > 1) continue;
    const { version, packages, rollout } = desired;
    if (!isSelected(rollout, agent, {}) || applied.get(site) === version) continue;
    applied.set(site, version);
    await agent.report(
      medium.path,
      [
        { type: 'imported', release: { ...agent.channel, version } },
        ...[...packages].map(([assignment, of]) => ({
          type: 'package',
          assignment,
          package: of,
          release: { ...agent.channel, version },
          outcome: 'configured' as const,
        })),
      ],
      medium.at,
    );
  }
};

const MINUTE_MS = 60_000;
const DAY_MS = 1440 * MINUTE_MS;

/** The newest report of each site: most comply and are minutes old, some are late, drifted or failed. */
export const reportAgain = async ({ sites }: DemoFleet, { path, at }: Medium): Promise<void> => {
  for (const site of sites) {
    if (isMute(site)) continue;
    await site.agent.report(path, [newsOf(site)], new Date(at.getTime() - ageOf(site)));
  }
};

/** Halls in which a program of the oven lacks a limit: one cause at several sites. */
const hasUnlimited = (site: DemoSite): boolean =>
  isProd(site) && site.index % 10 === 2 && !isSilent(site) && site.index % 13 !== 6;

const ageOf = (site: DemoSite): number => {
  if (isSilent(site)) return SILENT_DAYS * DAY_MS;
  if (isProd(site) && site.index % 11 === 5) return 5 * DAY_MS;
  return ((site.index * 7) % 50) * MINUTE_MS + MINUTE_MS;
};

const newsOf = (site: DemoSite): Happening => {
  const assignment = 'label-printer-host';
  if (isProd(site) && site.index % 19 === 4)
    return {
      type: 'check',
      assignment,
      outcome: 'failed',
      code: 'CHECK_FAILED',
      message: 'label-printer.service is not active',
    };
  if (hasUnlimited(site))
    return {
      type: 'check',
      assignment: 'oven-control-host',
      outcome: 'failed',
      code: 'CHECK_FAILED',
      message: '1 of 3 checks failed',
      detail: {
        checks: [
          {
            name: 'every-program-has-a-limit',
            outcome: 'failed',
            message: 'the command ended with 1',
            output: `program ${(site.index % 5) + 2}: no upper limit of temperature\n`,
          },
        ],
      },
    };
  if (isProd(site) && site.index % 13 === 6)
    return {
      type: 'drift',
      assignment,
      code: 'DRIFT',
      message: '1 object differs from the package',
      detail: {
        drift: [
          {
            key: 'directory:/opt/label-printer/2',
            what: 'mode',
            message: '/opt/label-printer/2 has mode 0777, not 0755',
          },
        ],
      },
    };
  return { type: 'check', assignment, outcome: 'unchanged' };
};
