import * as fc from 'fast-check';

/** The same bytes with one of them changed. */
export const flippedByte = (bytes: Buffer): fc.Arbitrary<Buffer> =>
  fc.tuple(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 })).map(([at, mask]) => {
    const copy = Buffer.from(bytes);
    copy[at] = (copy[at] as number) ^ mask;
    return copy;
  });

type Path = readonly (string | number)[];

/** The same JSON with one of its values, at any depth, replaced by any other. */
export const replacedValue = (json: unknown): fc.Arbitrary<Buffer> => {
  const paths = pathsOf(json);
  return fc
    .tuple(fc.constantFrom(...paths), fc.jsonValue({ maxDepth: 2 }))
    .map(([path, value]) => Buffer.from(JSON.stringify(replaceAt(json, path, value))));
};

const pathsOf = (json: unknown): Path[] =>
  typeof json === 'object' && json !== null
    ? [[], ...Object.entries(json).flatMap(([key, value]) => pathsOf(value).map((rest) => [key, ...rest]))]
    : [[]];

const replaceAt = (json: unknown, [key, ...rest]: Path, value: unknown): unknown => {
  if (key === undefined) return value;
  const copy = Array.isArray(json) ? [...json] : { ...(json as object) };
  Object.assign(copy, { [key]: replaceAt((json as Record<string, unknown>)[key], rest, value) });
  return copy;
};
