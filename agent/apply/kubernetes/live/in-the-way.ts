import type { JsonPatch, LiveObject } from '../api/kubernetes-api.ts';
import { additionsOf } from './additions.ts';

/** What others added to an object, and the change that removes it. */
export type InTheWay = {
  /** 'spec.ports[port=81,protocol=TCP] of kubectl-patch' */
  readonly named: readonly string[];
  readonly operations: readonly JsonPatch[];
};

/**
 * Fields and list items of other managers at the place that the server names in its refusal of an apply. A person who edits the
 * key of a list item, or another member of a union, leaves an object that ours cannot be merged into: two ports of
 * one name, a variable with `value` and `valueFrom`. The operations put there what the package has.
 * @param refusal the server's words or the fields that it names
 */
export const inTheWay = (live: LiveObject, wanted: LiveObject, refusal: string): InTheWay | undefined => {
  const said = refusal.replaceAll(/\[\d+\]/g, '');
  const isSaid = (place: string): boolean =>
    new RegExp(`(^|[^\\w.])${RegExp.escape(place.replaceAll(/\[[^\]]*\]/g, ''))}[.:]`).test(said);
  // Not a whole spec: what the server keeps in it would be gone.
  const found = additionsOf(live, wanted).filter(
    ({ place, holder }) => holder.lastIndexOf('/') > 0 && isSaid(place),
  );
  if (found.length === 0) return undefined;
  const holders = new Map(found.map(({ holder, wanted: value }) => [holder, value]));
  const outer = [...holders].filter(
    ([holder]) => ![...holders.keys()].some((other) => holder.startsWith(`${other}/`)),
  );
  return {
    named: [...new Set(found.map(({ path, manager }) => `${path} of ${manager}`))],
    operations: outer.map(([path, value]) => ({ op: 'replace', path, value })),
  };
};
