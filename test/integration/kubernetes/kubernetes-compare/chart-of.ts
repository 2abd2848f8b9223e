import * as fc from 'fast-check';
import { type World, world } from './worlds.ts';

/** A Helm chart that writes given objects, each in one of the ways in which authors write theirs. */

type Fields = Readonly<Record<string, unknown>>;

export const CHART_WAYS = ['values', 'literal', 'named', 'ranged', 'kept', 'hook', 'off'] as const;
export type ChartWay = (typeof CHART_WAYS)[number];

const metadataOf = (object: Fields): Fields & { readonly name: string } =>
  object['metadata'] as Fields & { readonly name: string };

const annotated = (object: Fields, annotations: Fields): Fields => {
  const metadata = metadataOf(object);
  return {
    ...object,
    metadata: { ...metadata, annotations: { ...(metadata['annotations'] as Fields), ...annotations } },
  };
};

/** JSON in which Helm finds no template, with whole numbers beyond 2^53. */
const literal = (object: Fields): string =>
  JSON.stringify(object).replaceAll('{{', '{{ "{{" }}').replaceAll('"LONG"', '9007199254740993');

/** The office takes images by digest only. */
const pinned = (object: Fields): Fields =>
  JSON.parse(
    JSON.stringify(object).replaceAll(
      /"image":"([abc])[^"]*"/g,
      (_, letter: string) => `"image":"registry.example/web@sha256:${letter.repeat(64)}"`,
    ),
  ) as Fields;

/** Values pass through floating point numbers on their way: what is longer is written in the template itself. */
const hasLong = (object: Fields): boolean => JSON.stringify(object).includes('"LONG"');

const KEEP = { 'helm.sh/resource-policy': 'keep' };
const HOOK = { 'helm.sh/hook': 'pre-install,pre-upgrade', 'helm.sh/hook-weight': '-1' };

/**
 * The files of the chart.
 * @param ways by kind of the object
 */
export const chartOf = (
  objects: readonly Fields[],
  ways: ReadonlyMap<string, ChartWay>,
): Readonly<Record<string, string>> => {
  const values: Record<string, unknown> = {};
  const ranged: Fields[] = [];
  const templates: Record<string, string> = {};
  for (const object of objects.map(pinned)) {
    const { name } = metadataOf(object);
    const wanted = ways.get(object['kind'] as string) ?? 'literal';
    const way = hasLong(object) && ['values', 'named', 'ranged'].includes(wanted) ? 'literal' : wanted;
    const path = `templates/${name}.yaml`;
    switch (way) {
      case 'values':
        values[name] = object;
        templates[path] = `{{- with .Values.${name} }}\n{{ toYaml . }}\n{{- end }}\n`;
        break;
      case 'named':
        values[name] = object;
        templates[path] = `{{ include "all" (dict "object" .Values.${name}) }}\n`;
        break;
      case 'ranged':
        ranged.push(object);
        break;
      case 'kept':
        templates[path] = `# kept\n${literal(annotated(object, KEEP))}\n---\n---\n`;
        break;
      case 'hook':
        templates[path] = literal(annotated(object, HOOK));
        break;
      case 'off':
        templates[path] = `{{ if .Values.on }}\n${literal(object)}\n{{ end }}`;
        break;
      case 'literal':
        templates[path] = literal(object);
    }
  }
  return {
    'Chart.yaml': 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
    'values.yaml': JSON.stringify({ on: true, ...values, all: ranged }),
    'templates/_all.tpl': '{{- define "all" -}}\n{{ toJson .object }}\n{{- end -}}\n',
    'templates/NOTES.txt': 'Thank you for {{ .Chart.Name }}\n',
    'templates/all.yaml': '{{- range .Values.all }}\n---\n{{ toYaml . }}\n{{- end }}\n',
    ...templates,
  };
};

/** The names of objects that stay when they leave the package. */
export const keptNames = (
  objects: readonly Fields[],
  ways: ReadonlyMap<string, ChartWay>,
): readonly string[] =>
  objects.flatMap((object) =>
    ways.get(object['kind'] as string) === 'kept' ? [metadataOf(object).name] : [],
  );

/** A world whose objects a chart writes, and how it writes each kind. */
export type ChartWorld = { readonly world: World; readonly ways: ReadonlyMap<string, ChartWay> };

const kindsOf = ({ first, second }: World): readonly string[] => [
  ...new Set([...first, ...second].map(({ kind }) => kind as string)),
];

export const chartWorld: fc.Arbitrary<ChartWorld> = world.chain((one) => {
  const kinds = kindsOf(one);
  return fc
    .array(fc.constantFrom(...CHART_WAYS), { minLength: kinds.length, maxLength: kinds.length })
    .map((ways) => ({ world: one, ways: new Map(kinds.map((kind, at) => [kind, ways[at] ?? 'literal'])) }));
});
