import { FleetError, formatError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { digestsOfMedia } from './digests-of-media.ts';
import type { CheckLine, VerificationPredicate } from './evidence.ts';

/** The medium given beside the evidence: opened, or the reason why it cannot be opened. */
export type GivenMedium = { readonly paths: readonly string[] } & (
  | { readonly open: OpenMedium }
  | { readonly refusal: FleetError }
);

/**
 * Compares a medium with evidence of one that could not be opened, by the files that the evidence names.
 * @returns the sentence that reports it @throws FleetError EVIDENCE_INVALID if it is another medium, or the evidence names no files
 */
export const checkRefused = async (
  given: GivenMedium,
  { time, form }: VerificationPredicate,
  { digests: refused }: CheckLine,
  signal?: AbortSignal,
): Promise<string> => {
  const name = given.paths.join(', ');
  const one = `${name} is`;
  const other = `the medium that was refused at ${time}`;
  const here = await digestsOfMedia(given.paths, signal);
  if (refused.length === 0 || here.length === 0) {
    const why =
      refused.length === 0
        ? 'none of its files could be read when it was refused'
        : 'none of its files can be read now';
    throw new FleetError('EVIDENCE_INVALID', `it is not known whether ${one} ${other}: ${why}`);
  }
  const isDirectory = form === 'directory';
  if (here.some((digest) => !refused.includes(digest))) {
    const what = isDirectory ? 'its table of contents differs' : 'its bytes differ';
    throw new FleetError('EVIDENCE_INVALID', `${one} not ${other}: ${what}`);
  }
  const part = here.length < refused.length ? `${here.length} of its ${refused.length} files, ` : '';
  const same = isDirectory ? 'the same table of contents, and no more of it was kept' : 'the same bytes';
  const now =
    'open' in given ? 'it can be opened now' : `it still cannot be opened: ${formatError(given.refusal)}`;
  return `${one} ${other}: ${part}${same}; ${now}`;
};
