import { plainLine } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import type { Check } from './check-list.ts';
import type { Verification } from './verify-medium.ts';

/** One line for each check. */
export const formatChecks = (checks: readonly Check[]): string =>
  checks
    .map(({ what, ok, message }) => plainLine(`${ok ? 'ok     ' : 'REFUSED'} ${what}: ${message}`))
    .join('\n');

/** The first line: whether the medium is valid; otherwise the first refusal with its reason and hint. */
export const formatVerdict = (
  path: string,
  { checks, anchored }: Pick<Verification, 'checks' | 'anchored'>,
): string => {
  const [first, ...more] = checks.filter(({ ok }) => !ok);
  if (!first) {
    const passed = `all ${checks.length} checks passed`;
    return anchored
      ? `${path} may be imported: ${passed}`
      : `${path} is complete and consistent with its own root: ${passed}; --root-sha256 checks that it belongs to your fleet`;
  }
  const others = more.length === 0 ? '' : ` Refused too: ${nameSome(more.map(({ what }) => what))}.`;
  const advice = first.hint === undefined ? `${first.message}. ${OTHERWISE}.` : first.message;
  return `${path} must not be imported, ${first.what} is refused: ${advice}${others}`;
};

const OTHERWISE =
  'Make the medium again with fleet-export create, and keep this one for analysis if the cause is unknown';
