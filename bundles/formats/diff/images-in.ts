const LISTS: ReadonlySet<string> = new Set(['containers', 'initContainers', 'ephemeralContainers']);

/** Images of all containers below a value: a pod template may be anywhere in an object. */
export const imagesIn = (value: unknown): readonly string[] => {
  if (Array.isArray(value)) return value.flatMap(imagesIn);
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([key, below]: [string, unknown]) => [
    ...(LISTS.has(key) && Array.isArray(below) ? below.flatMap(imageOf) : []),
    ...imagesIn(below),
  ]);
};

const imageOf = (container: unknown): readonly string[] => {
  const { image } = (container ?? {}) as Record<string, unknown>;
  return typeof image === 'string' ? [image] : [];
};
