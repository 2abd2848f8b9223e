import { posix } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { isFleetError, type Place } from '#bundles/errors';
import { isRecord } from '#bundles/is-record';
import type { Manifest } from '../imported.ts';
import { type KnownCluster, meetsSelector } from '../read/known-clusters.ts';
import {
  isYamlFile,
  listAt,
  type PlacedManifest,
  recordAt,
  textAt,
  textsAt,
  valueAt,
} from '../read/manifests.ts';
import { mergeValues } from '../read/merge-values.ts';
import { noteFailure, type NoteBook } from '../read/notes.ts';
import { parseText } from '../read/parse-text.ts';
import { renderGo } from '../read/render-text.ts';
import type { ArgoSources } from './argo-sources.ts';
import { pathPattern } from './path-pattern.ts';

export type GeneratorContext = {
  readonly clusters: readonly KnownCluster[];
  readonly sources: ArgoSources;
  readonly notes: NoteBook;
};

/** The Applications that an ApplicationSet makes of what can be known without a network. */
export const generateApplications = (
  set: PlacedManifest,
  context: GeneratorContext,
): readonly PlacedManifest[] => {
  const { value, at, path } = set;
  const run: Run = {
    ...context,
    at,
    subject: `ApplicationSet ${textAt(value, 'metadata', 'name') ?? ''}`,
    isGo: valueAt(value, 'spec', 'goTemplate') === true,
  };
  if (valueAt(value, 'spec', 'strategy') !== undefined)
    context.notes.add('told', at, run.subject, {
      what: 'its strategy (progressive syncs) is not written',
      todo: 'Write a RolloutPolicy (docs/promotion.md)',
    });
  return listAt(value, 'spec', 'generators').flatMap((generator) =>
    generate(generator, {}, run).flatMap(({ params, template }) => {
      const made = fill(mergeValues(recordAt(value, 'spec', 'template'), template), params, run);
      const patch = textAt(value, 'spec', 'templatePatch');
      const patched = made && patch !== undefined ? patchWith(made, patch, params, run) : made;
      if (!isRecord(patched)) return [];
      const named = { apiVersion: 'argoproj.io/v1alpha1', kind: 'Application', ...patched };
      const namespace = textAt(value, 'metadata', 'namespace');
      return [
        { value: mergeValues({ metadata: namespace === undefined ? {} : { namespace } }, named), at, path },
      ];
    }),
  );
};

type Run = GeneratorContext & { readonly at: Place; readonly subject: string; readonly isGo: boolean };

type Generated = { readonly params: Manifest; readonly template: Manifest };

/** @param outer parameters of the first generator of a matrix */
const generate = (written: unknown, outer: Manifest, run: Run): readonly Generated[] => {
  if (!isRecord(written)) return [];
  const kind = Object.keys(written).find((key) => key !== 'selector') ?? '';
  const spec = recordAt(Object.keys(outer).length === 0 ? written : (fill(written, outer, run) ?? {}), kind);
  const template = recordAt(spec, 'template');
  const found = paramsOf(kind, spec, outer, run);
  const { selector } = written;
  return found
    .filter((params) => selector === undefined || meetsSelector(selector, flatten(params)))
    .map((params) => ({ params, template }));
};

