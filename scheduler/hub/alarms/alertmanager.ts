import { formatTime } from '#bundles/time';
import type { AlertmanagerSettings } from '../../settings/alarm-settings.ts';
import { readSecretLine } from '../webhook/read-secret-line.ts';
import type { Notice } from './notice.ts';
import { askReceiver, postJson } from './post-json.ts';
import type { Access, Carrier } from './receiver.ts';

/** Between two times that Alertmanager hears of an alarm that lasts, and how long it keeps one that is not said again. */
const REPEAT_MS = 5 * 60_000;
const KEPT_MS = 30 * 60_000;

/** Alerts of Prometheus' Alertmanager (API v2, POST /api/v2/alerts). It groups, silences and repeats by its own rules. */
export const alertmanager = ({ url, tokenFile }: AlertmanagerSettings, access: Access): Carrier => ({
  batch: 200,
  repeatMs: REPEAT_MS,
  silences: 'own',
  deliver: async (notices, { fleet, now, signal }) => {
    const body = Buffer.from(JSON.stringify(notices.map((one) => alertOf(one, { fleet, now }))));
    const headers = { 'content-type': 'application/json', ...(await readAuthorization(tokenFile)) };
    return postJson(access, { url: below(url, '/api/v2/alerts'), headers, body, signal });
  },
  examine: async ({ signal }) => {
    const headers = await readAuthorization(tokenFile);
    return askReceiver(access, { method: 'GET', url: below(url, '/api/v2/status'), headers, signal });
  },
});

const below = (url: string, path: string): URL =>
  new URL(`${new URL(url).pathname.replace(/\/$/, '')}${path}`, url);

const readAuthorization = async (tokenFile: string | undefined): Promise<Readonly<Record<string, string>>> =>
  tokenFile === undefined ? {} : { authorization: `Bearer ${await readSecretLine(tokenFile)}` };

/**
 * Labels identify the alert. The severity is one of them, because routes match it, so an alarm of another severity is another
 * alert.
 */
const alertOf = (
  { alarm, action, resolvedAt }: Notice,
  { fleet, now }: { readonly fleet: string; readonly now: Date },
) => ({
  labels: {
    alertname: alertName(alarm.kind),
    fleet,
    severity: alarm.severity,
    ...labelsOf(alarm.subject),
  },
  annotations: { summary: alarm.summary, action },
  startsAt: alarm.since,
  endsAt: resolvedAt ?? formatTime(new Date(now.getTime() + KEPT_MS)),
});

/** 'AGENT_LATE' -> 'FleetAgentLate' */
const alertName = (kind: string): string =>
  `Fleet${kind
    .split('_')
    .map((word) => `${word.slice(0, 1)}${word.slice(1).toLowerCase()}`)
    .join('')}`;

/** 'clusterType' -> 'cluster_type', as labels of Prometheus are written. */
const labelsOf = (subject: object): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(subject).map(([name, value]) => [
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
      String(value),
    ]),
  );
