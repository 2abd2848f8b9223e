import type { KubernetesApi, LiveObject } from '../../api/kubernetes-api.ts';
import { oneLine } from '../condition.ts';
import { numberOf, textOf } from '../live-field.ts';

/**
 * '; last event: FailedCreate: exceeded quota', or '' where there is none. What a controller could not do stands
 * nowhere else (checklist W2). Never fails: it is only asked when something else already did.
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
      (best, one) => (best === undefined || whenOf(one) >= whenOf(best) ? one : best),
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

/** RFC 3339 in UTC sorts as text; which of the three fields is filled depends on who wrote it. */
const whenOf = (event: LiveObject): string =>
  textOf(event, 'series', 'lastObservedTime') ??
  textOf(event, 'lastTimestamp') ??
  textOf(event, 'eventTime') ??
  event.metadata.creationTimestamp ??
  '';
