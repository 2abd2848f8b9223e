import type { JsonPatch, LiveObject } from '../api/kubernetes-api.ts';
import { additionsOf } from './additions.ts';

/** Additions of other managers to an object, and the patch that removes them. */
export type InTheWay = {
  /** 'spec.ports[port=81,protocol=TCP] of kubectl-patch' */
  readonly named: readonly string[];
  readonly operations: readonly JsonPatch[];
};

/**
 * Finds fields and list items of other managers at the path that the server names when it refuses an apply. If a person edits the key
 * of a list item or another member of a union, the package's object cannot be merged: two ports with one name, a variable with `value`
 * and `valueFrom`. The operations replace them with the package's fields.
 * @param refusal the server's message or the fields that it names
 */
export const inTheWay = (live: LiveObject, wanted: LiveObject, refusal: string): InTheWay | undefined => {
  const said = refusal.replaceAll(/\[\d+\]/g, '');
  const isSaid = (place: string): boolean =>
    new RegExp(`(^|[^\\w.])${RegExp.escape(place.replaceAll(/\[[^\]]*\]/g, ''))}[.:]`).test(said);
  // Never a whole spec, because fields that the server keeps in it would be lost.
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
