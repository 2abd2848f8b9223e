import type { FleetError } from '#bundles/errors';

/** Keeps one advice for each field of a kind, which its hint names, however many objects have the field. */
export const firstOfEachField = (suspects: readonly FleetError[]): readonly FleetError[] => {
  const first = new Map<string, FleetError>();
  for (const one of suspects) if (!first.has(one.hint ?? '')) first.set(one.hint ?? '', one);
  return [...first.values()];
};
