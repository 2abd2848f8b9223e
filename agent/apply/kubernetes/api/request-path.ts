import { defined } from '#bundles/defined';
import { apiVersionOf } from './discover.ts';
import type { ListOptions, ResourceType } from './kubernetes-api.ts';

/** Query parameters of a list or watch. */
export const selectors = ({ labelSelector, fieldSelector }: ListOptions): Readonly<Record<string, string>> =>
  defined({
    labelSelector,
    fieldSelector,
  });

/** Path of an object, or of all objects of a kind. */
export const pathOf = (type: ResourceType, namespace: string | undefined, name: string | undefined): string =>
  [
    type.group === '' ? '/api' : '/apis',
    ...apiVersionOf(type).split('/'),
    ...(type.namespaced && namespace !== undefined ? ['namespaces', encodeURIComponent(namespace)] : []),
    type.plural,
    ...(name === undefined ? [] : [encodeURIComponent(name)]),
  ].join('/');
