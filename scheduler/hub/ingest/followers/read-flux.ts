import {
  bundleIn,
  commitIn,
  failed,
  fieldsOf,
  type FollowerState,
  invalid,
  type Notification,
  objectName,
  parseBody,
  textOf,
  timeOf,
} from './notification.ts';

const KINDS: ReadonlyMap<string, string> = new Map([
  ['Kustomization', 'kustomize.toolkit.fluxcd.io/'],
  ['OCIRepository', 'source.toolkit.fluxcd.io/'],
  ['GitRepository', 'source.toolkit.fluxcd.io/'],
]);

/**
 * Reads an event as notification-controller posts it for Providers of type `generic` and `generic-hmac`
 * (event.toolkit.fluxcd.io/v1beta1). A Kustomization is healthy after a reconciliation that succeeded; with `wait: true`, as our
 * template has it, that includes the health checks. Its other events say that work began or continues.
 * @throws FleetError BAD_JSON, TOO_DEEP, TOO_LARGE, NOTIFICATION_INVALID
 */
export const readFlux = (body: Uint8Array): Notification => {
  const event = parseBody(body);
  const involved = fieldsOf(event['involvedObject'], 'involvedObject');
  const metadata = fieldsOf(event['metadata'] ?? {}, 'metadata');
  const kind = textOf(involved, 'kind');
  const group = KINDS.get(kind);
  if (group === undefined || !textOf(involved, 'apiVersion').startsWith(group))
    throw invalid(
      `the event is about a ${JSON.stringify(kind.slice(0, 80))}`,
      'Name OCIRepository and Kustomization as eventSources of the Alert, and no other kind',
    );
  const name = objectName(involved, 'name');
  const at = timeOf(event, 'timestamp');
  if (at === undefined) throw invalid('the event has no timestamp');
  const revision = textOf(metadata, 'revision') || textOf(metadata, `${group}revision`);
  return {
    object: `${kind}/${objectName(involved, 'namespace')}/${name}`,
    name,
    bundle: bundleIn(revision),
    commit: commitIn(revision),
    at,
    word: stateOf(kind, textOf(event, 'severity'), textOf(event, 'reason'), textOf(event, 'message')),
  };
};

const stateOf = (kind: string, severity: string, reason: string, message: string): FollowerState | null => {
  if (severity === 'error') return failed(reason, message);
  return kind === 'Kustomization' && reason === 'ReconciliationSucceeded' ? { kind: 'healthy' } : null;
};