const paramsOf = (kind: string, spec: Manifest, outer: Manifest, run: Run): readonly Manifest[] => {
  switch (kind) {
    case 'list':
      return listAt(spec, 'elements')
        .filter(isRecord)
        .map((one) => (run.isGo ? one : flatten(one)));
    case 'clusters':
      return clusterParams(spec, run);
    case 'git':
      return gitParams(spec, run);
    case 'matrix': {
      const [first, second] = listAt(spec, 'generators');
      return generate(first, outer, run).flatMap(({ params }) => {
        const both = mergeValues(outer, params);
        return generate(second, both, run).map((inner) => mergeValues(params, inner.params));
      });
    }
    case 'merge': {
      const keys = listAt(spec, 'mergeKeys').filter((key) => typeof key === 'string');
      const [base = [], ...more] = listAt(spec, 'generators').map((one) =>
        generate(one, outer, run).map(({ params }) => params),
      );
      const keyOf = (params: Manifest): string =>
        JSON.stringify(keys.map((key) => params[key] ?? flatten(params)[key]));
      return base.map((params) =>
        more
          .flat()
          .filter((one) => keyOf(one) === keyOf(params))
          .reduce(mergeValues, params),
      );
    }
    default:
      run.notes.add('unmapped', run.at, run.subject, {
        what: `the generator ${kind} asks a service`,
        todo: 'List what it finds today in a list generator, and import again',
      });
      return [];
  }
};

const clusterParams = (spec: Manifest, run: Run): readonly Manifest[] => {
  const { clusters, isGo, at, subject, notes } = run;
  const found = clusters.filter(({ labels }) => meetsSelector(spec['selector'], labels));
  if (found.length === 0)
    notes.add('unmapped', at, subject, {
      what: 'no known cluster has the labels that it selects',
      todo: 'List the clusters with their labels in a file, and import with --clusters FILE',
    });
  return found.map(({ name, server, labels, annotations }) => {
    const about = { name, nameNormalized: normalised(name), server, metadata: { labels, annotations } };
    return withValues(spec, isGo ? about : flatten(about), run);
  });
};

/** Parameters with the `values` of their generator, which may be templates of them. */
const withValues = (spec: Manifest, params: Manifest, run: Filling): Manifest => {
  const values = Object.fromEntries(
    Object.entries(textsAt(spec, 'values')).map(([key, text]) => [key, fillText(text, params, run) ?? text]),
  );
  if (Object.keys(values).length === 0) return params;
  return { ...params, ...(run.isGo ? { values } : flatten({ values })) };
};

const normalised = (text: string): string => text.toLowerCase().replaceAll(/[^a-z0-9-]+/g, '-');

const gitParams = (spec: Manifest, run: Run): readonly Manifest[] => {
  const { sources, isGo, at, subject } = run;
  const tree = sources.treeOf(textAt(spec, 'repoURL') ?? '', textAt(spec, 'revision'), at, subject);
  if (!tree) return [];
  const prefix = textAt(spec, 'pathParamPrefix');
  const pathParams = (path: string, file?: string): Manifest => {
    const basename = posix.basename(path);
    const segments = path.split('/');
    const names = file === undefined ? {} : { filename: file, filenameNormalized: normalised(file) };
    if (isGo) {
      const about = { path, basename, basenameNormalized: normalised(basename), segments, ...names };
      return prefix === undefined ? { path: about } : { [prefix]: { path: about } };
    }
    const key = (name: string): string => (prefix === undefined ? name : `${prefix}.${name}`);
    return {
      [key('path')]: path,
      [key('path.basename')]: basename,
      [key('path.basenameNormalized')]: normalised(basename),
      ...Object.fromEntries(segments.map((one, index) => [key(`path[${index}]`), one])),
      ...Object.fromEntries(Object.entries(names).map(([name, text]) => [key(`path.${name}`), text])),
    };
  };
  const directories = listAt(spec, 'directories').filter(isRecord);
  const files = listAt(spec, 'files').filter(isRecord);
  const isNamed = (path: string, rules: readonly Manifest[]): boolean => {
    const test = (rule: Manifest): boolean => pathPattern(textAt(rule, 'path') ?? '')(path);
    return (
      rules.some((rule) => rule['exclude'] !== true && test(rule)) &&
      !rules.some((rule) => rule['exclude'] === true && test(rule))
    );
  };
  const folders = [...new Set([...tree.files.keys()].flatMap(foldersOf))].toSorted();
  return [
    ...folders
      .filter((path) => isNamed(path, directories))
      .map((path) => withValues(spec, pathParams(path), run)),
    ...[...tree.files]
      .toSorted(([a], [b]) => compareBytes(a, b))
      .filter(([path]) => isNamed(path, files))
      .flatMap(([path, bytes]) => {
        const read =
          isYamlFile(path) || path.endsWith('.json')
            ? readText(bytes, { file: tree.shown(path) }, run)
            : undefined;
        const all = (Array.isArray(read) ? read : [read]).filter(isRecord);
        return all.map((one) =>
          withValues(
            spec,
            { ...(isGo ? one : flatten(one)), ...pathParams(posix.dirname(path), posix.basename(path)) },
            run,
          ),
        );
      }),
  ];
};

