/**
 * Generates list-keys.ts from the schema that Kubernetes publishes for server-side apply. Run it by hand to follow a newer minor version:
 * `node scheduler/plan/validate/kubernetes/generate-list-keys.ts v0.36.4` (of k8s.io/client-go). It needs Go, whose module proxy has it.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { compareBytes } from '#bundles/digest';
import { runProcess } from '#bundles/run-process';

type Type = {
  readonly namedType?: string;
  readonly list?: {
    readonly elementRelationship?: string;
    readonly keys?: readonly string[];
    readonly elementType: Type;
  };
};
type Named = {
  readonly name: string;
  readonly map?: {
    readonly fields?: readonly { readonly name: string; readonly type: Type; readonly default?: unknown }[];
  };
};

const [version = ''] = process.argv.slice(2);
const { stdout } = await runProcess(['go', 'mod', 'download', '-json', `k8s.io/client-go@${version}`], {
  cwd: tmpdir(),
  env: process.env,
  maxOutput: 1 << 20,
});
const { Dir: folder } = JSON.parse(stdout.toString('utf8')) as { Dir: string };
const source = await readFile(join(folder, 'applyconfigurations/internal/internal.go'), 'utf8');
const text = /`types:\n([\s\S]*?)`\)/.exec(source)?.[1] ?? '';
const types = parse(`types:\n${text}`) as { readonly types: readonly Named[] };
const byName = new Map(types.types.map((type) => [type.name, type]));

/** 'io.k8s.api.core.v1.Pod' -> 'core.v1.Pod', as in facts.jsonl. */
const shortName = (name: string): string => name.split('.').slice(-3).join('.');

const fieldsOf = (name: string | undefined) => byName.get(name ?? '')?.map?.fields ?? [];
const lines = types.types
  .filter(({ name }) => !/(?:Status|Condition)$/.test(name))
  .flatMap(({ name }) =>
    fieldsOf(name).flatMap((field) => {
      const { list } = field.type;
      if (list?.elementRelationship !== 'associative' || field.name === 'conditions') return [];
      const keys = (list.keys ?? []).map((key) => {
        const value = fieldsOf(list.elementType.namedType).find((one) => one.name === key)?.default;
        return typeof value === 'string' && value !== '' ? `['${key}', '${value}']` : `['${key}']`;
      });
      return [`  ['${shortName(name)}.${field.name}', [${keys.join(', ')}]],`];
    }),
  )
  .toSorted(compareBytes);

await writeFile(
  join(import.meta.dirname, 'list-keys.ts'),
  `/** A field that tells the items of a list apart, and its value where an item leaves it out. */
export type ListKey = readonly [name: string, absent?: string];

/**
 * The lists of Kubernetes' types whose items server-side apply tells apart: by these fields, or without any by the whole item. Written by
 * generate-list-keys.ts from k8s.io/client-go ${version}.
 */
export const LIST_KEYS: ReadonlyMap<string, readonly ListKey[]> = new Map<string, readonly ListKey[]>([
${lines.join('\n')}
]);
`,
);
