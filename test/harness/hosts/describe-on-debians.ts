import { it } from 'vitest';
import type { PartName } from '../parts.ts';
import { describeWith } from '../run/describe-with.ts';
import { LONG } from '../run/long.ts';

const DEBIANS = [
  { debian: 12, base: 'factoryBase' },
  { debian: 13, base: 'factoryBase13' },
  { debian: 'sid', base: 'factoryBaseSid' },
] as const;

export type Debian = (typeof DEBIANS)[number]['debian'];

export type OnDebian = {
  readonly debian: Debian;
  /** For startFactoryHost. */
  readonly base: string;
  /** As `it`, on one Debian also in a long run: for a test whose programs of the host do the same on both. On the other it is not even named. */
  readonly itOnce: (title: string, test: () => void | Promise<void>) => void;
};

/** Debian sid, the next release, is tried in a long run alone, and only where it is named: its hosts have no limits of control groups here. */
const isTried = (debian: Debian, named: readonly Debian[]): boolean => {
  if (debian === 'sid') return LONG && named.includes(debian);
  return LONG || named.includes(debian);
};

/**
 * As describeWith, on a Debian that hosts run, by name in the title: in a long run on each release, and on sid where it is named; in `npm test` on the
 * releases that are named, whose first is that of itOnce. `names` are parts beside the base of the host.
 */
export const describeOnDebian =
  (...named: readonly [Debian, ...Debian[]]) =>
  <Name extends PartName>(
    names: readonly Name[],
    title: string,
    body: (on: OnDebian, paths: Readonly<Record<Name, string>>) => void | Promise<void>,
  ): void => {
    for (const { debian, base } of DEBIANS.filter((one) => isTried(one.debian, named))) {
      const itOnce: OnDebian['itOnce'] = debian === named[0] ? (name, test) => it(name, test) : () => {};
      describeWith([base, ...names], `${title}, Debian ${debian}`, (paths) =>
        body({ debian, base: paths[base], itOnce }, paths),
      );
    }
  };

/** For what is tried on the newer Debian in `npm test`, and on both in a long run. */
export const describeOnDebians = describeOnDebian(13);

/** And on the next one in a long run. */
export const describeOnDebiansAndSid = describeOnDebian(13, 'sid');
