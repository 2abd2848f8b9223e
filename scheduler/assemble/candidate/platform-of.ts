import type { Candidate } from '#bundles/formats/candidate';

/** The platform of a candidate as a value for `--platform`; undefined for a directory, whose path is not recorded. */
export const platformOf = ({ sources }: Candidate): string | undefined => {
  const found = sources.find(({ role }) => role === 'platform');
  if (found?.commit === undefined) return undefined;
  // Kalypso's Environment objects are in a separate folder.
  const path = found.path.replace(/(?:^|\/)\.environments$/, '') || '.';
  return `${found.repo}#${found.ref ?? ''}:${path}`;
};
