import { it } from 'vitest';
import type { PartName } from '../parts.ts';
import { describeWith } from '../run/describe-with.ts';
import { LONG } from '../run/long.ts';

const DEBIANS = [
  { debian: 12, base: 'factoryBase' },
  { debian: 13, base: 'factoryBase13' },
] as const;

type Debian = (typeof DEBIANS)[number]['debian'];

export type OnDebian = {
  readonly debian: Debian;
  /** For startFactoryHost. */
  readonly base: string;
  /** As `it`, on one Debian also in a long run: for a test whose programs of the host do the same on both. On the other it is not even named. */
  readonly itOnce: (title: string, test: () => void | Promise<void>) => void;
};

/**
 * As describeWith, on a Debian that hosts run, by name in the title: on each in a long run, on those of `everyRun` in `npm test`, whose first
 * is that of itOnce. `names` are parts beside the base of the host.
 */
export const describeOnDebian =
  (...everyRun: readonly [Debian, ...Debian[]]) =>
  <Name extends PartName>(
    names: readonly Name[],
    title: string,
    body: (on: OnDebian, paths: Readonly<Record<Name, string>>) => void | Promise<void>,
  ): void => {
    for (const { debian, base } of DEBIANS.filter((one) => LONG || everyRun.includes(one.debian))) {
      const itOnce: OnDebian['itOnce'] = debian === everyRun[0] ? (name, test) => it(name, test) : () => {};
      describeWith([base, ...names], `${title}, Debian ${debian}`, (paths) =>
        body({ debian, base: paths[base], itOnce }, paths),
      );
    }
  };

/** For what is tried on the newer Debian in `npm test`, and on both in a long run. */
export const describeOnDebians = describeOnDebian(13);
