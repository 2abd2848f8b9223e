import { isRecord } from '#bundles/is-record';
import { DEPLOYED } from '../../../model/reconciler-traits.ts';
import {
  drifted,
  failed,
  type Fields,
  fieldsOf,
  type FollowerState,
  invalid,
  type Notification,
  objectName,
  parseBody,
  textOf,
  timeOf,
} from './notification.ts';

/** More than the largest body holds with the labels and states of real ones, each above half a KiB. */
const MAX_DEPLOYMENTS = 500;

/**
 * Reads what the job on the management cluster posts (docs/how-to/flux-and-argo-cd.md): the BundleDeployments of one cluster. Their labels
 * say which package they deploy, as Rancher Fleet names neither our bundle nor a commit of our tree. A repository with several Bundles
 * has several BundleDeployments for one assignment: it has the state of the worst of them.
 * @throws FleetError BAD_JSON, TOO_DEEP, TOO_LARGE, NOTIFICATION_INVALID
 */
export const readRancherFleet = (body: Uint8Array): readonly Notification[] => {
  const said = parseBody(body);
  const at = timeOf(said, 'observedAt');
  if (at === undefined) throw invalid('the notification has no observedAt');
  const cluster = objectName(said, 'namespace');
  if (!Array.isArray(said['deployments'])) throw invalid('deployments is not a list');
  const count = said['deployments'].length;
  if (count > MAX_DEPLOYMENTS)
    throw invalid(
      `the notification has ${count} deployments, and the hub takes ${MAX_DEPLOYMENTS} at a time`,
      'Post the BundleDeployments of one cluster, selected by the label of our packages; more of them in several posts, those of one assignment together',
    );
  const deployments = said['deployments'].map((one: unknown) => readDeployment(one));
  return [...Map.groupBy(deployments, ({ namespace }) => namespace)].map(([namespace, ofOne]) => {
    const deployed = new Set(ofOne.map((one) => one.deployed));
    return {
      object: `BundleDeployment/${cluster}/${namespace}`,
      name: namespace,
      bundle: null,
      package: { namespace, deployed: ofOne[0]?.deployed ?? '' },
      commit: null,
      at,
      // With two packages one of them is on its way.
      word: deployed.size > 1 ? null : worst(ofOne.map(({ word }) => word)),
    };
  });
};

type Deployment = {
  readonly namespace: string;
  /** Of the package, as in the label. */
  readonly deployed: string;
  readonly word: FollowerState | null;
};

const readDeployment = (value: unknown): Deployment => {
  const said = fieldsOf(value, 'a deployment');
  const labels = fieldsOf(said['labels'] ?? {}, 'labels');
  const deployed = textOf(labels, DEPLOYED.package);
  if (!/^[0-9a-f]{32}$/.test(deployed))
    throw invalid(
      `a BundleDeployment has no package in its label ${DEPLOYED.package}`,
      'Apply the folder of this cluster in the tree (treeClusters), and select BundleDeployments with this label',
    );
  return { namespace: objectName(labels, DEPLOYED.namespace), deployed, word: stateOf(said) };
};

/** From the worst to the best; null is work under way. */
const RANKS = ['failed', 'drifted', undefined, 'applied', 'healthy'] as const;

const worst = (words: readonly (FollowerState | null)[]): FollowerState | null =>
  words.toSorted((a, b) => RANKS.indexOf(a?.kind) - RANKS.indexOf(b?.kind))[0] ?? null;

const stateOf = (said: Fields): FollowerState | null => {
  const wanted = textOf(said, 'deploymentID');
  // A rollout of Rancher Fleet has not come to this cluster: the labels are those of the next deployment.
  if (wanted === '' || textOf(said, 'stagedDeploymentID') !== wanted) return null;
  const status = fieldsOf(said['status'] ?? {}, 'status');
  if (textOf(status, 'appliedDeploymentID') !== wanted) {
    const error = errorOf(status);
    return error === undefined ? null : failed('NotDeployed', error);
  }
  if (status['nonModified'] !== true) return drifted(listOf(status['modifiedStatus']).map(nameOf).join(', '));
  if (status['ready'] === true) return { kind: 'healthy' };
  const errors = errorsIn(status['nonReadyStatus']);
  return errors.length === 0 ? { kind: 'applied' } : failed('NotReady', errors.join('; '));
};

/** Why the last attempt to deploy failed; undefined while one runs. */
const errorOf = (status: Fields): string | undefined => {
  const found = listOf(status['conditions']).find(
    ({ type, status: value, reason }) => type === 'Deployed' && value === 'False' && reason === 'Error',
  );
  return found && textOf(found, 'message');
};

/** 'ConfigMap text: ...' of each object that is not ready because of an error. */
const errorsIn = (list: unknown): readonly string[] =>
  listOf(list).flatMap((one) => {
    const summary = isRecord(one['summary']) ? one['summary'] : {};
    const { error, message } = summary;
    return error === true ? [`${nameOf(one)}: ${Array.isArray(message) ? message.join(', ') : ''}`] : [];
  });

const nameOf = (one: Fields): string => `${textOf(one, 'kind')} ${textOf(one, 'name')}`;

const listOf = (value: unknown): readonly Fields[] => (Array.isArray(value) ? value.filter(isRecord) : []);
