import { defined } from '#bundles/defined';
import { formatTime } from '#bundles/time';
import type { WebhookSettings } from '../../settings/alarm-settings.ts';
import { signWebhook } from '../webhook/webhook-signature.ts';
import { readWebhookSecret } from '../webhook/read-webhook-secret.ts';
import type { Notice } from './notice.ts';
import { askReceiver, postJson } from './post-json.ts';
import type { Access, Carrier } from './receiver.ts';

/** One CloudEvent for each notice (CloudEvents 1.0.2, JSON format and HTTP binding in structured mode), signed. */
export const webhook = (
  { url, secretFile }: WebhookSettings,
  access: Access,
  requestMs?: number,
): Carrier => ({
  batch: 1,
  deliver: async ([notices], { fleet, now, signal }) => {
    if (!notices) return { kind: 'taken' };
    // Read each time, so that it can change.
    const secret = await readWebhookSecret(secretFile);
    const body = Buffer.from(JSON.stringify(cloudEventOf(notices, { fleet, now })));
    const headers = {
      'content-type': 'application/cloudevents+json; charset=utf-8',
      ...signWebhook(secret, { id: notices.id, body, now }),
    };
    return postJson(
      access,
      defined({ url: new URL(url), headers, body, signal, requestMs: requestMs || undefined }),
    );
  },
  examine: async ({ fleet, signal }) => {
    await readWebhookSecret(secretFile);
    // CloudEvents HTTP 1.1 Web Hooks 1.0.1, section 4.1: the request by which a receiver is asked whether it takes events.
    const headers = { 'webhook-request-origin': `fleet-ferry.${fleet}` };
    return askReceiver(
      access,
      defined({
        method: 'OPTIONS' as const,
        url: new URL(url),
        headers,
        signal,
        requestMs: requestMs || undefined,
      }),
    );
  },
});

/** @param now when it is sent; the event's own time is that of its change */
const cloudEventOf = (
  { id, what, alarm, action, openedAt, resolvedAt }: Notice,
  { fleet, now }: { readonly fleet: string; readonly now: Date },
) => ({
  specversion: '1.0',
  id,
  source: `urn:fleet-ferry:hub:${fleet}`,
  type: `fleet-ferry.alarm.${what}.v1`,
  subject: alarm.id,
  time: what === 'opened' ? openedAt : (resolvedAt ?? formatTime(now)),
  datacontenttype: 'application/json',
  data: { fleet, ...alarm, action, openedAt, resolvedAt },
});
