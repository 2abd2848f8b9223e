/**
 * Generates facts.jsonl from Kubernetes' own API definitions of several minor versions. Run it by hand to add a minor
 * version: `node scheduler/plan/validate/kubernetes/generate-facts.ts 1.29.6 1.30.14 ...` It needs Go, whose module proxy
 * has the sources of Kubernetes. docs/validation.md describes the file.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { runProcess } from '#bundles/run-process';

type Schema = {
  readonly type?: string;
  readonly format?: string;
  readonly $ref?: string;
  readonly items?: Schema;
  readonly additionalProperties?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
};
type Operation = {
  readonly 'x-kubernetes-group-version-kind'?: {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  };
  readonly parameters?: readonly { readonly in: string; readonly schema?: Schema }[];
};
type Swagger = {
  readonly definitions: Readonly<Record<string, Schema>>;
  readonly paths: Readonly<Record<string, { readonly post?: Operation }>>;
};
type Release = {
  readonly minor: number;
  readonly swagger: Swagger;
  readonly enums: ReadonlyMap<string, readonly string[]>;
};

/** Types with their own notation. */
const SPECIAL: Readonly<Record<string, string>> = {
  'io.k8s.apimachinery.pkg.api.resource.Quantity': 'quantity',
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': 'int-or-string',
  'io.k8s.apimachinery.pkg.apis.meta.v1.Time': 'time',
  'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': 'time',
};

const download = async (version: string): Promise<Release> => {
  const { stdout } = await runProcess(['go', 'mod', 'download', '-json', `k8s.io/kubernetes@v${version}`], {
    cwd: tmpdir(),
    env: process.env,
    maxOutput: 1 << 20,
  });
  const { Dir: folder } = JSON.parse(stdout.toString('utf8')) as { Dir: string };
  const swagger = await readFile(join(folder, 'api/openapi-spec/swagger.json'), 'utf8');
  const source = await readFile(join(folder, 'pkg/generated/openapi/zz_generated.openapi.go'), 'utf8');
  return {
    minor: Number(version.split('.')[1]),
    swagger: JSON.parse(swagger) as Swagger,
    enums: readEnums(source),
  };
};

/** The published definitions leave out enum values; the generated Go source has them. */
const readEnums = (source: string): ReadonlyMap<string, readonly string[]> => {
  const found = new Map<string, readonly string[]>();
  let type = '';
  let field = '';
  for (const line of source.split('\n')) {
    const begins = /^func schema_(\w+?)_(v\d\w*?)_(\w+)\(/.exec(line);
    if (begins) type = `${(begins[1] ?? '').split('_').at(-1)}.${begins[2]}.${begins[3]}`;
    field = /^\t{5}"([^"]+)": \{$/.exec(line)?.[1] ?? field;
    const words = /^\t+Enum:\s+\[\]interface\{\}\{(.*)\},$/.exec(line)?.[1];
    if (words !== undefined)
      found.set(`${type}.${field}`, (JSON.parse(`[${words}]`) as string[]).toSorted(compareBytes));
  }
  return found;
};

/** 'io.k8s.api.core.v1.Pod' -> 'core.v1.Pod'. */
const shortName = (name: string): string => name.split('.').slice(-3).join('.');

const describeField = (schema: Schema, release: Release, words: readonly string[] | undefined): string => {
  if (schema.$ref !== undefined) {
    const name = schema.$ref.slice('#/definitions/'.length);
    const definition = release.swagger.definitions[name];
    return SPECIAL[name] ?? (definition?.properties === undefined ? 'any' : shortName(name));
  }
  switch (schema.type) {
    case 'array':
      return `[]${describeField(schema.items ?? {}, release, words)}`;
    case 'object':
      return schema.additionalProperties
        ? `{}${describeField(schema.additionalProperties, release, words)}`
        : 'any';
    case 'integer':
      return schema.format === 'int64' ? 'int64' : 'int32';
    case 'string':
      if (words) return words.map((word) => `'${word}'`).join('|');
      if (schema.format === 'byte') return 'base64';
      return schema.format === 'date-time' ? 'time' : 'string';
    case 'number':
    case 'boolean':
      return schema.type;
    case undefined:
    default:
      return 'any';
  }
};

