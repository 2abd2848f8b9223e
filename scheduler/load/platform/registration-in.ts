import type { Candidate } from '#bundles/formats/candidate';
import type { HeldWorkload } from '../../model/model.ts';
import { registrationOf } from './declarations.ts';

/** The registration whose application declares a deployment target; undefined if no candidate says. @param history newest first */
export const registrationIn = (
  history: readonly Pick<Candidate, 'declared'>[],
  target: string,
): string | undefined => {
  for (const { declared = [] } of history) {
    const place = declared.find(({ targets }) => targets?.includes(target));
    if (place) return registrationOf(place.in);
  }
  return undefined;
};

/** Whether a package may be of an application. Another registration of the workspace is another application. */
export const isOf = (
  { registration, workspace }: Pick<HeldWorkload, 'registration' | 'workspace'>,
  its: string | undefined,
  from: string | undefined,
): boolean => (from === undefined ? workspace === (its ?? '') : registration === from);
