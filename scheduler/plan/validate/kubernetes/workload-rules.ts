import { type Document, isMap, type Node } from 'yaml';
import type { Finding } from './walk.ts';

/**
 * A rule of the server that types do not express: the selector of a workload must be present, and match the labels of its
 * pod template.
 */
export const judgeSelector = (apiVersion: string, kind: string, document: Document): readonly Finding[] => {
  if (apiVersion !== 'apps/v1' || !['Deployment', 'StatefulSet', 'DaemonSet', 'ReplicaSet'].includes(kind))
    return [];
  const selector = document.getIn(['spec', 'selector'], true) as Node | undefined;
  if (!isMap(selector)) return [];
  const wanted = document.getIn(['spec', 'selector', 'matchLabels'], true);
  const pairs = isMap(wanted) ? wanted.items : [];
  if (pairs.length === 0 && !selector.has('matchExpressions'))
    return [{ path: 'spec.selector', node: selector, says: 'selects nothing: it has no labels' }];
  return pairs.flatMap((pair) => {
    const key = String(pair.key);
    const value = isMap(wanted) ? wanted.get(key) : undefined;
    const label: unknown = document.getIn(['spec', 'template', 'metadata', 'labels', key]);
    // A value that is not text is reported by the type check.
    if (typeof value !== 'string' || label === value) return [];
    const written = typeof label === 'string' ? `have ${key}=${label}` : `have no ${key}`;
    const says = `wants ${key}=${value}, but the pods of spec.template ${written}`;
    return [{ path: 'spec.selector.matchLabels', node: pair.key as Node, says }];
  });
};
