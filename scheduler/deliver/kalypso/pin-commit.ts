import { isMap, isScalar, parseAllDocuments, type YAMLMap } from 'yaml';
import { FleetError, type Place } from '#bundles/errors';

/** The BaseRepo on an environment's branch. */
export type PinnedRepo = {
  readonly name: string;
  readonly repo: string;
  readonly branch: string;
  readonly path: string;
};

/**
 * The text of a YAML file with another `spec.commit` in its BaseRepo of this name. Everything else stays as it is, byte for
 * byte. @throws FleetError FIELD_INVALID if the object is not a document of its own
 */
export const pinCommit = (text: string, name: string, commit: string, at: Place): string => {
  for (const document of parseAllDocuments(text)) {
    if (!('contents' in document) || document.get('kind') !== 'BaseRepo') continue;
    if (document.getIn(['metadata', 'name']) !== name) continue;
    const node = document.getIn(['spec', 'commit'], true);
    if (isScalar(node) && node.range) return splice(text, node.range[0], node.range[1], scalarOf(commit));
    const spec = document.get('spec', true);
    if (isMap(spec) && spec.items.length > 0) return withCommit(text, spec, commit);
  }
  throw new FleetError('FIELD_INVALID', `BaseRepo ${name} cannot be edited`, {
    at,
    hint: 'Write it as a YAML document of its own, with its spec as a mapping',
  });
};

/** The file that Kalypso's own workflow writes for a BaseRepo. */
export const baseRepoFile = ({ name, repo, branch, path }: PinnedRepo, commit: string): string =>
  `apiVersion: scheduler.kalypso.io/v1alpha1
kind: BaseRepo
metadata:
  name: ${name}
spec:
  repo: ${repo}
  branch: ${branch}
  path: ${path}
  commit: ${scalarOf(commit)}
`;

/** Adds the commit before the first field. */
const withCommit = (text: string, spec: YAMLMap, commit: string): string => {
  const first = spec.items[0]?.key;
  const start = isScalar(first) ? (first.range?.[0] ?? 0) : 0;
  const column = start - (text.lastIndexOf('\n', start - 1) + 1);
  const separator = spec.flow ? ', ' : `\n${' '.repeat(column)}`;
  return splice(text, start, start, `commit: ${scalarOf(commit)}${separator}`);
};

const splice = (text: string, start: number, end: number, value: string): string => {
  // 'commit:' without a value has none between the colon and it.
  const space = text[start - 1] === ':' ? ' ' : '';
  return `${text.slice(0, start)}${space}${value}${text.slice(end)}`;
};

/** Quoted if YAML could read it as a number. */
const scalarOf = (commit: string): string => (/[a-df]/.test(commit) ? commit : `"${commit}"`);
