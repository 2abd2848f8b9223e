import { beforeEach, describe } from 'vitest';
import { SKIPPED } from './count-results.ts';
import { type PartName, parts, partTitle } from '../parts.ts';

declare module 'vitest' {
  interface TaskMeta {
    /** The parts that describeWith gave the test. */
    parts?: readonly string[];
  }
}

/**
 * A `describe` for tests that need real parts; `body` gets their paths by name. Where one is absent its tests are
 * still named and counted, as skipped, and the title says which part and why.
 */
export const describeWith = <Name extends PartName>(
  names: readonly Name[],
  title: string,
  body: (paths: Readonly<Record<Name, string>>) => void | Promise<void>,
): void => {
  const reasons = names.flatMap((name) => {
    const part = parts[name];
    return part.present ? [] : [`${partTitle(name)}: ${shorten(part.reason)}`];
  });
  const paths = Object.fromEntries(
    names.map((name) => {
      const part = parts[name];
      return [name, part.present ? part.path : ''];
    }),
  ) as Record<Name, string>;
  if (reasons.length === 0)
    describe(title, () => {
      // For the record of which versions ran (record-parts.ts).
      beforeEach(({ task }) => {
        task.meta.parts = [...new Set([...(task.meta.parts ?? []), ...names])];
      });
      return body(paths);
    });
  else describe.skip(`${title}${SKIPPED}${reasons.join(' ')})`, () => body(paths));
};

/** `npm test` has shown the whole reason; a title needs its beginning. */
const shorten = (reason: string): string => (reason.length > 120 ? `${reason.slice(0, 120)} ...` : reason);