/** Every kind that can be created, by 'group/version Kind', with its type and scope. */
const creatable = ({ swagger }: Release): ReadonlyMap<string, { type: string; scope: string }> => {
  const found = new Map<string, { type: string; scope: string }>();
  for (const [path, { post }] of Object.entries(swagger.paths)) {
    const named = post?.['x-kubernetes-group-version-kind'];
    const body = post?.parameters?.find((one) => one.in === 'body')?.schema?.$ref;
    const place = /^\/apis?\/(?:[^/]+\/)?v\d\w*\/(namespaces\/\{namespace\}\/)?[a-z]+$/.exec(path);
    if (!named || body === undefined || !place) continue;
    const key = `${named.group ? `${named.group}/` : ''}${named.version} ${named.kind}`;
    const scope = place[1] === undefined ? (found.get(key)?.scope ?? 'cluster') : 'namespaced';
    found.set(key, { type: body.slice('#/definitions/'.length), scope });
  }
  return found;
};

/** Combines a fact that is equal in consecutive minors into one, with the range of minors; no range means all. */
const spans = (facts: ReadonlyMap<number, string>, minors: readonly number[]): readonly string[] => {
  const runs: { fact: string; from: number; to: number }[] = [];
  for (const [minor, fact] of facts) {
    const last = runs.at(-1);
    if (last && last.fact === fact && last.to === minor - 1) last.to = minor;
    else runs.push({ fact, from: minor, to: minor });
  }
  return runs.map(({ fact, from, to }) => {
    const since = from === minors[0] ? '' : String(from);
    const until = to === minors.at(-1) ? '' : String(to);
    return since === '' && until === '' ? fact : `${fact} @${since}-${until}`;
  });
};

const fieldFacts = (release: Release, name: string, top: boolean): Readonly<Record<string, string>> => {
  const { properties = {}, required = [] } = release.swagger.definitions[name] ?? {};
  return Object.fromEntries(
    Object.entries(properties).map(([field, schema]) => {
      // Authors write neither a status nor managedFields.
      const skipped = (top && field === 'status') || field === 'managedFields';
      const words = release.enums.get(`${shortName(name)}.${field}`);
      const text = skipped ? 'any' : describeField(schema, release, words);
      return [field, required.includes(field) && !skipped ? `${text} !` : text];
    }),
  );
};

const releases = await Promise.all(process.argv.slice(2).map(download));
const minors = releases.map(({ minor }) => minor);
const objects = new Map<string, { type: string; scope: string; minors: Map<number, string> }>();
const types = new Map<string, Map<string, Map<number, string>>>();
for (const release of releases) {
  const wanted = [...creatable(release)].map(([key, { type, scope }]) => {
    const known = objects.get(key) ?? { type: shortName(type), scope, minors: new Map<number, string>() };
    objects.set(key, known);
    known.minors.set(release.minor, '');
    return { name: type, top: true };
  });
  const seen = new Set<string>();
  for (const { name, top } of wanted) {
    if (seen.has(name)) continue;
    seen.add(name);
    const facts = fieldFacts(release, name, top);
    const fields = types.get(shortName(name)) ?? new Map<string, Map<number, string>>();
    types.set(shortName(name), fields);
    for (const [field, fact] of Object.entries(facts)) {
      const byMinor = fields.get(field) ?? new Map<number, string>();
      fields.set(field, byMinor.set(release.minor, fact));
      const referred = Object.keys(release.swagger.definitions).filter(
        (one) => fact.endsWith(shortName(one)) || fact.endsWith(`${shortName(one)} !`),
      );
      for (const one of referred) wanted.push({ name: one, top: false });
    }
  }
}
const lines: object[] = [{ versions: process.argv.slice(2) }];
for (const [key, { type, scope, minors: found }] of [...objects].toSorted(([a], [b]) => compareBytes(a, b)))
  lines.push({ object: key, type, scope, minors: spans(found, minors).map((text) => text.trim()) });
for (const [type, fields] of [...types].toSorted(([a], [b]) => compareBytes(a, b))) {
  const entries = [...fields]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([field, found]) => {
      const all = spans(found, minors);
      return [field, all.length === 1 ? all[0] : all];
    });
  lines.push({ type, fields: Object.fromEntries(entries) });
}
await writeFile(
  join(import.meta.dirname, 'facts.jsonl'),
  `${lines.map((line) => JSON.stringify(line)).join('\n')}\n`,
);
