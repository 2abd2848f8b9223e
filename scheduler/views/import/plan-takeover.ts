import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { KalypsoParts } from '../../load/kalypso/load-kalypso.ts';
import { configText } from './config-text.ts';
import { documentsOf, type SourceDocument } from './source-document.ts';
import { grantWorkloads, type WorkloadGrants } from './workload-grants.ts';

export type Takeover = {
  /** Path to text, in byte order of the path. */
  readonly files: ReadonlyMap<string, string>;
  /** Notes about constructs of Kalypso without an exact equivalent in our form, with object and place. */
  readonly notes: readonly FleetError[];
};

/** fleet-scheduler.yaml of a platform that was imported, so that the next command in the folder works. */
export const CONFIGURATION = `# What every fleet-scheduler command in this folder takes for granted. Each key is also a flag and an environment variable.
platform: .
# Everything below is made by commands and must not be committed: .gitignore says so.
keys: .fleet/keys
layout: .fleet/layout
db: .fleet/hub.db
`;

/** Kinds that name the sources of an environment; unused when environments are folders. */
const LEFT_OUT: ReadonlySet<string> = new Set(['Environment', 'BaseRepo', 'GitOpsRepo']);

/** Grants with which applications keep what they had in Kalypso, which bounds nothing. */
export type TakeoverGrants = {
  /** As repositoryGrants. */
  readonly workspaces?: string | undefined;
  readonly workloads: WorkloadGrants;
};

/**
 * Plans a platform repository of our form with the unchanged objects of a Kalypso control plane. base/ has the objects of the
 * first environment of the chain; an environment that is pinned to other text has it in its own folder, where it replaces the
 * object of base/.
 */
export const planTakeover = (
  fleet: string,
  environments: readonly KalypsoParts[],
  { workspaces, workloads }: TakeoverGrants,
): Takeover => {
  const files = new Map<string, string[]>([
    ['fleet.yaml', [fleetText(fleet, environments)]],
    ['fleet-scheduler.yaml', [CONFIGURATION]],
    ['.gitignore', ['.fleet/\n']],
  ]);
  if (workspaces !== undefined) files.set('base/workspaces.yaml', [workspaces]);
  const notes: FleetError[] = [];
  const put = (folder: string, document: SourceDocument): void => {
    const path = `${folder}${document.path}`;
    files.set(path, [...(files.get(path) ?? []), textOf(document, workloads)]);
  };
  const [first] = environments;
  const base = first ? baseDocuments(first) : [];
  for (const { repository, document } of base) put(`base/${repository}/`, document);
  for (const one of environments) {
    const folder = `environments/${one.environment.name}/`;
    const own = one.parts.filter(({ from }) => from === 'environment').flatMap(documentsOf);
    for (const document of own.filter(isTaken)) put(folder, document);
    const taken = new Map(base.map(({ document }) => [document.key, document.text]));
    const theirs = baseDocuments(one);
    for (const { repository, document } of theirs)
      if (taken.get(document.key) !== document.text) put(`${folder}from-${repository}/`, document);
    notes.push(...remaining(base, theirs, one));
  }
  const sorted = [...files].toSorted(([a], [b]) => compareBytes(a, b));
  return { files: new Map(sorted.map(([path, texts]) => [path, texts.join('---\n')])), notes };
};

type BaseDocument = { readonly repository: string; readonly document: SourceDocument };

const baseDocuments = ({ parts }: KalypsoParts): readonly BaseDocument[] =>
  parts
    .filter(({ from }) => from === 'base')
    .flatMap((part) =>
      documentsOf(part)
        .filter(isTaken)
        .map((document) => ({ repository: part.source.snapshot.role.replace(/^base\//, ''), document })),
    );

const isTaken = ({ object }: SourceDocument): boolean => !LEFT_OUT.has(object.kind);

const textOf = ({ object, text }: SourceDocument, workloads: WorkloadGrants): string => {
  if (object.kind === 'ConfigMap') return configText(object) ?? text;
  const names = object.kind === 'WorkloadRegistration' ? workloads.get(object.name) : undefined;
  return names ? grantWorkloads(text, names) : text;
};

/** Notes for objects that an environment does not have: our form has one base for all environments. */
const remaining = (
  base: readonly BaseDocument[],
  theirs: readonly BaseDocument[],
  { environment }: KalypsoParts,
): readonly FleetError[] => {
  const keys = new Set(theirs.map(({ document }) => document.key));
  return base
    .filter(({ document }) => !keys.has(document.key))
    .map(
      ({ document: { object } }) =>
        new FleetError(
          'REFERENCE_MISSING',
          `${environment.name} does not have this at the commit it is pinned to; with one base for all it will`,
          { subject: `${object.kind} ${object.name}`, at: object.at },
        ),
    );
};

const fleetText = (fleet: string, environments: readonly KalypsoParts[]): string =>
  [
    '# Taken over from a Kalypso control plane. The chain is in the order in which the environments were named.',
    'apiVersion: fleet-ferry/v1alpha1',
    'kind: Fleet',
    'metadata:',
    `  name: ${fleet}`,
    'spec:',
    '  environments:',
    ...environments.map(({ environment }) => `    - name: ${environment.name}`),
    '',
  ].join('\n');
