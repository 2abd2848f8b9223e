import { createHash } from 'node:crypto';
import { type Digest, digestOf } from '#bundles/digest';
import type { Application } from '../../load/applications/application.ts';
import type { Platform, RenderedPackage } from '../../model/model.ts';
import type { DefinitionFile } from '../../plan/validate/kubernetes/custom-kinds.ts';
import type { BundleInput } from '../bundle/bundle-input.ts';
import { inputsOfReaders } from '../bundle/refuse-readers.ts';
import { applicationsOf } from '../incremental/reuse-bundle.ts';

/**
 * Takes digests of the inputs of bundles. Packages share targets, applications and configuration: the digest of each is computed once.
 * @param definitions the files that define kinds
 * @returns called with the input of a bundle, the digest of everything that decides the bundle, except images and files outside of the
 * platform; undefined if an application cannot be read
 */
export const inputDigests = (
  platform: Platform,
  definitions: readonly DefinitionFile[],
): ((input: BundleInput) => Digest | undefined) => {
  const known = new WeakMap<object, Digest>();
  const once = <T extends object>(value: T, digest: (value: T) => Digest): Digest => {
    const found = known.get(value) ?? digest(value);
    known.set(value, found);
    return found;
  };
  const common = digestOf(
    plain([
      platform.form,
      platform.fleet,
      platform.environment,
      platform.templates,
      platform.imageLocks,
      platform.imageIndexes,
      platform.imageAttachments,
      platform.imageFields,
      platform.imagePolicies,
      platform.contentLocks,
      platform.renderers,
      platform.debianBases,
      platform.workspaces,
      definitions.map(({ shown, bytes }) => [shown, digestOf(bytes)]),
    ]),
  );
  const ofPackage = (rendered: RenderedPackage, application: Application | undefined): string => {
    const { assignment, files, namespace, configData } = rendered;
    return JSON.stringify([
      once(assignment.target, ofPlain),
      assignment.policy,
      namespace,
      once(configData, ofPlain),
      files.map(({ path, text }) => [path, text]),
      application && once(application, ofApplication),
    ]);
  };
  return (input) => {
    const applications = applicationsOf(input);
    if (!applications) return undefined;
    const { clusterType, packages, judge, resolve } = input;
    const hash = createHash('sha256');
    const others = [common, clusterType, judge?.target, resolve !== undefined, inputsOfReaders(input)];
    hash.update(`${plain(others)}\n`);
    for (const [at, one] of packages.entries()) hash.update(`${ofPackage(one, applications[at])}\n`);
    return `sha256:${hash.digest('hex')}`;
  };
};

const ofPlain = (value: object): Digest => digestOf(plain(value));

const ofApplication = ({ shown, files, images, advice, madeFrom }: Application): Digest =>
  digestOf(
    plain([
      shown,
      images,
      advice?.map(({ code, message, subject, at, hint }) => [code, message, subject, at, hint]),
      [...files].map(([path, bytes]) => [path, digestOf(bytes), madeFrom?.(path)]),
    ]),
  );

/** As JSON, with Maps and sets as lists, and with numbers that JSON does not have. */
const plain = (value: unknown): string =>
  JSON.stringify(value, (_, one: unknown) => {
    if (one instanceof Map || one instanceof Set) return [...one];
    const isOther = typeof one === 'bigint' || (typeof one === 'number' && !Number.isFinite(one));
    return isOther ? { '\0number': `${one}` } : one;
  });
