import { type Document, isMap, type Node } from 'yaml';
import type { Finding } from './walk.ts';

/**
 * What the server asks of workloads beyond their fields: the selector must select the pods of the template, and be there.
 * It is the slip of the pen that types cannot show.
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
    // What is no text is told as such.
    if (typeof value !== 'string' || label === value) return [];
    const written = typeof label === 'string' ? `have ${key}=${label}` : `have no ${key}`;
    const says = `wants ${key}=${value}, but the pods of spec.template ${written}`;
    return [{ path: 'spec.selector.matchLabels', node: pair.key as Node, says }];
  });
};
