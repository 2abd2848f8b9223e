import type { Timestamp } from '#bundles/time';
import {
  bundleIn,
  commitIn,
  drifted,
  failed,
  type Fields,
  type FollowerState,
  invalid,
  type Notification,
  objectName,
  parseBody,
  textOf,
  timeOf,
} from './notification.ts';

/**
 * Reads what Argo CD's notifications send by our template (docs/how-to/flux-and-argo-cd.md): fields of one Application. Its
 * health counts only where Argo CD compared the application after the sync had finished: before that, the health belongs to the
 * earlier revision.
 * @throws FleetError BAD_JSON, TOO_DEEP, TOO_LARGE, NOTIFICATION_INVALID
 */
export const readArgoCd = (body: Uint8Array): Notification => {
  const said = parseBody(body);
  const name = objectName(said, 'app');
  const finishedAt = timeOf(said, 'finishedAt');
  const reconciledAt = timeOf(said, 'reconciledAt');
  const at = [finishedAt, reconciledAt]
    .filter((time) => time !== undefined)
    .toSorted()
    .at(-1);
  if (at === undefined) throw invalid('the notification has neither finishedAt nor reconciledAt');
  return {
    object: `Application/${objectName(said, 'namespace')}/${name}`,
    name,
    bundle: bundleIn(textOf(said, 'revision')),
    commit: commitIn(textOf(said, 'revision')),
    at,
    word: stateOf(said, finishedAt, reconciledAt),
  };
};

const stateOf = (
  said: Fields,
  finishedAt: Timestamp | undefined,
  reconciledAt: Timestamp | undefined,
): FollowerState | null => {
  const [phase, sync, health, message] = ['phase', 'sync', 'health', 'message'].map((name) =>
    textOf(said, name),
  ) as [string, string, string, string];
  if (phase === 'Failed' || phase === 'Error') return failed(`Sync${phase}`, message);
  if (phase !== 'Succeeded' || finishedAt === undefined) return null;
  if (reconciledAt === undefined || reconciledAt < finishedAt) return { kind: 'applied' };
  // Out of sync with a newer revision: the sync has not begun, and the application runs the earlier revision.
  if (sync === 'OutOfSync')
    return textOf(said, 'syncRevision') === textOf(said, 'revision') ? drifted('OutOfSync') : null;
  switch (health) {
    case 'Healthy':
      return { kind: 'healthy' };
    case 'Degraded':
      return failed('Degraded', textOf(said, 'healthMessage'));
    default:
      return { kind: 'applied' };
  }
};
