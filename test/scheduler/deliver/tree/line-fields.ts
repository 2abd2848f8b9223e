import type { ResolvedInput } from '#bundles/formats/site-values/resolve-inputs';

export const FILE = 'line.yaml';

/** One value of the site for an object in the file of the package. */
export const field = (pointer: string, value: ResolvedInput['value']): ResolvedInput => ({
  assignment: 'monitor-probe',
  input: 'value',
  file: FILE,
  pointer: `/0${pointer}`,
  value,
});

export const filesOf = (text: string): ReadonlyMap<string, Buffer> => new Map([[FILE, Buffer.from(text)]]);

/** An object of a custom resource with whole numbers that a double cannot hold. */
export const LINE = `apiVersion: lines.example/v1
kind: Line
metadata: {name: web, namespace: shop, annotations: {note: old}}
spec:
  serial: 9007199254740993
  belts:
    - {speed: 1, mask: 9223372036854775807}
    - {speed: 1, mask: 2}
`;
