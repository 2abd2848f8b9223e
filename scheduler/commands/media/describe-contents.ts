import type { MediumContents } from '#bundles/formats/medium/departure';

/** 'prod/press r3 for plant-1, plant-2, filled 2026-11-21T08:00:00Z' */
export const describeContents = ({ releases, sites, createdAt }: MediumContents): string =>
  `${releases.join(', ') || 'no release'} for ${sites.join(', ') || 'no named site'}, filled ${createdAt}`;
