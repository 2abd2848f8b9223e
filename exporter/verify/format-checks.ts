import { nameSome } from '#bundles/name-some';
import type { Check } from './check-list.ts';

/** A line a check, for people. */
export const formatChecks = (checks: readonly Check[]): string =>
  checks.map(({ what, ok, message }) => `${ok ? 'ok     ' : 'REFUSED'} ${what}: ${message}`).join('\n');

/** The last line where something was refused: what, why and what to do. Undefined where all is well. */
export const formatRefusal = (path: string, checks: readonly Check[]): string | undefined => {
  const [first, ...more] = checks.filter(({ ok }) => !ok);
  if (!first) return undefined;
  const others = more.length === 0 ? '' : ` Refused too: ${nameSome(more.map(({ what }) => what))}.`;
  const advice = first.hint === undefined ? `${first.message}. ${OTHERWISE}.` : first.message;
  return `${path} must not be imported, ${first.what} is refused: ${advice}${others}`;
};

const OTHERWISE = 'Make the medium again with fleet-export create, and keep this one if nobody knows why';
