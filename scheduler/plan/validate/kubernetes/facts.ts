import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ENFORCED_FACTS } from './enforced-facts.ts';
import { type Fact, parseFact, parseSpan } from './type-expression.ts';

/** A kind of object: the type of its fields, and the minor versions (of 1.x) that have it. */
export type ObjectFact = {
  readonly type: string;
  readonly scope: 'cluster' | 'namespaced';
  readonly spans: readonly { readonly from: number; readonly to: number }[];
};

export type Facts = {
  /** The oldest and the newest minor version in facts.jsonl. */
  readonly first: number;
  readonly last: number;
  /** Keyed by 'group/version Kind'. */
  readonly objects: ReadonlyMap<string, ObjectFact>;
  /** The fields of a type, each with its facts ordered by version. */
  readonly fieldsOf: (type: string) => ReadonlyMap<string, readonly Fact[]>;
};

type Line =
  | { readonly versions: readonly string[] }
  | {
      readonly object: string;
      readonly type: string;
      readonly scope: ObjectFact['scope'];
      readonly minors: readonly string[];
    }
  | { readonly type: string; readonly fields: Readonly<Record<string, string | readonly string[]>> };

let loaded: Facts | undefined;

/** facts.jsonl, read on first use and then kept in memory. Rendering alone does not need it. */
export const kubernetesFacts = (): Facts => {
  loaded ??= parseFacts(readFileSync(join(import.meta.dirname, 'facts.jsonl'), 'utf8'));
  return loaded;
};

const parseFacts = (text: string): Facts => {
  const lines = text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Line);
  const versions = lines.flatMap((line) => ('versions' in line ? line.versions : []));
  const minors = versions.map((version) => Number(version.split('.')[1]));
  const first = Math.min(...minors);
  const last = Math.max(...minors);
  const objects = new Map<string, ObjectFact>();
  const written = new Map<string, Readonly<Record<string, string | readonly string[]>>>();
  for (const line of lines) {
    if ('object' in line) {
      const { object, type, scope, minors: spans } = line;
      objects.set(object, { type, scope, spans: spans.map((span) => parseSpan(span, first, last)) });
    } else if ('fields' in line) written.set(line.type, line.fields);
  }
  const parsed = new Map<string, ReadonlyMap<string, readonly Fact[]>>();
  const fieldsOf = (type: string): ReadonlyMap<string, readonly Fact[]> => {
    const known = parsed.get(type);
    if (known) return known;
    const fields = new Map(
      Object.entries({ ...written.get(type), ...ENFORCED_FACTS[type] }).map(([field, facts]) => [
        field,
        (typeof facts === 'string' ? [facts] : facts).map((fact) => parseFact(fact, first, last)),
      ]),
    );
    parsed.set(type, fields);
    return fields;
  };
  return { first, last, objects, fieldsOf };
};
