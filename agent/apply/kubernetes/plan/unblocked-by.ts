import type { FleetError } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import { refusalOf } from '../api/refusal.ts';
import { groupOf } from '../desired/object-key.ts';
import { isDefinition } from '../desired/resolve-wanted.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import type { PlanContext } from './plan-context.ts';

/**
 * Why a dry run that failed may succeed once other objects of the package are applied, because the package brings what did not answer: its
 * webhook, the conversion webhook of the object's kind, or the API service of its group. Such a release may be the one that repairs it.
 * The apply itself mends the record of field managers (foreign-managers.ts). undefined if nothing would change.
 */
export const unblockedBy = (
  { wanted }: Pick<PlanContext, 'wanted'>,
  object: WantedObject,
  error: FleetError,
): string | undefined => {
  const lost = refusalOf(error)?.lostVersion;
  if (lost !== undefined)
    return `its field managers are recorded in ${lost}, which the cluster no longer has`;
  const all = wanted?.objects ?? [];
  const brings = (isIt: (one: WantedObject) => boolean): boolean =>
    all.some((one) => one.key !== object.key && isIt(one));
  const said = `${error.message}, and the package brings it`;
  if (error.code === 'WEBHOOK_UNREACHABLE')
    return brings((one) => hasWebhook(one, error.message) || converts(one, object)) ? said : undefined;
  return error.code === 'API_FAILED' && brings((one) => serves(one, object)) ? said : undefined;
};

const ADMISSION: ReadonlySet<string> = new Set([
  'MutatingWebhookConfiguration',
  'ValidatingWebhookConfiguration',
]);

/** The message of WEBHOOK_UNREACHABLE is ours, and ends with the name of an admission webhook. */
const hasWebhook = ({ group, kind, object }: WantedObject, message: string): boolean => {
  if (group !== 'admissionregistration.k8s.io' || !ADMISSION.has(kind)) return false;
  const webhooks = Array.isArray(object['webhooks']) ? object['webhooks'].filter(isRecord) : [];
  return webhooks.some(({ name }) => message.endsWith(` admission webhook ${String(name)} does not answer`));
};

const converts = (definition: WantedObject, { group, kind }: WantedObject): boolean => {
  const { spec } = definition.object;
  if (!isDefinition(definition) || !isRecord(spec) || !isRecord(spec['conversion'])) return false;
  const isOfKind = spec['group'] === group && isRecord(spec['names']) && spec['names']['kind'] === kind;
  return isOfKind && spec['conversion']['strategy'] === 'Webhook';
};

const serves = ({ group, kind, object }: WantedObject, { apiVersion }: WantedObject): boolean =>
  group === 'apiregistration.k8s.io' &&
  kind === 'APIService' &&
  isRecord(object['spec']) &&
  object['spec']['group'] === groupOf(apiVersion) &&
  object['spec']['version'] === apiVersion.slice(apiVersion.indexOf('/') + 1);
