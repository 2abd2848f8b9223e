import { encodeCursor } from '../../scheduler/hub/page.ts';
import { formatTime } from '../../bundles/time.ts';
import { ASSIGNMENTS, hoursAgo, names, siteName } from './fleet-hub.ts';

/** The address of a question. Rounds ask about other sites and workloads. */
export type PageQuestion = (round: number) => string;

/** What the views of the page ask, with their limits, and questions of the command line. By the view that shows the answer. */
export const pageQuestions = (sites: number): Readonly<Record<string, PageQuestion>> => {
  const site = (round: number): string => siteName((round * 97) % sites);
  const workload = (round: number): string => names[round % ASSIGNMENTS] ?? '';
  const half = encodeCursor([siteName(Math.floor(sites / 2))]);
  const middle = encodeCursor([`${siteName(Math.floor(sites / 2))}/a`]);
  return {
    'overview: 50 sites': () => '/v1/sites?limit=50',
    'overview: 50 sites from the middle': () => `/v1/sites?limit=50&cursor=${half}`,
    'overview: 50 sites of one environment': () => '/v1/sites?limit=50&environment=qa',
    'overview: open alarms': () => '/v1/alarms?limit=1',
    'overview: compliance of 90 days': () => '/v1/compliance?since=90d',
    'status: 50 agents': () => '/v1/status?limit=50',
    'status: 50 agents from the middle': () => `/v1/status?limit=50&cursor=${middle}`,
    'status: 50 agents of one environment': () => '/v1/status?limit=50&environment=qa',
    'site: its status': (round) => `/v1/status?limit=1000&site=${site(round)}`,
    'site: its media': (round) => `/v1/media?limit=1000&site=${site(round)}`,
    'site: its events': (round) => `/v1/events?limit=100&site=${site(round)}`,
    'package: one at one agent': (round) =>
      `/v1/package?agent=${site(round)}/a&assignment=${workload(round)}`,
    'workloads: 50': () => '/v1/workloads?limit=50',
    'workload: its versions': (round) => `/v1/workloads?workload=${workload(round)}`,
    'workload: where it runs, 50 agents': (round) => `/v1/where?limit=50&workload=${workload(round)}`,
    'workload: its history': (round) => `/v1/history?limit=25&workload=${workload(round)}`,
    'where: 50 agents': () => '/v1/where?limit=50',
    'where: 50 agents on a past day': () => `/v1/where?limit=50&at=${formatTime(hoursAgo(220))}`,
    'pipeline: gate of prod to next': () => '/v1/environments/next/gate',
    'pipeline: gate of qa to prod': () => '/v1/environments/prod/gate',
    'pipeline: promotions': () => '/v1/environments/prod/promotions?limit=5',
    'rollouts: of an environment': () => '/v1/environments/prod/rollouts',
    'compare: two environments': () => '/v1/compare?left=qa&right=prod',
    'media: 50 agents': () => '/v1/media?limit=50',
    'audit: 50 entries': () => '/v1/audit?limit=50',
    'search: part of a name': (round) => `/v1/search?limit=50&q=${String(round).padStart(2, '0')}`,
    'search: a rare name': (round) => `/v1/search?limit=50&q=${site(round)}`,
    'search: digits of a digest': () => '/v1/search?limit=50&q=abcdef',
    'history: newest 100': () => '/v1/history?limit=100',
    'history: of an environment': () => '/v1/history?limit=100&environment=qa',
    'history: of a site': (round) => `/v1/history?limit=100&site=${site(round)}`,
    'events: newest 100': () => '/v1/events?limit=100',
    'metrics, first scrape in 30 s': () => '/metrics',
  };
};
