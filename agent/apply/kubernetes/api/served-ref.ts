import { apiVersionOf } from './discover.ts';
import type { KubernetesApi, TypeRef } from './kubernetes-api.ts';

/**
 * Converts a reference to a version that the server still has, because an object outlives the version in which it was written.
 * undefined if the server does not have the kind in any version.
 */
export const servedRef = async <R extends TypeRef>(
  api: Pick<KubernetesApi, 'typeOf' | 'types'>,
  ref: R,
  signal: AbortSignal,
): Promise<R | undefined> => {
  if (await api.typeOf(ref, signal)) return ref;
  const version = ref.apiVersion.slice(ref.apiVersion.indexOf('/') + 1);
  const isOfGroup = ({ group }: { readonly group: string }): boolean =>
    apiVersionOf({ group, version }) === ref.apiVersion;
  const other = (await api.types(signal)).find((type) => type.kind === ref.kind && isOfGroup(type));
  return other && { ...ref, apiVersion: apiVersionOf(other) };
};
