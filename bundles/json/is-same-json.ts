import { canonicalJson, type Json } from './canonical.ts';

/** Whether two values are the same JSON, numbers as doubles; an absent one is the same as an absent one only. */
export const isSameJson = (one: Json | undefined, other: Json | undefined): boolean =>
  one === undefined || other === undefined
    ? one === other
    : canonicalJson(one, 'doubles') === canonicalJson(other, 'doubles');
