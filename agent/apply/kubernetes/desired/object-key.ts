import { defined } from '#bundles/defined';
import type { ObjectRef } from '../api/kubernetes-api.ts';

/** 'apps/v1' -> 'apps', 'v1' -> ''. */
export const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? (apiVersion.split('/')[0] as string) : '';

/** `apiGroup/Kind/namespace/name`, without the version, because an object is the same in each version. */
export const keyOf = ({ apiVersion, kind, namespace = '', name }: ObjectRef): string =>
  `${groupOf(apiVersion)}/${kind}/${namespace}/${name}`;

/** Converts a key back to a reference. @param apiVersion from the inventory, because a key has only the group */
export const refOf = (key: string, apiVersion: string): ObjectRef => {
  const [, kind = '', namespace = '', ...name] = key.split('/');
  return defined({
    apiVersion,
    kind,
    name: name.join('/'),
    namespace: namespace !== '' ? namespace : undefined,
  });
};
