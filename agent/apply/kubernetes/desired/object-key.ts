import type { ObjectRef } from '../api/kubernetes-api.ts';

/** 'apps/v1' -> 'apps', 'v1' -> ''. */
export const groupOf = (apiVersion: string): string =>
  apiVersion.includes('/') ? (apiVersion.split('/')[0] as string) : '';

/** `apiGroup/Kind/namespace/name`: the version does not count, it is the same object in each. */
export const keyOf = ({ apiVersion, kind, namespace = '', name }: ObjectRef): string =>
  `${groupOf(apiVersion)}/${kind}/${namespace}/${name}`;

/** The way back. @param apiVersion as the inventory remembers it: a key has the group only */
export const refOf = (key: string, apiVersion: string): ObjectRef => {
  const [, kind = '', namespace = '', ...name] = key.split('/');
  return { apiVersion, kind, name: name.join('/'), ...(namespace !== '' && { namespace }) };
};