/** Every folder above a file; hidden ones are not offered. */
const foldersOf = (path: string): readonly string[] => {
  const parts = path.split('/').slice(0, -1);
  const hidden = parts.findIndex((part) => part.startsWith('.'));
  return parts.slice(0, hidden === -1 ? undefined : hidden).map((_, at) => parts.slice(0, at + 1).join('/'));
};

/** Parameters of templates without Go: `a.b`, all values as text. */
const flatten = (value: Manifest, prefix = ''): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]): readonly (readonly [string, string])[] => {
      const name = `${prefix}${key}`;
      if (isRecord(inner)) return Object.entries(flatten(inner, `${name}.`));
      if (Array.isArray(inner))
        return inner.flatMap((one: unknown, at) => Object.entries(flatten({ [`${name}[${at}]`]: one })));
      if (inner === null || inner === undefined) return [];
      return [[name, typeof inner === 'string' ? inner : JSON.stringify(inner)]];
    }),
  );

type Filling = Pick<Run, 'isGo' | 'at' | 'subject' | 'notes'>;

/** A template with its parameters; undefined with a note for one that fails. */
const fill = (template: Manifest, params: Manifest, run: Filling): Manifest | undefined => {
  let failed = false;
  const put = (value: unknown): unknown => {
    if (typeof value === 'string') {
      const text = fillText(value, params, run);
      if (text === undefined) failed = true;
      return text;
    }
    if (Array.isArray(value)) return value.map(put);
    return isRecord(value)
      ? Object.fromEntries(
          Object.entries(value).map(([key, inner]) => [fillText(key, params, run) ?? key, put(inner)]),
        )
      : value;
  };
  const made = put(template) as Manifest;
  return failed ? undefined : made;
};

const fillText = (
  text: string,
  params: Manifest,
  { isGo, at, subject, notes }: Filling,
): string | undefined => {
  if (!text.includes('{{')) return text;
  if (!isGo) {
    const flat = flatten(params);
    return text.replaceAll(/\{\{([^{}]*)\}\}/g, (all, name: string) => flat[name.trim()] ?? all);
  }
  try {
    const made = renderGo(text, params, subject, at);
    if (!made.includes('<no value>')) return made;
    notes.add('unmapped', at, subject, {
      what: `${text} has no value for one of its Applications`,
      todo: 'Give the parameter a value',
    });
  } catch (error) {
    if (!isFleetError(error)) throw error;
    notes.add('unmapped', at, subject, {
      what: `${text}: ${error.message}`,
      todo: 'Write it without that function',
    });
  }
  return undefined;
};

const patchWith = (made: Manifest, patch: string, params: Manifest, run: Run): Manifest | undefined => {
  const text = fillText(patch, params, run);
  const read = text === undefined ? undefined : readText(text, run.at, run);
  if (read === undefined) return undefined;
  return isRecord(read) ? mergeValues(made, read) : made;
};

/** The value of a text; undefined, with a note, for one that is not YAML. */
const readText = (text: string | Buffer, at: Place, { subject, notes }: Filling): unknown => {
  try {
    return parseText(text, at);
  } catch (error) {
    noteFailure(error, at, subject, notes);
    return undefined;
  }
};
