import { type FleetError, formatError } from '#bundles/errors';

/** Keeps one advice for each field that may be an image, which its hint names, however many objects have it; of other advice each once. */
export const firstOfEachField = (suspects: readonly FleetError[]): readonly FleetError[] => {
  const first = new Map<string, FleetError>();
  for (const one of suspects) {
    const key = one.code === 'IMAGE_UNKNOWN' ? (one.hint ?? '') : formatError(one);
    if (!first.has(key)) first.set(key, one);
  }
  return [...first.values()];
};
