import type { Audit } from '#bundles/schemas/types/hub-decisions';

type Entry = Pick<Audit['entries'][number], 'kind' | 'what' | 'environment' | 'stage' | 'only' | 'about'>;

/** Address of the most detailed view of what an entry of the audit log is about; where no view shows it, of the entries of its kind. */
export const entryAddress = (entry: Entry): string =>
  entry.environment === null ? changeAddress(entry) : decisionAddress(entry, entry.environment);

const ROLLOUT = ['start-rollout', 'advance', 'take-back'];

const decisionAddress = ({ what, stage, only }: Entry, environment: string): string => {
  if (ROLLOUT.includes(what) || stage !== null) return '/rollouts';
  const parts = only?.split('/') ?? [];
  const isChannel = parts.length === 2 && parts[0] === environment;
  // An assignment, alone or behind its cluster type.
  const assignment = isChannel ? undefined : parts.at(-1);
  return assignment === undefined ? '/pipeline' : `/where?name=${encodeURIComponent(assignment)}`;
};

/** Changes of a site or an agent, by the beginning of their verb. */
const OF_SITES = /^(?:sites|support) /;
const OF_VALUES = /^(?:sites (?:values|set)|secrets) /;
const VIEWS: Readonly<Record<string, string>> = {
  alarms: '/alarms',
  sessions: '/sessions',
  'break-glass': '/sessions',
  values: '/rollouts',
};

const changeAddress = ({ kind, what, about }: Entry): string => {
  // Of values that wait for review: other approvals have an environment.
  if (kind === 'approval') return '/values';
  const [site = ''] = about?.split('/') ?? [];
  const isSite = /^[a-z0-9-]+$/.test(site);
  if (isSite && OF_VALUES.test(`${what} `)) return `/values/${site}`;
  if (isSite && OF_SITES.test(what)) return `/sites/${site}`;
  return VIEWS[what.split(' ')[0] ?? ''] ?? `/audit?what=${encodeURIComponent(what)}`;
};
