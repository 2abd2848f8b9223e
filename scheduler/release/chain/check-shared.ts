import type { Candidate } from '#bundles/formats/candidate';
import type { FleetError } from '#bundles/errors';
import type { GivenCandidate } from '../../assemble/candidate/given-candidate.ts';
import type { Platform } from '../../model/model.ts';
import { notPromoted } from './open-chain.ts';

type Named = { readonly name: string; readonly version?: string; readonly digest: string };

/**
 * Checks that a build uses the promoted sources: the platform's own files, charts, files from elsewhere and images. Images in the
 * promoted lock file are resolved by it; any other tag may have moved since.
 * @param made the candidate of the build
 * @throws FleetError NOT_PROMOTED naming the first difference
 */
export const checkShared = (
  { document }: GivenCandidate,
  made: Candidate,
  { environment, imageLocks }: Pick<Platform, 'environment' | 'imageLocks'>,
): void => {
  const trees = new Set(document.sources.map(({ role, path, tree }) => `${role}\0${path}\0${tree}`));
  const foreign = made.sources.find(
    ({ role, path, tree }) => role === 'platform' && !trees.has(`${role}\0${path}\0${tree}`),
  );
  if (foreign)
    throw notPromoted(environment, `the platform's files in ${foreign.path} differ from the promoted ones`);
  const compare = (what: string, promoted: readonly Named[], found: readonly Named[]): void => {
    const known = new Map(promoted.map((one) => [keyOf(one), one.digest]));
    const moved = found.find((one) => (known.get(keyOf(one)) ?? one.digest) !== one.digest);
    if (moved) throw movedSince(environment, `${what} ${moved.name}`);
  };
  compare('the chart', document.charts, made.charts);
  compare('the file', document.files ?? [], made.files ?? []);
  compare(
    'the image',
    document.images,
    made.images.filter(({ name }) => !imageLocks.has(name)),
  );
};

const keyOf = ({ name, version = '' }: Named): string => `${name}\0${version}`;

const movedSince = (environment: string, what: string): FleetError =>
  notPromoted(environment, `${what} has another digest than in the promoted candidate`);
