import type { KubernetesApi, LiveObject } from '../../api/kubernetes-api.ts';
import { oneLine } from '../condition.ts';
import { numberOf, textOf } from '../live-field.ts';

/**
 * Returns '; last event: FailedCreate: exceeded quota', or '' without a warning. Errors of controllers are recorded only in events
 * (checklist W2). Never throws, because it only adds details to a failure.
 */
export const newestWarning = async (
  api: Pick<KubernetesApi, 'list'>,
  of: readonly LiveObject[],
  signal: AbortSignal,
): Promise<string> => {
  for (const { metadata } of of) {
    if (metadata.uid === undefined) continue;
    const fieldSelector = `involvedObject.uid=${metadata.uid},type=Warning`;
    const options = { namespace: metadata.namespace ?? 'default', fieldSelector };
    const { items } = await api
      .list({ apiVersion: 'v1', kind: 'Event' }, options, signal)
      .catch(() => ({ items: [] as readonly LiveObject[] }));
    const newest = items.reduce<LiveObject | undefined>(
      (best, one) => (best === undefined || eventTimeOf(one) >= eventTimeOf(best) ? one : best),
      undefined,
    );
    if (!newest) continue;
    const count = numberOf(newest, 'series', 'count') ?? numberOf(newest, 'count') ?? 1;
    const times = count > 1 ? ` (${count} times)` : '';
    const message = textOf(newest, 'message') ?? '';
    return `; last event: ${oneLine(`${textOf(newest, 'reason') ?? 'Warning'}: ${message}`)}${times}`;
  }
  return '';
};

/** The time of an event. RFC 3339 in UTC sorts as text; each client fills another of the three fields. */
const eventTimeOf = (event: LiveObject): string =>
  textOf(event, 'series', 'lastObservedTime') ??
  textOf(event, 'lastTimestamp') ??
  textOf(event, 'eventTime') ??
  event.metadata.creationTimestamp ??
  '';
