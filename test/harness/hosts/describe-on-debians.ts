import { it } from 'vitest';
import type { PartName } from '../parts.ts';
import { describeWith } from '../run/describe-with.ts';

const DEBIANS = [
  { debian: 12, base: 'factoryBase' },
  { debian: 13, base: 'factoryBase13' },
] as const;

export type OnDebian = {
  readonly debian: (typeof DEBIANS)[number]['debian'];
  /** For startFactoryHost. */
  readonly base: string;
  /** As `it`, on the first Debian only: for a test whose programs of the host do the same on both. On the others it is not even named. */
  readonly itOnce: (title: string, test: () => void | Promise<void>) => void;
};

/** As describeWith, once on each Debian that hosts run, by name in the title. `names` are parts beside the base of the host. */
export const describeOnDebians = <Name extends PartName>(
  names: readonly Name[],
  title: string,
  body: (on: OnDebian, paths: Readonly<Record<Name, string>>) => void | Promise<void>,
): void => {
  for (const { debian, base } of DEBIANS) {
    const itOnce: OnDebian['itOnce'] =
      debian === DEBIANS[0].debian ? (name, test) => it(name, test) : () => {};
    describeWith([base, ...names], `${title}, Debian ${debian}`, (paths) =>
      body({ debian, base: paths[base], itOnce }, paths),
    );
  }
};
