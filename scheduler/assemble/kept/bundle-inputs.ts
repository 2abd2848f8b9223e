import { createHash } from 'node:crypto';
import { type Digest, digestOf } from '#bundles/digest';
import type { Application } from '../../load/applications/application.ts';
import { exactText } from '../../model/exact-text.ts';
import type { Platform } from '../../model/model.ts';
import { remember } from '../../model/remember.ts';
import type { DefinitionFile } from '../../plan/validate/kubernetes/custom-kinds.ts';
import type { BundleInput } from '../bundle/bundle-input.ts';
import { inputsOfReaders } from '../bundle/refuse-readers.ts';
import { applicationsOf } from '../incremental/reuse-bundle.ts';

/**
 * Computes digests of the inputs of bundles. Packages share applications: the digest of each is computed once. The rendered files are not read:
 * the digest of what they are rendered from covers them.
 * @param definitions the files that define kinds
 * @returns `common` of all bundles of the environment, and a function from the input of a bundle to the digest of everything that decides the
 * bundle, except images and files outside of the platform; it returns undefined if an application cannot be read
 */
export const inputDigests = (
  platform: Platform,
  definitions: readonly DefinitionFile[],
): { readonly common: Digest; readonly of: (input: BundleInput) => Digest | undefined } => {
  const applicationDigest = remember(ofApplication);
  const common = digestOf(
    exactText([
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
  const of = (input: BundleInput): Digest | undefined => {
    const { pairs, judge, resolve } = input;
    const applications = pairs && applicationsOf(input);
    if (!applications) return undefined;
    const hash = createHash('sha256');
    const others = [common, pairs, judge?.target, resolve !== undefined, inputsOfReaders(input)];
    hash.update(`${exactText(others)}\n`);
    for (const one of applications) hash.update(`${one ? applicationDigest(one) : ''}\n`);
    return `sha256:${hash.digest('hex')}`;
  };
  return { common, of };
};

const ofApplication = ({ shown, files, images, advice, madeFrom }: Application): Digest =>
  digestOf(
    exactText([
      shown,
      images,
      advice?.map(({ code, message, subject, at, hint }) => [code, message, subject, at, hint]),
      [...files].map(([path, bytes]) => [path, digestOf(bytes), madeFrom?.(path)]),
    ]),
  );
