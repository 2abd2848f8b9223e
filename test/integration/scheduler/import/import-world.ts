import { dirname, join } from 'node:path';
import {
  importRepository,
  type ImportOptions,
  type ImportReport,
} from '../../../../scheduler/import/import-repository.ts';
import { readTree, temporaryDirectory, writeFiles } from '../../../scheduler/file-tree.ts';

export type Imported = {
  readonly report: ImportReport;
  readonly files: Readonly<Record<string, string>>;
  readonly to: string;
};

type Options = Partial<Omit<ImportOptions, 'env' | 'signal'>> & Pick<ImportOptions, 'tool'>;

/** Imports a repository of these files with these programs. */
export const importFiles = async (
  files: Readonly<Record<string, string>>,
  programs: readonly string[],
  options: Options,
): Promise<Imported> => {
  const directory = await temporaryDirectory();
  await writeFiles(join(directory, 'repository'), files);
  const to = options.to ?? join(directory, 'platform');
  const report = await importRepository({
    repository: join(directory, 'repository'),
    fleet: 'acme',
    maps: [],
    addresses: [],
    clusters: [],
    environments: [],
    variables: [],
    roots: [],
    clustersFile: undefined,
    chartVersions: [],
    cacheDirectory: join(directory, 'cache'),
    ...options,
    to,
    env: { PATH: programs.map((program) => dirname(program)).join(':') },
    signal: new AbortController().signal,
  });
  return { report, to, files: await readTree(to) };
};

/** '<cluster>: <state> <object>', the equal ones as a count. */
export const summary = ({ clusters }: ImportReport): readonly string[] =>
  clusters.flatMap(({ cluster, objects, charts, held }) => [
    `${cluster}: ${objects.filter(({ state }) => state === 'equal').length} equal`,
    ...objects
      .filter(({ state }) => state !== 'equal')
      .map(({ state, object }) => `${cluster}: ${state} ${object}`),
    ...charts.map(({ state, chart }) => `${cluster}: chart ${state} ${chart}`),
    ...held.map(({ error }) => `${cluster}: held ${error.message}`),
  ]);

export const notesOf = ({ notes }: ImportReport, kind: string): readonly string[] =>
  notes
    .filter((note) => note.kind === kind)
    .map(({ at, subject, what }) => `${at.file}:${at.line ?? ''} ${subject}: ${what}`);

export const deployment = (name: string, more = ''): string => `apiVersion: apps/v1
kind: Deployment
metadata:
  name: ${name}
spec:
  replicas: 1
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers:
        - name: main
          image: registry.example/${name}:1.0
${more}`;

export const chart = (folder: string): Readonly<Record<string, string>> => ({
  [`${folder}/Chart.yaml`]: 'apiVersion: v2\nname: web\nversion: 1.0.0\n',
  [`${folder}/values.yaml`]: 'replicas: 1\nmotto: none\n',
  [`${folder}/templates/web.yaml`]: `apiVersion: v1
kind: ConfigMap
metadata:
  name: {{ .Release.Name }}
  namespace: {{ .Release.Namespace }}
data:
  replicas: {{ .Values.replicas | quote }}
  motto: {{ .Values.motto | quote }}
`,
});
