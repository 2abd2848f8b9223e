import type { Candidate } from '#bundles/formats/candidate';

/**
 * The platform that a candidate was made from, as `--platform` names it; undefined where it was a directory, which nobody
 * but its owner can find again.
 */
export const platformOf = ({ sources }: Candidate): string | undefined => {
  const found = sources.find(({ role }) => role === 'platform');
  if (found?.commit === undefined) return undefined;
  // Kalypso's Environment objects are in a folder of their own, beside the rest.
  const path = found.path.replace(/(?:^|\/)\.environments$/, '') || '.';
  return `${found.repo}#${found.ref ?? ''}:${path}`;
};
