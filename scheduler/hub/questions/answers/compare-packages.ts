import { isUtf8 } from 'node:buffer';
import { compareBytes, type Digest } from '#bundles/digest';
import type { ChangedValue } from '#bundles/formats/author-schema/changed-values';
import { compareItems, type ItemDiff } from '#bundles/formats/diff/compare-items';
import { readItems } from '#bundles/formats/diff/read-items';
import { type Channel, formatChannel } from '#bundles/names';
import { comparedValues } from './compared-values.ts';
import type { Released, Releases } from '../history/read-releases.ts';

type Files = ReadonlyMap<string, Buffer>;

/** Objects and files that differ, and values of configuration in them by name. */
export type PackageDifferences = {
  readonly objects: readonly ItemDiff[];
  readonly values: readonly ChangedValue[];
};

/** Differences by the channels and the digests of both packages, which never change. */
const compared = new WeakMap<Releases, Map<string, PackageDifferences>>();

/** A package and the channel that released it. */
type Place = { readonly released: Released; readonly channel: Channel };
type Differences = (left: Place, right: Place, assignment: string) => Promise<PackageDifferences>;

/** Each bundle is unpacked at most once for a question, and only for packages that were not compared before. */
export const readDifferences = (releases: Releases): Differences => {
  const known = compared.get(releases) ?? new Map<string, PackageDifferences>();
  compared.set(releases, known);
  const bundles = new Map<Digest, ReturnType<Releases['packagesOf']>>();
  const filesOf = async ({ released: { bundle }, channel }: Place, assignment: string): Promise<Files> => {
    const packages = bundles.get(bundle) ?? releases.packagesOf(bundle);
    bundles.set(bundle, packages);
    return withoutEnvironment((await packages).get(assignment) ?? new Map(), channel);
  };
  return async (left, right, assignment) => {
    const pair = [left, right]
      .map(({ released, channel }) => `${formatChannel(channel)} ${released.package}`)
      .join(' ');
    const found =
      known.get(pair) ?? diffPackages(await filesOf(left, assignment), await filesOf(right, assignment));
    known.set(pair, found);
    return found;
  };
};

/**
 * Replaces the environment in namespaces of its own channel, '<environment>-<cluster type>-<target>', and in the label
 * fleet-ferry/environment by '<environment>'. Another environment's name stays, so a reference to it is shown.
 */
const withoutEnvironment = (files: Files, { environment, clusterType }: Channel): Files => {
  // Names are lower-case letters, digits and '-', so they need no escaping.
  const own = new RegExp(
    `(?<![a-z0-9-])${environment}(?=-${clusterType}-[a-z0-9])|(?<=fleet-ferry/environment"?: ?"?)${environment}(?![a-z0-9-])`,
    'g',
  );
  return new Map(
    [...files].map(([path, bytes]) => [
      path,
      isUtf8(bytes) ? Buffer.from(bytes.toString('utf8').replace(own, '<environment>')) : bytes,
    ]),
  );
};

/** Compares the files of two packages of one environment. */
export const diffPackages = (left: Files, right: Files): PackageDifferences => {
  const [before, after] = [readItems(left), readItems(right)];
  const keys = [...new Set([...before.keys(), ...after.keys()])].toSorted(compareBytes);
  return {
    objects: keys.flatMap((key) => compareItems(before.get(key), after.get(key)) ?? []),
    values: comparedValues(before, after),
  };
};
