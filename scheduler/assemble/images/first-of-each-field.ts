import type { FleetError } from '#bundles/errors';

/** One advice for each field of a kind, which its hint names: a hundred objects of it are described by one line. */
export const firstOfEachField = (suspects: readonly FleetError[]): readonly FleetError[] => {
  const first = new Map<string, FleetError>();
  for (const one of suspects) if (!first.has(one.hint ?? '')) first.set(one.hint ?? '', one);
  return [...first.values()];
};
