import { isFleetError } from '#bundles/errors';
import type { KubernetesApi } from '../../api/kubernetes-api.ts';
import { textOf } from '../live-field.ts';

/** The storage classes that bind a claim only when a pod uses it; none where we may not look. */
export const readLateBinding = async (
  api: Pick<KubernetesApi, 'list'>,
  signal: AbortSignal,
): Promise<ReadonlySet<string>> => {
  const type = { apiVersion: 'storage.k8s.io/v1', kind: 'StorageClass' };
  const { items } = await api.list(type, {}, signal).catch((error: unknown) => {
    if (isFleetError(error, 'API_DENIED')) return { items: [] };
    throw error;
  });
  return new Set(
    items
      .filter((one) => textOf(one, 'volumeBindingMode') === 'WaitForFirstConsumer')
      .map(({ metadata }) => metadata.name),
  );
};
